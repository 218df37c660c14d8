//! Writing the weights alone.

use std::path::Path;

use nnx_checkpoint::torch::TorchBuilder;

use super::{MODULE_VERSION, NNModel};
use crate::error::Result;

impl NNModel {
    /// Writes the state dict as `torch.save(model.net.state_dict(), path)` does, for use with PyTorch
    /// alone. The file does not record the transforms of the net.
    ///
    /// # Errors
    /// When the weights cannot be brought to the CPU, or writing fails; the target is unchanged then.
    pub fn export_state_dict(&self, path: impl AsRef<Path>) -> Result<()> {
        let parameters = self.net.parameters();
        let mut builder = TorchBuilder::new();
        let mut pairs = Vec::new();
        for (name, tensor) in parameters.tensors()? {
            let name = builder.text(name);
            pairs.push((name, builder.tensor(&tensor)?));
        }
        let mut versions = Vec::new();
        for path in parameters.modules() {
            let path = builder.text(path);
            let version = vec![(builder.interned("version"), builder.int(MODULE_VERSION))];
            versions.push((path, builder.dict(version)));
        }
        let versions = builder.ordered_dict(versions, None);
        let attributes = vec![(builder.interned("_metadata"), versions)];
        let attributes = builder.dict(attributes);
        let root = builder.ordered_dict(pairs, Some(attributes));
        Ok(builder.finish(root).save(path)?)
    }
}
