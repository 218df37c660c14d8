//! Storages of tensors that several processes saved in parts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use bytes::Bytes;

use super::Storage;
use crate::error::{Error, Result};
use crate::source::{ByteRange, CHUNK_BYTES};
use crate::{Limits, Tensor, contiguous_strides};

/// Bytes of all chunks together that are read ahead, and the least and the most for one of them.
const READ_AHEAD_BYTES: usize = 4 << 20;
const LEAST_READ_AHEAD: usize = 4 << 10;
const MOST_READ_AHEAD: usize = 256 << 10;

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

    /// The ranges that hold the bytes one behind the other, if each chunk is in a file as it is and
    /// its elements follow one another in the whole, as those of a split along the first dimension
    /// do.
    ///
    /// # Errors
    /// As for [`chunks`](Self::chunks).
    pub(super) fn ranges(&self) -> Result<Option<Vec<StoredRange>>> {
        let mut chunks = self.opened()?;
        chunks.sort_by_key(|chunk| chunk.runs.next);
        let mut ranges = Vec::new();
        let mut end = 0usize;
        for chunk in chunks {
            let runs = &chunk.runs;
            let (Elements::Stored(range), true) = (chunk.elements, runs.len == runs.total) else {
                return Ok(None);
            };
            if runs.next != end {
                return Err(not_next(end, runs.next));
            }
            end = end.saturating_add(runs.len);
            ranges.push(range);
        }
        self.check_end(end)?;
        Ok(Some(ranges))
    }

    /// Makes the bytes, piece by piece.
    ///
    /// # Errors
    /// When a chunk cannot be read, is not what the checkpoint says of it or does not have its
    /// checksum, when the chunks do not fill the whole, or `each` fails.
    pub(super) fn chunks(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let opened = self.opened()?;
        let ahead = READ_AHEAD_BYTES
            .checked_div(opened.len())
            .unwrap_or(MOST_READ_AHEAD)
            .clamp(LEAST_READ_AHEAD, MOST_READ_AHEAD);
        let mut chunks: Vec<ChunkReader> = opened
            .into_iter()
            .map(|chunk| ChunkReader::new(chunk, ahead))
            .collect();
        let mut next: BinaryHeap<Reverse<(usize, usize)>> = (0..)
            .zip(&chunks)
            .map(|(index, chunk)| Reverse((chunk.runs.next, index)))
            .collect();
        let mut out = Pieces::new(each);
        let mut end = 0usize;
        while let Some(Reverse((start, index))) = next.pop() {
            let Some(chunk) = chunks.get_mut(index) else {
                continue;
            };
            if start != end {
                return Err(not_next(end, start));
            }
            chunk.copy_run(&mut out)?;
            end = end.saturating_add(chunk.runs.len);
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

/// Where the elements of a chunk come from.
enum Elements {
    /// They are in a file in their order.
    Stored(StoredRange),
    /// They have to be gathered, inflated or conjugated.
    Tensor(Tensor),
}

/// Bytes in a file, and what compares them with their checksum.
pub(crate) struct StoredRange {
    pub(crate) range: ByteRange,
    /// The storage whose checksum is that of the range; none where nothing is to be compared.
    checked_by: Option<Storage>,
}

impl StoredRange {
    /// Compares the checksum of the bytes as somebody read them with the one that their file states,
    /// if it states one.
    ///
    /// # Errors
    /// When they differ.
    pub(crate) fn compare(&self, found: u32) -> Result<()> {
        match &self.checked_by {
            Some(storage) => storage.compare(found),
            None => Ok(()),
        }
    }
}

impl Elements {
    fn new(tensor: Tensor) -> Result<Self> {
        let storage = tensor.storage();
        let is_plain = tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
        let Some(range) = storage.verbatim()?.filter(|_| is_plain) else {
            return Ok(Self::Tensor(tensor));
        };
        let bytes = tensor.byte_range();
        if bytes.len() as u64 == range.byte_len() {
            let checked_by = storage.has_checksum().then(|| storage.clone());
            return Ok(Self::Stored(StoredRange { range, checked_by }));
        }
        // The checksum is that of more than is read here.
        storage.verify(&range)?;
        Ok(Self::Stored(StoredRange {
            range: range.slice(bytes.start as u64, bytes.len() as u64)?,
            checked_by: None,
        }))
    }
}

/// The runs of a chunk: elements that follow one another in the chunk and in the whole. All numbers
/// are bytes.
struct Runs {
    /// Bytes of a run.
    len: usize,
    /// Bytes of all runs.
    total: usize,
    /// Where in the whole the next run begins.
    next: usize,
    /// The dimensions outside a run, the innermost one last.
    outer: Vec<OuterDim>,
}

struct OuterDim {
    index: usize,
    size: usize,
    /// Bytes of the whole between neighbours.
    stride: usize,
}

impl Runs {
    /// The runs of a chunk with at least one element.
    fn new(shape: &[usize], chunk: &TensorChunk, element: usize) -> Result<Self> {
        let sizes = chunk.tensor.shape();
        let strides = contiguous_strides(shape)?;
        let is_inside = chunk.offsets.len() == shape.len()
            && sizes.len() == shape.len()
            && chunk
                .offsets
                .iter()
                .zip(sizes)
                .zip(shape)
                .all(|((&offset, &size), &whole)| {
                    offset.checked_add(size).is_some_and(|end| end <= whole)
                });
        if !is_inside {
            return Err(Error::malformed(format!(
                "a chunk with the offsets {:?} and the sizes {sizes:?} is not within a tensor of \
                 shape {shape:?}",
                chunk.offsets
            )));
        }
        // The elements of the whole are in memory's reach, so are these.
        let in_bytes = |count: usize| count.saturating_mul(element);
        let starts = chunk.offsets.iter().zip(&strides);
        let next = starts.fold(0usize, |sum, (&offset, &stride)| {
            sum.saturating_add(in_bytes(offset.saturating_mul(stride)))
        });
        let mut len = element;
        let mut outer = Vec::new();
        let mut is_whole = true;
        for ((&size, &whole), &stride) in sizes.iter().zip(shape).zip(&strides).rev() {
            if is_whole {
                len = len.saturating_mul(size);
                is_whole = size == whole;
            } else if size != 1 {
                outer.push(OuterDim {
                    index: 0,
                    size,
                    stride: in_bytes(stride),
                });
            }
        }
        outer.reverse();
        Ok(Self {
            len,
            total: in_bytes(chunk.tensor.elements()),
            next,
            outer,
        })
    }

    /// Goes on to the next run; `false` behind the last one.
    fn advance(&mut self) -> bool {
        for dim in self.outer.iter_mut().rev() {
            dim.index = dim.index.saturating_add(1);
            self.next = self.next.saturating_add(dim.stride);
            if dim.index < dim.size {
                return true;
            }
            let back = dim.stride.saturating_mul(dim.size);
            self.next = self.next.saturating_sub(back);
            dim.index = 0;
        }
        false
    }
}

/// A chunk that is read front to back.
struct ChunkReader {
    runs: Runs,
    elements: Elements,
    /// Bytes of the chunk that were read so far.
    read: usize,
    /// What was read ahead, and how much of it was used.
    buffer: Bytes,
    used: usize,
    ahead: usize,
    hasher: Option<crc32fast::Hasher>,
}

impl ChunkReader {
    fn new(chunk: OpenedChunk, ahead: usize) -> Self {
        let is_checked = match &chunk.elements {
            Elements::Stored(stored) => stored.checked_by.is_some(),
            Elements::Tensor(_) => false,
        };
        Self {
            runs: chunk.runs,
            elements: chunk.elements,
            read: 0,
            buffer: Bytes::new(),
            used: 0,
            ahead,
            hasher: is_checked.then(crc32fast::Hasher::new),
        }
    }

    /// Copies the next run.
    fn copy_run(&mut self, out: &mut Pieces<'_>) -> Result<()> {
        let mut left = self.runs.len;
        while left > 0 {
            if self.used >= self.buffer.len() {
                self.fill(left)?;
            }
            let rest = self.buffer.get(self.used..).unwrap_or_default();
            let now = rest.get(..left.min(rest.len())).unwrap_or_default();
            out.push(now)?;
            self.used = self.used.saturating_add(now.len());
            left = left.saturating_sub(now.len());
        }
        Ok(())
    }

    /// Reads on, `wanted` bytes or as far ahead as is allowed.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        match &self.elements {
            Elements::Tensor(tensor) => {
                // What is gathered is in memory as a whole; the storage must not keep its bytes.
                let held = Storage::new(tensor.storage().load()?);
                let tensor = tensor.over(held, tensor.offset())?;
                self.buffer = match tensor.to_bytes_within(&Limits::default())? {
                    std::borrow::Cow::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
                    std::borrow::Cow::Owned(bytes) => bytes.into(),
                };
            }
            Elements::Stored(stored) => {
                let left = self.runs.total.saturating_sub(self.read);
                let now = wanted.clamp(self.ahead, CHUNK_BYTES).min(left);
                self.buffer = Bytes::new();
                self.buffer = stored.range.slice(self.read as u64, now as u64)?.copied()?;
            }
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&self.buffer);
        }
        self.used = 0;
        self.read = self.read.saturating_add(self.buffer.len());
        if self.buffer.is_empty() {
            return Err(Error::malformed("a chunk is shorter than its shape"));
        }
        Ok(())
    }

    /// Compares the checksum when all was read, and gives the memory back.
    fn finish(&mut self) -> Result<()> {
        self.buffer = Bytes::new();
        match (self.hasher.take(), &self.elements) {
            (Some(hasher), Elements::Stored(stored)) => stored.compare(hasher.finalize()),
            _ => Ok(()),
        }
    }
}

