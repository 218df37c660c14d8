//! The settings that every optimizer has.

use crate::fields::{self, Fields, NOT_NEGATIVE, POSITIVE};
use crate::{Error, NNParamGroupSpec, Number, Result, State, Value};

/// The settings that built-in and registered optimizers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptimSettings {
    pub(crate) max_lr: Number,
    pub(crate) weight_decay: Number,
    pub(crate) grad_clip_norm: Option<Number>,
    pub(crate) accumulate_grad_batches: usize,
    pub(crate) param_groups: Option<Vec<NNParamGroupSpec>>,
}

impl OptimSettings {
    /// Reads the settings; `weight_decay` is the default of a field that may have none.
    pub(crate) fn from_fields(fields: &Fields<'_>, weight_decay: Option<f64>) -> Result<Self> {
        let class = fields.class;
        Ok(Self {
            accumulate_grad_batches: fields.count_or("accumulate_grad_batches", 1, 1)?,
            grad_clip_norm: fields.optional_finite("grad_clip_norm", &POSITIVE)?,
            max_lr: fields.finite("max_lr", &NOT_NEGATIVE)?,
            weight_decay: match weight_decay {
                None => fields.finite("weight_decay", &NOT_NEGATIVE)?,
                Some(default) => fields.finite_or("weight_decay", &NOT_NEGATIVE, default)?,
            },
            param_groups: match fields.optional_items("param_groups")? {
                None => None,
                Some(items) => items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        let field = format!("param_groups[{index}]");
                        let state = fields::mapping(class, &field, item)?;
                        // What lacks a pattern is no group at all, in Python's eyes.
                        if state.contains_key("name_pattern") {
                            NNParamGroupSpec::from_state(state)
                        } else {
                            let expected = "an NNParamGroupSpec";
                            Err(Error::wrong_type(class, &field, expected, item))
                        }
                    })
                    .collect::<Result<Vec<_>>>()
                    .map(Some)?,
            },
        })
    }

    /// Adds the settings that a state names only where they are set.
    pub(crate) fn add_optional(
        &self,
        state: &mut State,
        group_state: fn(&NNParamGroupSpec) -> State,
    ) {
        if let Some(grad_clip_norm) = self.grad_clip_norm {
            state.insert("grad_clip_norm", grad_clip_norm);
        }
        if self.accumulate_grad_batches != 1 {
            state.insert("accumulate_grad_batches", self.accumulate_grad_batches);
        }
        if let Some(groups) = &self.param_groups {
            let groups: Vec<State> = groups.iter().map(group_state).collect();
            state.insert("param_groups", groups);
        }
    }
}

/// Checks that each group of a state names its pattern, which a state may not lack.
pub(crate) fn check_group_states(known: &State) -> Result<()> {
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

/// The getters of the settings.
macro_rules! optim_getters {
    () => {
        /// The learning rate, or the highest one of a schedule; 0 freezes the weights.
        pub fn max_lr(&self) -> $crate::Number {
            self.settings.max_lr
        }

        /// The weight decay.
        pub fn weight_decay(&self) -> $crate::Number {
            self.settings.weight_decay
        }

        /// The norm that gradients are cut to.
        pub fn grad_clip_norm(&self) -> Option<$crate::Number> {
            self.settings.grad_clip_norm
        }

        /// The number of batches that one update is made of.
        pub fn accumulate_grad_batches(&self) -> usize {
            self.settings.accumulate_grad_batches
        }

        /// The groups of weights that have settings of their own, the first match winning.
        pub fn param_groups(&self) -> Option<&[$crate::NNParamGroupSpec]> {
            self.settings.param_groups.as_deref()
        }
    };
}

/// The setters of the settings that have defaults.
macro_rules! optim_setters {
    () => {
        $crate::fields::setters! {
            /// The norm that gradients are cut to. Default: none.
            grad_clip_norm: impl Into<$crate::Number> as $crate::Number,
            /// The number of batches that one update is made of. Default: 1.
            accumulate_grad_batches: usize as usize,
        }

        /// The groups of weights that have settings of their own. Default: none.
        pub fn param_groups(
            mut self,
            groups: impl IntoIterator<Item = $crate::NNParamGroupSpec>,
        ) -> Self {
            let groups: Vec<_> = groups.into_iter().map(|group| group.full_state()).collect();
            self.fields.insert("param_groups", groups);
            self
        }
    };
}

pub(crate) use {optim_getters, optim_setters};
