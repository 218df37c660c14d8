//! The description of a module that a Python program built itself.

use std::fmt;

use crate::fields::{Fields, keeps_unknown, split_state};
use crate::{Error, Result, State};

/// The description of a module that a Python program built itself, and that nothing can rebuild.
///
/// ```
/// use nnx_params::RuntimeModule;
///
/// let module = RuntimeModule::new("my.Net", "d41d8cd98f00b204e9800998ecf8427e")?;
/// assert_eq!(module.to_string(), "runtime:my.Net");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeModule {
    module: String,
    topology: String,
    unknown: State,
}

impl RuntimeModule {
    /// The Python class.
    pub const CLASS: &'static str = "RuntimeModule";

    /// The `kind` of this class's states.
    pub const KIND: &'static str = "runtime";

    /// The constructor's arguments, in the order in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] = &["module", "topology"];

    /// The description of a Python class and a fingerprint of its topology.
    ///
    /// # Errors
    ///
    /// One of the texts is empty.
    pub fn new(module: &str, topology: &str) -> Result<Self> {
        Self::from_fields(&State::from_iter([
            ("module", module),
            ("topology", topology),
        ]))
    }

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, or not a text that holds something.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let text = |field: &str| {
            let value = fields.required(field)?;
            match value.as_str() {
                Some(text) if !text.is_empty() => Ok(text.to_owned()),
                _ => Err(Error::invalid(
                    Self::CLASS,
                    field,
                    "a text that is not empty",
                    value,
                )),
            }
        };
        Ok(Self {
            module: text("module")?,
            topology: text("topology")?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is not a text that holds something.
    pub fn from_state(state: &State) -> Result<Self> {
        let optional = ["kind", "reconstructible"];
        let (mut known, unknown) = split_state(Self::CLASS, state, Self::FIELDS, &optional)?;
        known.remove("kind");
        known.remove("reconstructible");
        let mut module = Self::from_fields(&known)?;
        module.unknown = unknown;
        Ok(module)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([
            ("kind", Self::KIND),
            ("module", &self.module),
            ("topology", &self.topology),
        ]);
        state.insert("reconstructible", false);
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The qualified name of the module's Python class.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// A fingerprint of the names, shapes and dtypes of the module's tensors and of its `repr`.
    pub fn topology(&self) -> &str {
        &self.topology
    }
}

/// Writes Python's `str`.
impl fmt::Display for RuntimeModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runtime:{}", self.module)
    }
}
