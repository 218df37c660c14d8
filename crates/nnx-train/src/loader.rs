//! Where batches come from.

use nnx_net::{Batch, Generator};

use crate::error::Result;

/// Anything that gives batches, again for each epoch.
pub trait Loader {
    /// Begins a pass over the data. The numbers that PyTorch's loader draws when an iteration
    /// begins (its base seed, and the seed of the order) are drawn from `default` here, before the
    /// first batch.
    ///
    /// # Errors
    /// When there is no such pass; a batch that cannot be made is an error of the iterator.
    fn pass(&mut self, default: &mut Generator) -> Result<Pass<'_>>;

    /// The number of batches of a pass, if it is known.
    fn batches(&self) -> Option<usize>;

    /// Told before each pass which epoch it is for: Python's `set_epoch`.
    fn set_epoch(&mut self, epoch: i64) {
        let _ = epoch;
    }

    /// The generators of its own, whose states a checkpoint keeps.
    fn generators(&mut self) -> Vec<&mut Generator> {
        Vec::new()
    }
}

/// The batches of one pass.
pub type Pass<'a> = Box<dyn Iterator<Item = Result<Batch>> + 'a>;

/// Batches in a list are given as they are, in order; nothing is drawn.
impl Loader for Vec<Batch> {
    fn pass(&mut self, _: &mut Generator) -> Result<Pass<'_>> {
        Ok(Box::new(self.iter().cloned().map(Ok)))
    }

    fn batches(&self) -> Option<usize> {
        Some(self.len())
    }
}

/// A pointer to a loader is a loader.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<L: Loader + ?Sized> Loader for $pointer {
            fn pass(&mut self, default: &mut Generator) -> Result<Pass<'_>> {
                (**self).pass(default)
            }

            fn batches(&self) -> Option<usize> {
                (**self).batches()
            }

            fn set_epoch(&mut self, epoch: i64) {
                (**self).set_epoch(epoch);
            }

            fn generators(&mut self) -> Vec<&mut Generator> {
                (**self).generators()
            }
        }
    )*};
}

pointers!(Box<L>, &mut L);
