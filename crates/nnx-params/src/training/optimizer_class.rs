//! The parameters that every optimizer has.

use crate::class::mapping;
use crate::error::{Error, Result};
use crate::training::nn_param_group_spec::NNParamGroupSpec;
use crate::value::{State, Value};

/// Declares a [`python_class!`](crate::class::python_class) of an optimizer's parameters: its own
/// fields come before and after those that all optimizers have.
macro_rules! optimizer_class {
    (
        class $class:tt
        fields { $($first:tt)* }
        weight_decay { $($weight_decay:tt)* }
        more fields { $($last:tt)* }
        builder $builder:tt
    ) => {
        $crate::class::python_class! {
            class $class
            fields {
                $($first)*
                /// The number of batches that one update is made of.
                accumulate_grad_batches: usize => usize =
                    $crate::class::defaulted($crate::class::count::<1>, 1),
                    set usize, "Default: 1.";
                /// The norm to which gradients are clipped.
                grad_clip_norm: Option<$crate::number::Number> => Option<$crate::number::Number> =
                    $crate::class::optional($crate::class::positive),
                    set impl Into<$crate::number::Number> as $crate::number::Number,
                    "Default: none.";
                /// The learning rate, or the highest one of a schedule; 0 freezes the weights.
                max_lr: $crate::number::Number => $crate::number::Number =
                    $crate::class::required($crate::class::not_negative);
                /// The weight decay.
                weight_decay: $crate::number::Number => $crate::number::Number =
                    $($weight_decay)*;
                /// The groups of weights that have settings of their own, the first match winning.
                param_groups: Option<Vec<$crate::training::nn_param_group_spec::NNParamGroupSpec>>
                    => Option<&[$crate::training::nn_param_group_spec::NNParamGroupSpec]> =
                    $crate::class::optional($crate::training::optimizer_class::groups),
                    each $crate::training::nn_param_group_spec::NNParamGroupSpec, "Default: none.";
                $($last)*
            }
            builder $builder
        }
    };
}

pub(crate) use optimizer_class;

/// The groups of weights of an optimizer.
pub(super) fn groups(
    class: &'static str,
    field: &str,
    value: &Value,
) -> Result<Vec<NNParamGroupSpec>> {
    value
        .as_items()
        .ok_or_else(|| Error::wrong_type(class, field, "a list or tuple", value))?
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let field = format!("{field}[{index}]");
            let state = mapping(class, &field, item)?;
            // A state without a pattern is no group at all, for Python.
            if state.contains_key("name_pattern") {
                NNParamGroupSpec::from_state(state)
            } else {
                let expected = "an NNParamGroupSpec";
                Err(Error::wrong_type(class, &field, expected, item))
            }
        })
        .collect()
}

/// Checks that each group of a state names its pattern, which a state may not lack.
pub(super) fn check_group_states(known: &State) -> Result<()> {
    let groups = known.get("param_groups").and_then(Value::as_items);
    for group in groups.into_iter().flatten() {
        if group
            .as_map()
            .is_some_and(|state| !state.contains_key("name_pattern"))
        {
            return Err(Error::missing_key(NNParamGroupSpec::CLASS, "name_pattern"));
        }
    }
    Ok(())
}
