//! An open checkpoint, with the names that its user knows.

use std::path::Path;

use nnx::checkpoint::{CheckpointReader, OpenOptions, Tensor, TensorEntry};

use crate::failure::Failure;

/// An open checkpoint. The tensors of an NNx checkpoint have the names of its state dict, whether
/// it is a pickle, which has them in a field of an object, or a safetensors file.
#[derive(Debug)]
pub(crate) struct Opened {
    reader: CheckpointReader,
    /// The prefix of every name, which is not shown.
    root: String,
}

impl Opened {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        // Showing and comparing execute nothing, so no name is a reason to refuse a file.
        let options = OpenOptions::default().allow_dangerous_globals(true);
        let reader = CheckpointReader::open_with(crate::hub::local(path)?, &options)?;
        let root = reader.default_root().prefix().to_owned();
        Ok(Self { reader, root })
    }

    pub(crate) fn reader(&self) -> &CheckpointReader {
        &self.reader
    }

    /// A name as it is shown.
    pub(crate) fn shown<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(self.root.as_str()).unwrap_or(name)
    }

    /// The tensors in the order of the file, with their names as they are shown.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&str, &TensorEntry)> {
        let tensors = self.reader.tensors().iter();
        tensors.map(|tensor| (self.shown(tensor.name()), tensor))
    }

    /// The tensor that is shown under a name.
    pub(crate) fn entry(&self, shown: &str) -> Option<&TensorEntry> {
        self.reader.entry(&self.full(shown))
    }

    /// The tensor that is shown under a name, with its bytes.
    pub(crate) fn tensor(&self, shown: &str) -> Result<Tensor, Failure> {
        Ok(self.reader.tensor(&self.full(shown))?)
    }

    fn full(&self, shown: &str) -> String {
        format!("{}{shown}", self.root)
    }
}

/// The name, or for a tensor that is the whole file a description.
pub(crate) fn shown_name(name: &str) -> &str {
    if name.is_empty() {
        "(the whole file)"
    } else {
        name
    }
}
