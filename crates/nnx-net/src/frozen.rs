//! The parameters that training does not change.

use std::collections::HashSet;

use candle_core::Var;

use crate::parameters::Parameters;

/// The names of the parameters that are not trained; a tied parameter has its first name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frozen(HashSet<String>);

impl Frozen {
    /// The parameters that are frozen from the start: the base layers of LoRA.
    pub(crate) fn from_lora(parameters: &Parameters) -> Self {
        let lora = |name: &str| {
            let (layer, _) = name.rsplit_once(".base.")?;
            parameters.get(&format!("{layer}.lora_A"))
        };
        let is_base = |var: &Var| {
            let id = var.as_tensor().id();
            let mut names = parameters.iter();
            names.any(|(name, other)| other.as_tensor().id() == id && lora(name).is_some())
        };
        let names = parameters.distinct().filter(|(_, var)| is_base(var));
        Self(names.map(|(name, _)| name.to_owned()).collect())
    }

    /// Freezes what is frozen there too.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Freezes a parameter; whether it was not frozen before.
    pub(crate) fn insert(&mut self, name: &str) -> bool {
        self.0.insert(name.to_owned())
    }

    /// Unfreezes a parameter; whether it was frozen before.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.0.remove(name)
    }

    /// Whether a parameter is frozen.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}
