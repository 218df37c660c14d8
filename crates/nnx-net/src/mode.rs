//! The mode of a forward pass.

use candle_core::{Tensor, Var};

use crate::rng::Generator;

/// The mode of a forward pass.
#[derive(Debug)]
#[non_exhaustive]
pub enum Mode<'a> {
    /// Evaluation: no dropout, and no gradients of the parameters are recorded.
    Eval,
    /// Training: dropout draws from this generator, and gradients of the parameters can be computed.
    Train(&'a mut Generator),
    /// Evaluation that also records the shape of each layer's output.
    Trace(&'a mut Trace),
}

/// The layers that a forward pass ran, with the shapes of their outputs.
#[derive(Clone, Debug, Default)]
pub struct Trace(Vec<(String, &'static str, Vec<usize>)>);

impl Trace {
    /// Path, class and the shape of the output of each layer, in the order in which they ran.
    pub(crate) fn into_layers(self) -> impl Iterator<Item = (String, &'static str, Vec<usize>)> {
        self.0.into_iter()
    }
}

impl Mode<'_> {
    /// Whether gradients of the parameters are recorded.
    pub(crate) fn is_training(&self) -> bool {
        matches!(self, Self::Train(_))
    }

    /// The value of a parameter. In evaluation it is detached, so that no gradient is recorded.
    pub(crate) fn value(&self, parameter: &Var) -> Tensor {
        if self.is_training() {
            parameter.as_tensor().clone()
        } else {
            parameter.as_detached_tensor()
        }
    }

    /// Records a layer's output in place of the layers inside it, which were recorded from `since` on.
    pub(crate) fn note(&mut self, since: usize, path: &str, class: &'static str, output: &Tensor) {
        if let Self::Trace(Trace(layers)) = self {
            layers.truncate(since);
            layers.push((path.to_owned(), class, output.dims().to_vec()));
        }
    }

    /// The number of recorded layers.
    pub(crate) fn noted(&self) -> usize {
        match self {
            Self::Trace(Trace(layers)) => layers.len(),
            _ => 0,
        }
    }
}
