//! The parameters that every net has.

use std::fmt;

use crate::class::{
    Arguments, by, count, count_from, literal, optional, probability, python_class, required,
    state_methods,
};
use crate::enums::Activations;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::repr::repr;
use crate::value::{State, Value};

/// The keys of a net's state that `from_state` cannot do without.
pub(crate) const REQUIRED: &[&str] = &[
    "input_dim",
    "output_dim",
    "dropout_prob",
    "hidden_dims",
    "activation",
];

python_class! {
    class {
        /// The sizes, activations and dropout of a net, and the whole parameters of the
        /// feed-forward and graph nets.
        ///
        /// ```
        /// use nnx_params::{Activations, NNParams};
        ///
        /// let params = NNParams::builder(4, 2)
        ///     .hidden_dims([8])
        ///     .activation(Activations::Relu)
        ///     .dropout_prob(0.0)
        ///     .build()?;
        /// assert_eq!(params.dims(), [4, 8, 2]);
        /// assert_eq!(NNParams::from_state(&params.state())?, params);
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        NNParams { unknown: State } in "nnx.nn.params.nn_params";
        errors: "a list for the single hidden layers has not one entry for each of them";
        pickle order: "dropout_prob", "n_heads", "activation", "activations", "dropout_probs";
        state order: "input_dim", "output_dim", "dropout_prob", "hidden_dims", "activation";
        required: REQUIRED;
        check: NNParams::with_dims;
        read state: |known: &mut State| read_texts(NNParams::CLASS, known);
        amend state: NNParams::leave_out_equal_layers;
    }
    fields {
        /// The number of values in one input sample.
        input_dim: usize => usize = required(count::<1>);
        /// The number of values in one output.
        output_dim: usize => usize = required(count::<1>);
        /// The widths of the hidden layers; an empty list and none differ only in their state.
        hidden_dims: Option<Vec<usize>> => Option<&[usize]> =
            optional(counts).always().written_as_text();
        /// The number of attention heads.
        n_heads: Option<usize> => Option<usize> = optional(count::<1>);
        /// The probability of dropping a value, from 0 to 1.
        dropout_prob: Number => Number = required(probability);
        /// The activation of every hidden layer that has no own one.
        activation: Option<Activations> => Option<Activations> =
            optional(Activations::from_value).or(Some(Activations::LeakyRelu)).always();
        /// The activations of the single hidden layers.
        activations: Option<Vec<Activations>> => Option<&[Activations]> =
            by(|arguments, field| per_layer(arguments, field, Activations::from_value))
                .or(None)
                .written_as_text();
        /// The dropout probabilities of the single hidden layers.
        dropout_probs: Option<Vec<Number>> => Option<&[Number]> =
            by(|arguments, field| per_layer(arguments, field, probability)).or(None).written_as_text();
        /// Computed from the other sizes; an argument is only compared with them.
        _dims: Option<Vec<usize>> = optional(counts).never();
    }
    builder {
        /// Starts from the two sizes that every net has, counted in values of one sample.
        NNParamsBuilder for NNParams(input_dim: usize, output_dim: usize);
    }
}

/// The setters of the fields that every net has, beside the two sizes.
macro_rules! base_setters {
    () => {
        $crate::class::setters! {
            [
                /// The probability of dropping a value, from 0 to 1.
            ] dropout_prob ["dropout_prob"]
            set impl Into<$crate::number::Number> as $crate::number::Number,
            "There is no default, except where [`build`](Self::build) names one."
        }
        $crate::class::setters! {
            [
                /// The number of attention heads.
            ] n_heads ["n_heads"] set usize, "Default: none."
        }
        $crate::class::setters! {
            [
                /// The activation of the hidden layers.
            ] activation ["activation"]
            set impl Into<Option<$crate::enums::Activations>> as Option<$crate::enums::Activations>,
            "Default: leaky ReLU."
        }
        $crate::class::setters! {
            [
                /// The activations of the single hidden layers, one each.
            ] activations ["activations"] each $crate::enums::Activations, "Default: none."
        }
        $crate::class::setters! {
            [
                /// The dropout probabilities of the single hidden layers, one each.
            ] dropout_probs ["dropout_probs"]
            each impl Into<$crate::number::Number> as $crate::number::Number, "Default: none."
        }
        $crate::class::setters! {
            [
                /// The widths of the hidden layers.
            ] hidden_dims ["hidden_dims"] each usize, "Default: none."
        }
    };
}

pub(crate) use base_setters;

impl NNParamsBuilder {
    base_setters!();
}

impl NNParams {
    state_methods!();

    /// Computes the widths, and compares them with those given.
    fn with_dims(mut self, arguments: &Arguments<'_>) -> Result<Self> {
        let dims = self.dims();
        if self._dims.is_some_and(|given| given != dims) {
            return Err(arguments.invalid("_dims", format!("{dims:?} as the other sizes have it")));
        }
        self._dims = Some(dims);
        Ok(self)
    }

    /// A state names the values of single layers only where one of them differs from that of all.
    fn leave_out_equal_layers(&self, state: &mut State) {
        let own = self.activations.iter().flatten();
        if own.into_iter().all(|own| Some(*own) == self.activation) {
            state.remove("activations");
        }
        let mut own = self.dropout_probs.iter().flatten();
        if own.all(|own| own.same_amount(self.dropout_prob)) {
            state.remove("dropout_probs");
        }
    }

