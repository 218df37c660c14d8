//! Which parameters training leaves alone.

use std::collections::HashSet;

use candle_core::Var;
use nnx_params::python_text::fnmatchcase;

use super::NNModel;
use crate::error::{Error, Result};
use crate::parameters::Parameters;

/// The names of the parameters that are not trained; a tied one counts under its first name.
#[derive(Clone, Debug, Default)]
pub(super) struct Frozen(HashSet<String>);

impl Frozen {
    /// What a recipe leaves frozen: the layers that LoRA stands beside.
    pub(super) fn by_recipe(parameters: &Parameters) -> Self {
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
}

impl NNModel {
    /// Excludes the parameters from training whose names match one of the shell patterns, and tells
    /// how many were not excluded before. A `*` matches dots too; a tied parameter has the first of
    /// its names.
    ///
    /// ```
    /// # use nnx_net::NNModel;
    /// # fn run(model: &mut NNModel) -> nnx_net::Result<()> {
    /// model.freeze(&["layers.0.*", "*.bias"])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there is no pattern.
    pub fn freeze(&mut self, patterns: &[&str]) -> Result<usize> {
        let names = self.matching("freeze", patterns)?;
        let newly = names
            .into_iter()
            .filter(|name| self.frozen.0.insert(name.clone()));
        Ok(newly.count())
    }

    /// Takes parameters back into training, and tells how many were excluded before.
    ///
    /// # Errors
    /// As for [`freeze`](Self::freeze).
    pub fn unfreeze(&mut self, patterns: &[&str]) -> Result<usize> {
        let names = self.matching("unfreeze", patterns)?;
        let newly = names.into_iter().filter(|name| self.frozen.0.remove(name));
        Ok(newly.count())
    }

    /// The parameters that training changes, each once, in the order of the state dict.
    ///
    /// Those that LoRA stands beside are frozen from the start.
    pub fn trainable(&self) -> impl Iterator<Item = (&str, &Var)> {
        let all = self.net.parameters().distinct();
        all.filter(|(name, _)| !self.frozen.0.contains(*name))
    }

    fn matching(&self, call: &str, patterns: &[&str]) -> Result<Vec<String>> {
        if patterns.is_empty() {
            return Err(Error::configuration(format!(
                "`{call}` needs at least one pattern; `*` matches every parameter"
            )));
        }
        let is_meant = |name: &&str| patterns.iter().any(|pattern| fnmatchcase(name, pattern));
        let names = self.net.parameters().distinct().map(|(name, _)| name);
        Ok(names.filter(is_meant).map(str::to_owned).collect())
    }
}