/// Collects runs into pieces of some size.
struct Pieces<'a> {
    each: &'a mut dyn FnMut(&[u8]) -> Result<()>,
    waiting: Vec<u8>,
}

impl<'a> Pieces<'a> {
    fn new(each: &'a mut dyn FnMut(&[u8]) -> Result<()>) -> Self {
        Self {
            each,
            waiting: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.waiting.is_empty() && bytes.len() >= MOST_READ_AHEAD {
            return (self.each)(bytes);
        }
        if self.waiting.len().saturating_add(bytes.len()) > CHUNK_BYTES {
            self.flush()?;
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.waiting.is_empty() {
            (self.each)(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    /// Chunks of a tensor whose elements are their places in it, one byte each.
    fn chunk(shape: &[usize], offsets: &[usize], sizes: &[usize]) -> TensorChunk {
        let strides = contiguous_strides(shape).unwrap();
        let count: usize = sizes.iter().product();
        let inner = contiguous_strides(sizes).unwrap();
        let bytes: Vec<u8> = (0..count)
            .map(|flat| {
                let place = (0..sizes.len()).map(|dim| {
                    let index = flat / inner[dim] % sizes[dim];
                    (offsets[dim] + index) * strides[dim]
                });
                u8::try_from(place.sum::<usize>()).unwrap()
            })
            .collect();
        TensorChunk {
            offsets: offsets.to_vec(),
            tensor: Tensor::from_bytes(Dtype::UInt8, sizes, bytes).unwrap(),
        }
    }

    fn joined(shape: &[usize], chunks: Vec<TensorChunk>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        JoinedTensor::new(1, shape.to_vec(), Box::new(chunks)).chunks(&mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(out)
    }

    #[test]
    fn boxes_become_a_whole_in_whatever_order_they_are() {
        let shape = [3, 4, 5];
        let chunks = vec![
            chunk(&shape, &[1, 0, 2], &[2, 4, 3]),
            chunk(&shape, &[0, 3, 0], &[1, 1, 5]),
            chunk(&shape, &[1, 0, 0], &[2, 4, 2]),
            chunk(&shape, &[3, 0, 0], &[0, 4, 5]),
            chunk(&shape, &[0, 0, 0], &[1, 3, 5]),
        ];
        let expected: Vec<u8> = (0..60).collect();
        assert_eq!(joined(&shape, chunks).unwrap(), expected);
    }

    #[test]
    fn a_scalar_is_a_chunk_without_dimensions() {
        assert_eq!(joined(&[], vec![chunk(&[], &[], &[])]).unwrap(), [0]);
    }

    #[test]
    fn holes_and_overlaps_are_noticed() {
        let shape = [4, 2];
        let first = chunk(&shape, &[0, 0], &[2, 2]);
        let overlapping = vec![first.clone(), chunk(&shape, &[1, 0], &[3, 2])];
        let with_hole = vec![first.clone(), chunk(&shape, &[3, 0], &[1, 2])];
        for chunks in [overlapping, with_hole, vec![first]] {
            let error = joined(&shape, chunks).unwrap_err();
            assert_eq!(error.name(), "malformed", "{error}");
        }
    }
}
