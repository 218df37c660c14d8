//! What a forward pass is for.

use candle_core::{Tensor, Var};

use crate::rng::Generator;

/// What a forward pass is for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Mode<'a> {
    /// Using the net: no dropout, and no gradients of the parameters are recorded.
    Eval,
    /// Training it: dropout draws from this generator, and gradients of the parameters can be
    /// computed.
    Train(&'a mut Generator),
    /// Using the net, and noting what its layers give.
    Trace(&'a mut Trace),
}

/// The layers that ran, with the shapes of their outputs.
#[derive(Clone, Debug, Default)]
pub struct Trace(Vec<(String, &'static str, Vec<usize>)>);

impl Trace {
    /// Path, class and the shape of the output of each layer, in the order in which they ran.
    pub(crate) fn into_layers(self) -> impl Iterator<Item = (String, &'static str, Vec<usize>)> {
        self.0.into_iter()
    }
}

impl Mode<'_> {
    /// Whether gradients are wanted.
    pub(crate) fn is_training(&self) -> bool {
        matches!(self, Self::Train(_))
    }

    /// The value of a parameter, tied to it only where gradients are wanted.
    pub(crate) fn value(&self, parameter: &Var) -> Tensor {
        if self.is_training() {
            parameter.as_tensor().clone()
        } else {
            parameter.as_detached_tensor()
        }
    }

    /// Notes what a layer gave, in place of what was noted since `since` for the layers in it.
    pub(crate) fn note(&mut self, since: usize, path: &str, class: &'static str, output: &Tensor) {
        if let Self::Trace(Trace(layers)) = self {
            layers.truncate(since);
            layers.push((path.to_owned(), class, output.dims().to_vec()));
        }
    }

    /// How many layers have been noted.
    pub(crate) fn noted(&self) -> usize {
        match self {
            Self::Trace(Trace(layers)) => layers.len(),
            _ => 0,
        }
    }
}
