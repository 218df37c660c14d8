//! A reference to a registered model factory.

use std::fmt;

use crate::fields::{self, Fields, keeps_unknown, split_state};
use crate::{Result, State, Value, config};

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
pub struct ModelSpec {
    id: String,
    version: usize,
    config: State,
    seed: usize,
    unknown: State,
}

impl ModelSpec {
    /// The Python class.
    pub const CLASS: &'static str = "ModelSpec";

    /// The `kind` of this class's states.
    pub const KIND: &'static str = "registered";

    /// The arguments of `_model_spec`, the function that a pickle calls.
    pub const FIELDS: &'static [&'static str] = &["id", "version", "config", "seed"];

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

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        Ok(Self {
            id: fields::slug(Self::CLASS, "id", fields.required("id")?)?,
            version: fields.count_or("version", 1, 1)?,
            config: config::freeze(Self::CLASS, fields.get("config"))?,
            seed: fields.count_or("seed", 0, 0)?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let optional = ["kind", "config", "seed"];
        let (mut known, unknown) = split_state(Self::CLASS, state, &["id", "version"], &optional)?;
        known.remove("kind");
        if !known.get("config").is_some_and(Value::truth) {
            known.remove("config");
        }
        let mut spec = Self::from_fields(&known)?;
        spec.unknown = unknown;
        Ok(spec)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("kind", Self::KIND)]);
        state.insert("id", self.id.as_str());
        state.insert("version", self.version);
        state.insert("config", self.config.clone());
        state.insert("seed", self.seed);
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The name that the factory is registered under.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The version of the factory.
    pub fn version(&self) -> usize {
        self.version
    }

    /// What the factory is called with, keys sorted.
    pub fn config(&self) -> &State {
        &self.config
    }

    /// The seed under which the factory builds the net.
    pub fn seed(&self) -> usize {
        self.seed
    }
}

/// Writes Python's `str`.
impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@v{}", self.id, self.version)
    }
}