    /// Drops the lists of single layers, as the Python code does where there are no such layers.
    pub(crate) fn without_layer_lists(mut self) -> Self {
        self.activations = None;
        self.dropout_probs = None;
        self
    }

    /// The number of attention heads of a net that [`check_heads`] found to have them.
    pub(crate) fn checked_heads(&self) -> usize {
        self.n_heads.unwrap_or_default()
    }

    /// Every width from the input through the hidden layers to the output.
    pub fn dims(&self) -> Vec<usize> {
        let hidden = self.hidden_dims.iter().flatten().copied();
        [self.input_dim]
            .into_iter()
            .chain(hidden)
            .chain([self.output_dim])
            .collect()
    }

    /// The activation of hidden layer `index`, counted from 0.
    ///
    /// # Errors
    ///
    /// The layer has no own activation and the net has none either.
    pub fn hidden_activation(&self, index: usize) -> Result<Activations> {
        self.activations
            .as_ref()
            .and_then(|own| own.get(index).copied())
            .or(self.activation)
            .ok_or_else(|| {
                let domain = "set where a layer has no own activation";
                Error::invalid(Self::CLASS, "activation", domain, &Value::None)
            })
    }

    /// The dropout probability of hidden layer `index`, counted from 0.
    pub fn hidden_dropout(&self, index: usize) -> f64 {
        self.dropout_probs
            .as_ref()
            .and_then(|own| own.get(index).copied())
            .unwrap_or(self.dropout_prob)
            .as_f64()
    }

    /// The start of Python's `str`, without the closing parenthesis.
    pub(crate) fn write_str(&self, class: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            dropout_prob,
            n_heads,
            activation,
            ..
        } = self;
        // The `repr` of an activation has no quotes.
        let activations = self.activations.as_ref().map_or("None".to_owned(), |own| {
            let names: Vec<_> = own.iter().map(|own| own.value()).collect();
            format!("[{}]", names.join(", "))
        });
        let activation = activation.map_or("None", Activations::value);
        let n_heads = repr(&(*n_heads).into());
        let dropout_probs = repr(&self.dropout_probs.clone().into());
        write!(
            f,
            "{class}(dropout_prob={dropout_prob}, n_heads={n_heads}, activation={activation}, \
             activations={activations}, dropout_probs={dropout_probs}"
        )
    }
}

/// Checks that a net of attention has heads.
pub(crate) fn check_heads(base: &NNParams, arguments: &Arguments<'_>) -> Result<()> {
    if base.n_heads.is_none() {
        return Err(arguments.invalid("n_heads", "an integer > 0"));
    }
    Ok(())
}

/// Writes Python's `str`, which leaves the sizes out.
impl fmt::Display for NNParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_str(Self::CLASS, f)?;
        f.write_str(")")
    }
}

/// Replaces the texts of a state by the lists that they hold.
pub(crate) fn read_texts(class: &'static str, known: &mut State) -> Result<()> {
    for field in ["hidden_dims", "activations", "dropout_probs"] {
        match known.get(field) {
            None => {}
            // A missing list of single layers may be written as null.
            Some(Value::None) if field != "hidden_dims" => {}
            Some(value) => {
                let list = literal(class, field, value)?;
                if field == "activations" && list.is_none() {
                    return Err(Error::wrong_type(class, field, "a list in a text", &list));
                }
                known.insert(field, list);
            }
        }
    }
    Ok(())
}

/// A list of counts > 0.
///
/// Everything that Python can iterate counts as a list: a text is its characters and a mapping its
/// keys, neither of which is a count.
pub(crate) fn counts(class: &'static str, field: &str, value: &Value) -> Result<Vec<usize>> {
    const DOMAIN: &str = "a list of integers > 0";
    let items = match value {
        Value::List(items) | Value::Tuple(items) => items.as_slice(),
        Value::Str(text) if text.is_empty() => &[],
        Value::Map(state) if state.is_empty() => &[],
        Value::Str(_) | Value::Map(_) => return Err(Error::invalid(class, field, DOMAIN, value)),
        _ => return Err(Error::wrong_type(class, field, DOMAIN, value)),
    };
    let mut counts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        if item.as_int().is_some_and(|int| int <= 0) {
            return Err(Error::invalid(class, field, DOMAIN, value));
        }
        counts.push(count_from(class, &format!("{field}[{index}]"), item, 1)?);
    }
    Ok(counts)
}

/// A list with one entry for each hidden layer, unless it is `None`.
fn per_layer<T>(
    arguments: &Arguments<'_>,
    field: &str,
    domain: fn(&'static str, &str, &Value) -> Result<T>,
) -> Result<Option<Vec<T>>> {
    let Some(items) = arguments.optional_items(field)? else {
        return Ok(None);
    };
    let hidden_dims = arguments.optional("hidden_dims", counts)?;
    let n_hidden = hidden_dims.map_or(0, |dims| dims.len());
    if items.len() != n_hidden {
        return Err(Error::inconsistent(
            arguments.class,
            field,
            format!("one entry for each hidden layer ({n_hidden})"),
            format!("{} entries", items.len()),
        ));
    }
    items
        .iter()
        .enumerate()
        .map(|(index, item)| domain(arguments.class, &format!("{field}[{index}]"), item))
        .collect::<Result<_>>()
        .map(Some)
}

#[cfg(test)]
mod tests;
