//! Excluding parameters from training.

use candle_core::Var;
use nnx_params::python_text::fnmatchcase;

use super::NNModel;
use crate::error::{Error, Result};

impl NNModel {
    /// Excludes the parameters whose names match one of the shell patterns from training, and returns
    /// how many were not excluded before. A `*` also matches dots; a tied parameter is matched by its
    /// first name.
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
        let newly = names.into_iter().filter(|name| self.frozen.insert(name));
        Ok(newly.count())
    }

    /// Includes parameters in training again, and returns how many were excluded before.
    ///
    /// # Errors
    /// As for [`freeze`](Self::freeze).
    pub fn unfreeze(&mut self, patterns: &[&str]) -> Result<usize> {
        let names = self.matching("unfreeze", patterns)?;
        let newly = names.into_iter().filter(|name| self.frozen.remove(name));
        Ok(newly.count())
    }

    /// The parameters that training changes, each once, in the order of the state dict.
    ///
    /// The base layers of LoRA are excluded from the start.
    pub fn trainable(&self) -> impl Iterator<Item = (&str, &Var)> {
        let all = self.net.parameters().distinct();
        all.filter(|(name, _)| !self.frozen.contains(name))
    }

    /// Whether training changes the parameter of that name; a tied one has its first name.
    pub fn is_trainable(&self, name: &str) -> bool {
        self.trainable().any(|(one, _)| one == name)
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
