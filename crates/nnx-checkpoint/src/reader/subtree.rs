//! The tensors below one path, under names without it.

use indexmap::IndexMap;

use super::nn_checkpoint::{CLASS, NET_STATE};
use super::{CheckpointReader, TensorEntry};
use crate::error::{Error, ErrorKind, Result};
use crate::{OpenOptions, Tensor};

/// The tensors of a checkpoint that are below one path, under names without it.
///
/// It comes from [`CheckpointReader::root`] and [`CheckpointReader::default_root`].
#[derive(Clone, Debug)]
pub struct Subtree<'a> {
    reader: &'a CheckpointReader,
    /// The start of the names: the path and a dot, or nothing.
    prefix: String,
}

impl CheckpointReader {
    /// The tensors that are below `path`, under names without it: `root("state_dict")` of a
    /// checkpoint of Lightning gives the names of the module's `state_dict()`. The empty path is
    /// that of all tensors.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchTensor`] when no tensor is below the path.
    pub fn root(&self, path: &str) -> Result<Subtree<'_>> {
        let subtree = self.below(path);
        if subtree.tensors().next().is_none() && !path.is_empty() {
            return Err(Error::new(ErrorKind::NoSuchTensor).in_tensor(&format!("{path}.…")));
        }
        Ok(subtree)
    }

    /// The tensors under the names that their user knows: those of the state dict in a pickled
    /// checkpoint of NNx, so that it has the names of its safetensors form; else all of them.
    pub fn default_root(&self) -> Subtree<'_> {
        let mut globals = self.globals().iter();
        let names_class =
            globals.any(|global| (global.module.as_str(), global.name.as_str()) == CLASS);
        let weights = self.below(NET_STATE);
        let is_nnx = names_class && weights.tensors().count() == self.tensors().len();
        if is_nnx { weights } else { self.below("") }
    }

    /// Every tensor under the name that its user knows, in the order of the file: short for
    /// [`default_root`](Self::default_root) and [`Subtree::state_dict`].
    ///
    /// ```no_run
    /// # fn main() -> nnx_checkpoint::Result<()> {
    /// use nnx_checkpoint::CheckpointReader;
    ///
    /// let lightning = CheckpointReader::open("epoch=3.ckpt")?;
    /// let state = lightning.root("state_dict")?.state_dict()?;
    /// println!("{:?}", state["fc.weight"].shape());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`tensor`](Self::tensor).
    pub fn state_dict(&self) -> Result<IndexMap<String, Tensor>> {
        self.default_root().state_dict()
    }

    fn below(&self, path: &str) -> Subtree<'_> {
        let prefix = match path {
            "" => String::new(),
            path => format!("{path}."),
        };
        Subtree {
            reader: self,
            prefix,
        }
    }
}

impl<'a> Subtree<'a> {
    /// The checkpoint.
    pub fn reader(&self) -> &'a CheckpointReader {
        self.reader
    }

    /// The start of the full names: the path and a dot, or nothing.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The tensors in the order of the file, each with its name here.
    pub fn tensors(&self) -> impl Iterator<Item = (&'a str, &'a TensorEntry)> {
        let tensors = self.reader.tensors().iter();
        tensors.filter_map(|entry| Some((entry.name().strip_prefix(self.prefix.as_str())?, entry)))
    }

    /// The entry of the tensor of that name.
    pub fn entry(&self, name: &str) -> Option<&'a TensorEntry> {
        self.reader.entry(&format!("{}{name}", self.prefix))
    }

    /// The tensor of that name.
    ///
    /// # Errors
    /// As for [`CheckpointReader::tensor`].
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.reader.tensor(&format!("{}{name}", self.prefix))
    }

    /// Every tensor by its name, in the order of the file.
    ///
    /// # Errors
    /// As for [`CheckpointReader::tensor`].
    pub fn state_dict(&self) -> Result<IndexMap<String, Tensor>> {
        let tensors = self.tensors();
        tensors
            .map(|(name, entry)| Ok((name.to_owned(), entry.tensor()?)))
            .collect()
    }
}

/// Every tensor of a file or a folder by its name, in the order of the file: the result of
/// `torch.load` and `safetensors.torch.load_file` for a file of weights. Names are those of
/// [`CheckpointReader::default_root`].
///
/// ```no_run
/// # fn main() -> nnx_checkpoint::Result<()> {
/// for (name, tensor) in nnx_checkpoint::load_state_dict("model.safetensors")? {
///     println!("{name}: {} {:?}", tensor.dtype(), tensor.shape());
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As for [`CheckpointReader::open_with`] and [`CheckpointReader::tensor`].
pub fn load_state_dict(path: impl AsRef<std::path::Path>) -> Result<IndexMap<String, Tensor>> {
    CheckpointReader::open_with(path, &OpenOptions::default())?.state_dict()
}
