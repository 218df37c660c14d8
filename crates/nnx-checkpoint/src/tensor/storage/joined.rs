//! Storages of tensors that several processes saved in parts.

mod chunk_reader;
mod elements;
mod parts;
mod runs;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use self::chunk_reader::{ChunkReader, read_ahead};
use self::elements::Elements;
use self::parts::Parts;
use self::runs::Runs;
use super::StoragePart;
use crate::Tensor;
use crate::error::{Error, Result};

/// A part of a tensor: a box in it, whose sizes are the shape of the part.
#[derive(Clone, Debug)]
pub(crate) struct TensorChunk {
    /// The index of the box's first element in the whole.
    pub(crate) offsets: Vec<usize>,
    /// The elements of the box.
    pub(crate) tensor: Tensor,
}

/// The chunks of one tensor, which are opened when they are needed: a model that a thousand
/// processes saved has millions of them.
pub(crate) trait TensorChunks: fmt::Debug + Send + Sync {
    /// Opens every chunk. No element is read.
    ///
    /// # Errors
    /// When a chunk cannot be opened, or is not what the checkpoint says of it.
    fn open(&self) -> Result<Vec<TensorChunk>>;
}

impl TensorChunks for Vec<TensorChunk> {
    fn open(&self) -> Result<Vec<TensorChunk>> {
        Ok(self.clone())
    }
}

/// A whole tensor of chunks, row by row.
///
/// The whole is made front to back. The elements of a chunk are needed in their own order then, so
/// each chunk is read once, front to back, through a small buffer.
#[derive(Debug)]
pub(crate) struct JoinedTensor {
    /// Bytes of an element.
    element: usize,
    shape: Vec<usize>,
    chunks: Box<dyn TensorChunks>,
}

impl JoinedTensor {
    /// The tensor of that shape, whose elements have so many bytes.
    pub(crate) fn new(element: usize, shape: Vec<usize>, chunks: Box<dyn TensorChunks>) -> Self {
        Self {
            element,
            shape,
            chunks,
        }
    }

    /// How many bytes there are.
    pub(super) fn byte_len(&self) -> Result<usize> {
        let sizes = self.shape.iter().copied();
        let bytes = sizes.chain([self.element]).try_fold(1, usize::checked_mul);
        bytes.ok_or_else(|| {
            Error::unsupported(format!(
                "a tensor of shape {:?} has no room in memory",
                self.shape
            ))
        })
    }

    /// Opens every chunk. No element is read.
    ///
    /// # Errors
    /// When a chunk is not what the checkpoint says of it.
    pub(super) fn check(&self) -> Result<()> {
        self.chunks.open().map(drop)
    }

    /// Makes the bytes, piece by piece.
    ///
    /// # Errors
    /// As for [`parts`](Self::parts).
    pub(super) fn chunks(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.parts(&mut |part| match part {
            StoragePart::Bytes(bytes) => each(bytes),
            StoragePart::Stored(stored) => stored.chunks(each),
        })
    }

    /// Gives the bytes part by part. A large chunk that is in a file as it is, and whose elements
    /// follow one another in the whole, as those of a split along the first dimension do, is one part,
    /// of which nothing is read.
    ///
    /// # Errors
    /// When a chunk cannot be read, is not what the checkpoint says of it or does not have its
    /// checksum, when the chunks do not fill the whole, or `each` fails.
    pub(super) fn parts(&self, each: &mut dyn FnMut(StoragePart<'_>) -> Result<()>) -> Result<()> {
        let opened = self.opened()?;
        let ahead = read_ahead(opened.len());
        let mut chunks: Vec<ChunkReader> = opened
            .into_iter()
            .map(|chunk| ChunkReader::new(chunk, ahead))
            .collect();
        let mut next: BinaryHeap<Reverse<(usize, usize)>> = (0..)
            .zip(&chunks)
            .map(|(index, chunk)| Reverse((chunk.runs.next, index)))
            .collect();
        let mut out = Parts::new(each);
        let mut end = 0usize;
        while let Some(Reverse((start, index))) = next.pop() {
            let Some(chunk) = chunks.get_mut(index) else {
                continue;
            };
            if start != end {
                return Err(not_next(end, start));
            }
            end = end.saturating_add(chunk.runs.len);
            if let Some(stored) = chunk.large_range() {
                out.put_range(stored)?;
                continue;
            }
            chunk.copy_run(&mut out)?;
            if chunk.runs.advance() {
                next.push(Reverse((chunk.runs.next, index)));
            } else {
                chunk.finish()?;
            }
        }
        self.check_end(end)?;
        out.finish()
    }

    fn check_end(&self, end: usize) -> Result<()> {
        let expected = self.byte_len()?;
        if end == expected {
            return Ok(());
        }
        Err(Error::malformed(format!(
            "expected chunks of {expected} bytes together, found {end} bytes"
        )))
    }

    /// The chunks with elements.
    fn opened(&self) -> Result<Vec<OpenedChunk>> {
        let chunks = self.chunks.open()?.into_iter();
        chunks
            .filter(|chunk| chunk.tensor.elements() > 0)
            .map(|chunk| {
                let runs = Runs::new(&self.shape, &chunk, self.element)?;
                let elements = Elements::new(chunk.tensor)?;
                Ok(OpenedChunk { runs, elements })
            })
            .collect()
    }
}

#[cold]
fn not_next(end: usize, found: usize) -> Error {
    Error::malformed(format!(
        "expected the next chunk of a tensor at byte {end}, found one at byte {found}"
    ))
}

/// A chunk, and where its elements go.
struct OpenedChunk {
    runs: Runs,
    elements: Elements,
}
