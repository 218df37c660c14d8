//! The file of a training state.

use std::path::Path;
use std::sync::Arc;

use nnx_checkpoint::torch::TorchObject;
use nnx_checkpoint::{OpenOptions, Source};

use super::TrainingState;
use crate::error::{Error, Result};

impl TrainingState {
    /// The training state in a file, whichever checkpoint it belongs to.
    /// [`CheckpointStore::load_training_state`](crate::CheckpointStore::load_training_state) gives the
    /// one of a checkpoint.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a training state.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::read(&open(path)?).map_err(|error| error.in_path(path))
    }
}

/// The object in the file of a training state.
pub(crate) fn open(path: &Path) -> Result<Arc<TorchObject>> {
    let located = |error: nnx_checkpoint::Error| Error::from(error).in_path(path);
    let source = Source::open(path).map_err(located)?;
    // A state may hold objects of any class; they are kept as they are, and nothing is executed.
    let options = OpenOptions::default().allow_dangerous_globals(true);
    let object = TorchObject::from_bytes(source.bytes(), &options).map_err(located)?;
    Ok(Arc::new(object))
}
