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
    /// The values below a key of an optimizer at the top, as PyTorch, Lightning and Megatron call it:
    /// `optimizer`, `optim` or `optimizers`, alone, with a number (`optimizer_0`) or with a word of its
    /// state (`optimizer_states`, `optim_state_dict`).
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
    /// assert!(CheckpointPart::Model.has("optimus.weight"));
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
    let top = name.split('.').next().unwrap_or(name);
    let (word, rest) = top.split_once('_').unwrap_or((top, ""));
    let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
    matches!(word, "optim" | "optimizer" | "optimizers") && (is_number || rest.starts_with("state"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimizer_is_told_by_the_first_key() {
        for name in [
            "optim",
            "optim.state.fc.weight.exp_avg",
            "optimizer.param_groups.0.lr",
            "optimizers.0.state",
            "optimizer_0.state",
            "optim_12.state",
            "optimizer_states.0",
            "optim_state_dict.fc.weight",
        ] {
            assert!(CheckpointPart::Optimizer.has(name), "{name}");
            assert!(!CheckpointPart::Model.has(name), "{name}");
        }
        for name in [
            "optimus.weight",
            "optimized.weight",
            "optim_head.weight",
            "model.optimizer.weight",
        ] {
            assert!(CheckpointPart::Model.has(name), "{name}");
            assert!(!CheckpointPart::Optimizer.has(name), "{name}");
        }
    }
}
