//! The learning rate of a group of weights.

use std::fmt;

use crate::class::{
    Arguments, by, not_negative, optional, positive, python_class, required, state_methods, text,
};
use crate::error::Result;
use crate::number::Number;
use crate::repr::repr;
use crate::value::State;

python_class! {
    class {
        /// The learning rate and weight decay of the weights whose names match a pattern.
        ///
        /// ```
        /// use nnx_params::NNParamGroupSpec;
        ///
        /// let group = NNParamGroupSpec::builder("*.bias").weight_decay(0.0).build()?;
        /// assert_eq!(group.name_pattern(), "*.bias");
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        NNParamGroupSpec { unknown: State } in "nnx.finetune.param_groups";
        errors: "both a learning rate and a multiplier are given";
        required: &["name_pattern"];
    }
    fields {
        /// The pattern of the names.
        name_pattern: String => &str = required(text);
        /// The learning rate.
        lr: Option<Number> => Option<Number> = by(lr).or(None),
            set impl Into<Number> as Number, "Default: the optimizer's.";
        /// The learning rate in multiples of the optimizer's.
        lr_multiplier: Option<Number> => Option<Number> = optional(positive),
            set impl Into<Number> as Number, "Default: 1.";
        /// The weight decay.
        weight_decay: Option<Number> => Option<Number> = optional(not_negative),
            set impl Into<Number> as Number, "Default: the optimizer's.";
    }
    builder {
        /// Starts from a pattern of dotted names in the style of a shell; letter case counts.
        NNParamGroupSpecBuilder for NNParamGroupSpec(name_pattern: &str as String);
    }
}

fn lr(arguments: &Arguments<'_>, field: &str) -> Result<Option<Number>> {
    if !arguments.get(field).is_none() && !arguments.get("lr_multiplier").is_none() {
        return Err(arguments.invalid(field, "None beside an `lr_multiplier`"));
    }
    arguments.optional(field, positive)
}

impl NNParamGroupSpec {
    state_methods!();
}

/// Writes Python's `str`.
impl fmt::Display for NNParamGroupSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name_pattern = repr(&self.name_pattern.as_str().into());
        let [lr, lr_multiplier, weight_decay] =
            [self.lr, self.lr_multiplier, self.weight_decay].map(|value| repr(&value.into()));
        write!(
            f,
            "NNParamGroupSpec(name_pattern={name_pattern}, lr={lr}, \
             lr_multiplier={lr_multiplier}, weight_decay={weight_decay})"
        )
    }
}
