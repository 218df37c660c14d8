//! The parameters that an optimizer updates.

use candle_core::{TensorId, Var};

/// A variable with its dotted name, such as `layers.0.weight`.
///
/// The variable is shared with the net, which uses each value that an optimizer sets.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name in the state dict; globs of parameter groups match it.
    pub name: String,
    /// The value, shared with the net.
    pub var: Var,
    /// Whether it is trained. A frozen parameter gets no gradient, and no update.
    pub requires_grad: bool,
}

impl Parameter {
    /// A parameter that is trained.
    pub fn new(name: impl Into<String>, var: Var) -> Self {
        Self {
            name: name.into(),
            var,
            requires_grad: true,
        }
    }

    /// The key of the variable in candle's gradient store.
    pub fn id(&self) -> TensorId {
        self.var.as_tensor().id()
    }
}
