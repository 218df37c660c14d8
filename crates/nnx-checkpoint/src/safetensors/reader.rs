//! A file that is being read.

use std::fmt;

use indexmap::IndexMap;

use super::header::{self, Info};
use super::layout;
use crate::error::{Error, Result};
use crate::source::ByteRange;
use crate::{Limits, Storage, Tensor};

/// Bytes of the header's length.
const LENGTH_BYTES: u64 = 8;

/// An opened safetensors file.
pub struct SafeTensors {
    metadata: IndexMap<String, String>,
    tensors: IndexMap<String, Tensor>,
}

impl SafeTensors {
    /// Reads the header and checks all of it; the tensors' bytes are not read. Each tensor gets a
    /// storage of its own, a range of `source`.
    ///
    /// # Errors
    /// When the file ends early or goes on behind its last tensor, the header exceeds
    /// [`Limits::max_header_bytes`] or is not a JSON object of the format's form, any key occurs
    /// there twice, a metadata value is no string, a dtype is unknown, or the tensors leave gaps,
    /// overlap, or do not have the bytes that their shapes need.
    pub fn parse(source: impl Into<ByteRange>, limits: &Limits) -> Result<Self> {
        let source = source.into();
        let start = source.read_up_to(0, LENGTH_BYTES)?;
        let length = start.first_chunk::<8>().ok_or_else(|| {
            Error::malformed(format!(
                "expected the 8 bytes of the header's length, found {} bytes",
                start.len()
            ))
        })?;
        let length = u64::from_le_bytes(*length);
        let rest = source.byte_len().saturating_sub(LENGTH_BYTES);
        if length > rest {
            return Err(Error::malformed(format!(
                "expected a header of {length} bytes, found {rest}: the file is cut short or is no \
                 safetensors file"
            ))
            .at(LENGTH_BYTES));
        }
        if length > limits.max_header_bytes {
            return Err(Error::limit(
                "max_header_bytes",
                limits.max_header_bytes,
                length,
            ));
        }
        let text = source.slice(LENGTH_BYTES, length)?.bytes()?;
        let mut header = header::parse(&text, LENGTH_BYTES)?;

        // Where two begin at one byte, the empty one is first; the sort is stable.
        header
            .tensors
            .sort_by(|_, one, _, other| one.offsets.cmp(&other.offsets));
        let start = LENGTH_BYTES.saturating_add(length);
        let mut end = 0;
        let mut tensors = IndexMap::with_capacity(header.tensors.len());
        for (name, info) in header.tensors {
            let tensor =
                tensor(&source, start, end, &info).map_err(|error| error.in_tensor(&name))?;
            [_, end] = info.offsets;
            tensors.insert(name, tensor);
        }
        let found = source.byte_len().saturating_sub(start);
        if found != end {
            return Err(Error::malformed(format!(
                "expected {end} bytes of tensors, found {found}"
            ))
            .at(start.saturating_add(end)));
        }
        Ok(Self {
            metadata: header.metadata,
            tensors,
        })
    }

    /// The strings of `__metadata__`, in the order of the file; empty when there are none.
    pub fn metadata(&self) -> &IndexMap<String, String> {
        &self.metadata
    }

    /// The tensors, in the order of their bytes.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// The metadata and the tensors, each in the order of the file.
    pub fn into_parts(self) -> (IndexMap<String, String>, IndexMap<String, Tensor>) {
        (self.metadata, self.tensors)
    }
}

/// The tensor of an entry that must begin where the one before it ended, `previous` bytes behind the
/// header's end at `start`.
fn tensor(source: &ByteRange, start: u64, previous: u64, info: &Info) -> Result<Tensor> {
    let dtype = layout::dtype(&info.dtype)?;
    let [begin, end] = info.offsets;
    if begin != previous || end < begin {
        return Err(Error::malformed(format!(
            "expected data offsets that begin at {previous}, where the tensor before ends, found \
             [{begin}, {end}]"
        )));
    }
    let range = start
        .checked_add(begin)
        .and_then(|start| source.slice(start, end.saturating_sub(begin)).ok());
    let range = range.ok_or_else(|| {
        Error::malformed(format!(
            "the data offsets [{begin}, {end}] reach past the {} bytes of tensors that the file has",
            source.byte_len().saturating_sub(start)
        ))
    })?;
    let shape = layout::shape_from_header(dtype, &info.shape)?;
    Tensor::contiguous(dtype, &shape, Storage::from_range(range, "cpu")?)
}

impl fmt::Debug for SafeTensors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.tensors.keys().collect();
        f.debug_struct("SafeTensors")
            .field("metadata", &self.metadata)
            .field("tensors", &names)
            .finish()
    }
}
