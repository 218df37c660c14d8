//! The parts of a training that a checkpoint of several processes can have.

/// A part of a checkpoint of several processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckpointPart {
    /// All that is there.
    #[default]
    All,
    /// All but the optimizer.
    Model,
    /// The values below a name that begins with `optim`, as the names of PyTorch's and Lightning's
    /// optimizers do: `optimizer`, `optim`, `optimizer_0`.
    Optimizer,
}

impl CheckpointPart {
    /// Whether the part has the value of that name.
    ///
    /// ```
    /// use nnx_checkpoint::CheckpointPart;
    ///
    /// assert!(CheckpointPart::Optimizer.has("optimizer_0.state.fc.weight.exp_avg"));
    /// assert!(CheckpointPart::Model.has("model.fc.weight"));
    /// ```
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Model => !is_optimizer(name),
            Self::Optimizer => is_optimizer(name),
        }
    }

    /// The part of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "all" => Some(Self::All),
            "model" => Some(Self::Model),
            "optimizer" => Some(Self::Optimizer),
            _ => None,
        }
    }
}

fn is_optimizer(name: &str) -> bool {
    name.starts_with("optim")
}
