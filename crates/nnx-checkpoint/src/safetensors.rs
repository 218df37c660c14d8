//! The safetensors format: a JSON header, then the tensors' bytes.

use std::io::Write;

use bytes::Bytes;
use indexmap::IndexMap;

use crate::error::{Error, Result};
use crate::{Limits, Tensor};

/// An opened safetensors file.
#[derive(Debug)]
pub struct SafeTensors {
    metadata: IndexMap<String, String>,
    tensors: IndexMap<String, Tensor>,
}

impl SafeTensors {
    /// Reads the header.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(_bytes: &Bytes, _limits: &Limits) -> Result<Self> {
        Err(Error::unsupported("not yet"))
    }

    /// The strings of `__metadata__`, in the order of the file.
    pub fn metadata(&self) -> &IndexMap<String, String> {
        &self.metadata
    }

    /// The tensors, in the order of their bytes. Each has a storage of its own.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }
}

/// Writes a file.
///
/// # Errors
/// When a tensor cannot be stored or the writer refuses.
pub fn write(
    _w: &mut impl Write,
    _tensors: &[(&str, &Tensor)],
    _metadata: Option<&IndexMap<String, String>>,
) -> Result<()> {
    Err(Error::unsupported("not yet"))
}
