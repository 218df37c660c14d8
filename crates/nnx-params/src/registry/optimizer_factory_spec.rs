//! A reference to a registered optimizer factory.

use std::fmt;

use crate::class::{count, defaulted, required, state_methods};
use crate::error::Result;
use crate::registry::config::freeze;
use crate::registry::registered::registered_class;
use crate::value::State;

registered_class! {
    class {
        /// A reference to an optimizer factory that a Python program registered.
        ///
        /// ```
        /// use nnx_params::{OptimizerFactorySpec, State};
        ///
        /// let spec = OptimizerFactorySpec::new("my.opt", 2, State::new())?;
        /// assert_eq!(spec.to_string(), "my.opt@v2");
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        OptimizerFactorySpec { unknown: State } in "nnx.optimizers";
        required: &["id", "version"];
        read state: |known: &mut State| -> Result<()> {
            known.remove_empty("config");
            Ok(())
        };
    }
    version: required(count::<1>);
    config: defaulted(freeze, State::new()).always();
    fields {}
}

impl OptimizerFactorySpec {
    state_methods!();

    /// A reference to version `version` of factory `id`.
    ///
    /// # Errors
    ///
    /// The id is not made of letters, digits, `.`, `_` and `-`, the version is 0, or the
    /// configuration holds a float that is not finite.
    pub fn new(id: &str, version: usize, config: State) -> Result<Self> {
        let mut fields = State::from_iter([("id", id)]);
        fields.insert("version", version);
        fields.insert("config", config);
        Self::from_fields(&fields)
    }
}

/// Writes Python's `str`.
impl fmt::Display for OptimizerFactorySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@v{}", self.id, self.version)
    }
}
