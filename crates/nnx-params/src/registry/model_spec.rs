//! A reference to a registered model factory.

use std::fmt;

use crate::class::{PickleForm, count, defaulted, state_methods};
use crate::error::Result;
use crate::registry::config::freeze;
use crate::registry::registered::registered_class;
use crate::value::State;

registered_class! {
    class {
        /// A reference to a model factory that a Python program registered.
        ///
        /// Only that program can build the net, so the reference is kept as it is.
        ///
        /// ```
        /// use nnx_params::{ModelSpec, State};
        ///
        /// let spec = ModelSpec::new("fix.linear", 1, State::from_iter([("o", 2), ("i", 3)]), 7)?;
        /// assert_eq!(spec.to_string(), "fix.linear@v1");
        /// assert_eq!(spec.config().keys().collect::<Vec<_>>(), ["i", "o"]);
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        ModelSpec { unknown: State } in "nnx.models";
        pickled as: PickleForm::Call("_model_spec");
        state order: "kind", "id", "version", "config";
        required: &["id", "version"];
        further keys: "kind";
        read state: |known: &mut State| -> Result<()> {
            known.remove("kind");
            known.remove_empty("config");
            Ok(())
        };
        amend state: |_: &ModelSpec, state: &mut State| state.insert("kind", ModelSpec::KIND);
    }
    version: defaulted(count::<1>, 1).always();
    config: defaulted(freeze, State::new()).always();
    fields {
        /// The seed under which the factory builds the net.
        seed: usize => usize = defaulted(count::<0>, 0).always();
    }
}

impl ModelSpec {
    state_methods!();

    /// The `kind` of this class's states.
    pub const KIND: &'static str = "registered";

    /// A reference to version `version` of factory `id`, built under a seed.
    ///
    /// # Errors
    ///
    /// The id is not made of letters, digits, `.`, `_` and `-`, the version is 0, or the
    /// configuration holds a float that is not finite.
    pub fn new(id: &str, version: usize, config: State, seed: usize) -> Result<Self> {
        let mut fields = State::from_iter([("id", id)]);
        fields.insert("version", version);
        fields.insert("config", config);
        fields.insert("seed", seed);
        Self::from_fields(&fields)
    }
}

/// Writes Python's `str`.
impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@v{}", self.id, self.version)
    }
}
