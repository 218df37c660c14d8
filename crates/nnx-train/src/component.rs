//! Components: states in the checkpoints of a training beside its weights, optimizer and schedule.

use nnx_run::Data;

use crate::error::Result;

/// The version of a component's state that is written.
pub type ComponentVersion = i64;

/// The name of a component, and the demands of a resumed training on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentSpec {
    /// The name within a training, of letters, digits, `.`, `_`, `:` and `-`.
    pub name: String,
    /// The version of the states that are written; states of a newer one are refused. Default: 1.
    pub version: ComponentVersion,
    /// Whether a training resumes only with the component's state. Default: yes.
    pub required: bool,
    /// Whether several components of the name are numbered, instead of refused: `name`, `name.2`.
    /// Default: no.
    pub numbered: bool,
}

/// Something whose state is kept with each checkpoint and restored when the training resumes: NNx's
/// `StatefulComponent`.
pub trait Component {
    /// The name, and the demands of a resumed training.
    fn component_spec(&self) -> ComponentSpec;

    /// The state as it is now, plain data.
    fn component_state(&self) -> Data;

    /// Why a saved state does not fit, one sentence each. Nothing is changed.
    fn check_component_state(&self, state: &Data, version: ComponentVersion) -> Vec<String> {
        let (_, _) = (state, version);
        Vec::new()
    }

    /// Takes over a saved state that [`check_component_state`](Self::check_component_state) had nothing against.
    ///
    /// # Errors
    /// When the state is not one of this component.
    fn load_component_state(&mut self, state: &Data, version: ComponentVersion) -> Result<()>;
}

impl<C: Component + ?Sized> Component for &mut C {
    fn component_spec(&self) -> ComponentSpec {
        (**self).component_spec()
    }

    fn component_state(&self) -> Data {
        (**self).component_state()
    }

    fn check_component_state(&self, state: &Data, version: ComponentVersion) -> Vec<String> {
        (**self).check_component_state(state, version)
    }

    fn load_component_state(&mut self, state: &Data, version: ComponentVersion) -> Result<()> {
        (**self).load_component_state(state, version)
    }
}

impl ComponentSpec {
    /// A component without which a training does not resume.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: 1,
            required: true,
            numbered: false,
        }
    }

    /// Sets [`version`](Self::version).
    #[must_use]
    pub fn version(mut self, version: ComponentVersion) -> Self {
        self.version = version;
        self
    }

    /// Makes the component one without which a training resumes: its state then stays fresh.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// Sets [`numbered`](Self::numbered).
    #[must_use]
    pub fn numbered(mut self) -> Self {
        self.numbered = true;
        self
    }

    pub(crate) fn is_valid(&self) -> bool {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        let starts = self.name.starts_with(|c: char| c.is_ascii_alphanumeric());
        starts && self.name.bytes().all(allowed) && self.version > 0
    }
}
