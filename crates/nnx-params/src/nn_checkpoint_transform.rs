//! A step that changed a net after it was built.

use crate::fields::{Fields, keeps_unknown, mapping, split_state};
use crate::{Number, Result, State};

/// A step that changed a net's topology, such as adding low-rank adapters.
///
/// Python checks the fields only when it replays the step, so any options are kept here.
///
/// ```
/// use nnx_params::{NNCheckpointTransform, State};
///
/// let transform = NNCheckpointTransform::new("lora", 1, State::from_iter([("r", 2)]));
/// assert_eq!(transform.state().keys().collect::<Vec<_>>(), ["name", "version", "options"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NNCheckpointTransform {
    name: String,
    version: Number,
    options: State,
    unknown: State,
}

impl NNCheckpointTransform {
    /// The Python class.
    pub const CLASS: &'static str = "NNCheckpointTransform";

    /// The fields in the order of declaration, in which a pickle and a state list them.
    pub const FIELDS: &'static [&'static str] = &["name", "version", "options"];

    /// A step of a name, the version of its options, and the options.
    pub fn new(name: &str, version: impl Into<Number>, options: State) -> Self {
        Self {
            name: name.to_owned(),
            version: version.into(),
            options,
            unknown: State::new(),
        }
    }

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected or of a wrong type.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let options = match fields.given("options") {
            None => State::new(),
            Some(value) => mapping(Self::CLASS, "options", value)?.clone(),
        };
        Ok(Self::new(
            &fields.text("name")?,
            fields.number_or("version", 1)?,
            options,
        ))
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// The name is missing, or a value is of a wrong type.
    pub fn from_state(state: &State) -> Result<Self> {
        let (known, unknown) = split_state(Self::CLASS, state, &["name"], Self::FIELDS)?;
        let mut transform = Self::from_fields(&known)?;
        transform.unknown = unknown;
        Ok(transform)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("name", self.name.as_str())]);
        state.insert("version", self.version);
        state.insert("options", self.options.clone());
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The name of the step.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the options.
    pub fn version(&self) -> Number {
        self.version
    }

    /// The options.
    pub fn options(&self) -> &State {
        &self.options
    }
}
