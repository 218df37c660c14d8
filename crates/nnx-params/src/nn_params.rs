//! The parameters that every net has.

mod builder;

use std::fmt;

pub use builder::NNParamsBuilder;
pub(crate) use builder::base_setters;

use crate::fields::{self, Fields, literal, split_state};
use crate::python_text::repr;
use crate::{Activations, Error, Number, Result, State, Value};

/// The sizes, activations and dropout of a net, and the whole parameters of the feed-forward and
/// graph nets.
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
pub struct NNParams {
    dropout_prob: Number,
    n_heads: Option<usize>,
    activation: Option<Activations>,
    activations: Option<Vec<Activations>>,
    dropout_probs: Option<Vec<Number>>,
    input_dim: usize,
    output_dim: usize,
    hidden_dims: Option<Vec<usize>>,
    unknown: State,
}

/// The state keys that `from_state` cannot do without.
pub(crate) const REQUIRED: &[&str] = &[
    "input_dim",
    "output_dim",
    "dropout_prob",
    "hidden_dims",
    "activation",
];
/// The other state keys.
pub(crate) const OPTIONAL: &[&str] = &["n_heads", "activations", "dropout_probs"];

impl NNParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNParams";

    /// The fields in the order of declaration, in which a pickle lists them.
    ///
    /// `_dims` is computed; [`from_fields`](Self::from_fields) only checks it.
    pub const FIELDS: &'static [&'static str] = &[
        "dropout_prob",
        "n_heads",
        "activation",
        "activations",
        "dropout_probs",
        "input_dim",
        "output_dim",
        "hidden_dims",
        "_dims",
    ];

    /// Starts from the two sizes that every net has, counted in values of one sample.
    pub fn builder(input_dim: usize, output_dim: usize) -> NNParamsBuilder {
        NNParamsBuilder::new(input_dim, output_dim)
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        Self::base(&Fields::new(Self::CLASS, fields, Self::FIELDS)?)
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let (mut known, unknown) = split_state(Self::CLASS, state, REQUIRED, OPTIONAL)?;
        read_texts(Self::CLASS, &mut known)?;
        Ok(Self::from_fields(&known)?.with_unknown(unknown))
    }

    /// The base fields of a class.
    pub(crate) fn base(fields: &Fields<'_>) -> Result<Self> {
        let class = fields.class;
        let input_dim = fields.count("input_dim", 1)?;
        let output_dim = fields.count("output_dim", 1)?;
        let hidden_dims =
            fields.optional("hidden_dims", |value| counts(class, "hidden_dims", value))?;
        let n_heads = fields.optional_count("n_heads", 1)?;
        let dropout_prob =
            fields::probability(class, "dropout_prob", fields.required("dropout_prob")?)?;
        let activation = match fields.given("activation") {
            None => Some(Activations::LeakyRelu),
            Some(_) => fields.optional("activation", |value| {
                Activations::from_value(class, "activation", value)
            })?,
        };
        let n_hidden = hidden_dims.as_ref().map_or(0, Vec::len);
        let activations = per_layer(fields, "activations", n_hidden, Activations::from_value)?;
        let dropout_probs = per_layer(fields, "dropout_probs", n_hidden, fields::probability)?;
        let params = Self {
            dropout_prob,
            n_heads,
            activation,
            activations,
            dropout_probs,
            input_dim,
            output_dim,
            hidden_dims,
            unknown: State::new(),
        };
        match fields.optional("_dims", |value| counts(class, "_dims", value))? {
            Some(dims) if dims != params.dims() => Err(Error::invalid(
                class,
                "_dims",
                format!("{:?} as the other sizes have it", params.dims()),
                fields.get("_dims"),
            )),
            _ => Ok(params),
        }
    }

    pub(crate) fn with_unknown(mut self, unknown: State) -> Self {
        self.unknown = unknown;
        self
    }

    /// Drops the lists of single layers, as the Python code does where there are no such layers.
    pub(crate) fn without_layer_lists(mut self) -> Self {
        self.activations = None;
        self.dropout_probs = None;
        self
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::new();
        state.insert("input_dim", self.input_dim);
        state.insert("output_dim", self.output_dim);
        state.insert("dropout_prob", self.dropout_prob);
        state.insert("hidden_dims", repr(&self.hidden_dims.clone().into()));
        state.insert("activation", self.activation);
        if let Some(n_heads) = self.n_heads {
            state.insert("n_heads", n_heads);
        }
        if let Some(activations) = &self.activations
            && activations.iter().any(|own| Some(*own) != self.activation)
        {
            state.insert("activations", repr(&activations.clone().into()));
        }
        if let Some(probs) = &self.dropout_probs
            && probs.iter().any(|own| !own.same_amount(self.dropout_prob))
        {
            state.insert("dropout_probs", repr(&probs.clone().into()));
        }
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    fields::keeps_unknown!();

    /// The number of values in one input sample.
    pub fn input_dim(&self) -> usize {
        self.input_dim
    }

    /// The number of values in one output.
    pub fn output_dim(&self) -> usize {
        self.output_dim
    }

    /// The widths of the hidden layers; an empty list and none differ only in their state.
    pub fn hidden_dims(&self) -> Option<&[usize]> {
        self.hidden_dims.as_deref()
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

    /// The probability of dropping a value, from 0 to 1.
    pub fn dropout_prob(&self) -> Number {
        self.dropout_prob
    }

    /// The activation of every hidden layer that has no own one.
    pub fn activation(&self) -> Option<Activations> {
        self.activation
    }

    /// The activations of the single hidden layers.
    pub fn activations(&self) -> Option<&[Activations]> {
        self.activations.as_deref()
    }

    /// The dropout probabilities of the single hidden layers.
    pub fn dropout_probs(&self) -> Option<&[Number]> {
        self.dropout_probs.as_deref()
    }

    /// The number of attention heads.
    pub fn n_heads(&self) -> Option<usize> {
        self.n_heads
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
/// What Python can iterate is a list here: a text is its characters, a mapping its keys, none of
/// which is a count.
pub(crate) fn counts(class: &'static str, field: &str, value: &Value) -> Result<Vec<usize>> {
    let items = match value {
        Value::List(items) | Value::Tuple(items) => items.as_slice(),
        Value::Str(text) if text.is_empty() => &[],
        Value::Map(state) if state.is_empty() => &[],
        Value::Str(_) | Value::Map(_) => {
            return Err(Error::invalid(
                class,
                field,
                "a list of integers > 0",
                value,
            ));
        }
        _ => {
            return Err(Error::wrong_type(
                class,
                field,
                "a list of integers > 0",
                value,
            ));
        }
    };
    let mut counts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        if item.as_int().is_some_and(|int| int <= 0) {
            return Err(Error::invalid(
                class,
                field,
                "a list of integers > 0",
                value,
            ));
        }
        counts.push(fields::count(class, &format!("{field}[{index}]"), item, 1)?);
    }
    Ok(counts)
}

/// A list with one entry for each hidden layer.
fn per_layer<T>(
    fields: &Fields<'_>,
    field: &str,
    n_hidden: usize,
    read: fn(&'static str, &str, &Value) -> Result<T>,
) -> Result<Option<Vec<T>>> {
    let Some(items) = fields.optional_items(field)? else {
        return Ok(None);
    };
    if items.len() != n_hidden {
        return Err(Error::inconsistent(
            fields.class,
            field,
            format!("one entry for each hidden layer ({n_hidden})"),
            format!("{} entries", items.len()),
        ));
    }
    items
        .iter()
        .enumerate()
        .map(|(index, item)| read(fields.class, &format!("{field}[{index}]"), item))
        .collect::<Result<_>>()
        .map(Some)
}

#[cfg(test)]
mod tests;
