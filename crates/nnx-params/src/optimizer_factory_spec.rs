//! A reference to a registered optimizer factory.

use std::fmt;

use crate::fields::{self, Fields, keeps_unknown, split_state};
use crate::{Result, State, Value, config};

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
pub struct OptimizerFactorySpec {
    id: String,
    version: usize,
    config: State,
    unknown: State,
}

impl OptimizerFactorySpec {
    /// The Python class.
    pub const CLASS: &'static str = "OptimizerFactorySpec";

    /// The constructor's arguments, in the order in which a pickle and a state list them.
    pub const FIELDS: &'static [&'static str] = &["id", "version", "config"];

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

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        Ok(Self {
            id: fields::slug(Self::CLASS, "id", fields.required("id")?)?,
            version: fields.count("version", 1)?,
            config: config::freeze(Self::CLASS, fields.get("config"))?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["id", "version"];
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, Self::FIELDS)?;
        if !known.get("config").is_some_and(Value::truth) {
            known.remove("config");
        }
        let mut spec = Self::from_fields(&known)?;
        spec.unknown = unknown;
        Ok(spec)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("id", self.id.as_str())]);
        state.insert("version", self.version);
        state.insert("config", self.config.clone());
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
}

/// Writes Python's `str`.
impl fmt::Display for OptimizerFactorySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@v{}", self.id, self.version)
    }
}
