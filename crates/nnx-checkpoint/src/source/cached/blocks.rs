//! Blocks of a source, the last ones that were read.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::error::Result;
use crate::source::RangeRead;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 64 << 10;
/// Blocks that are kept.
const MAX_BLOCKS: usize = 64;

/// Blocks by their numbers; the one that was read first goes first.
#[derive(Debug, Default)]
pub(super) struct Blocks(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    blocks: HashMap<u64, Bytes>,
    order: VecDeque<u64>,
}

impl Blocks {
    /// Fills `into` from the blocks. Missing ones are read with one request, from the first of them
    /// to the last.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub(super) fn read(
        &self,
        source: &dyn RangeRead,
        offset: u64,
        into: &mut [u8],
        len: u64,
    ) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let end = offset.saturating_add(into.len() as u64);
        let numbers = offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES);
        let mut blocks = self.kept(numbers.clone());
        let missing = |number: &u64| !blocks.contains_key(number);
        let first = numbers.clone().find(missing);
        let last = numbers.clone().rev().find(missing);
        if let (Some(first), Some(last)) = (first, last) {
            let start = first.saturating_mul(BLOCK_BYTES);
            let stop = last.saturating_add(1).saturating_mul(BLOCK_BYTES).min(len);
            let wanted = usize::try_from(stop.saturating_sub(start)).unwrap_or_default();
            let mut bytes = vec![0; wanted];
            source.read_at(start, &mut bytes)?;
            let fetched = self.put(first, &bytes.into());
            blocks.extend(fetched);
        }
        let mut rest = into;
        let mut at = offset;
        for number in numbers {
            let start = number.saturating_mul(BLOCK_BYTES);
            let within = usize::try_from(at.saturating_sub(start)).unwrap_or_default();
            let block = blocks.get(&number).and_then(|block| block.get(within..));
            let block = block.unwrap_or_default();
            let count = block.len().min(rest.len());
            let (now, later) = rest.split_at_mut(count);
            now.copy_from_slice(block.get(..count).unwrap_or_default());
            rest = later;
            at = at.saturating_add(count as u64);
        }
        Ok(())
    }

    /// Keeps the first bytes of a source of `len` bytes, as far as they fill blocks.
    pub(super) fn put_start(&self, bytes: &[u8], len: u64) {
        let is_all = bytes.len() as u64 >= len;
        let whole = (bytes.len() as u64 / BLOCK_BYTES).saturating_mul(BLOCK_BYTES);
        let count = if is_all { len } else { whole };
        let count = usize::try_from(count).unwrap_or_default();
        self.put(
            0,
            &Bytes::copy_from_slice(bytes.get(..count).unwrap_or_default()),
        );
    }

    fn kept(&self, numbers: std::ops::Range<u64>) -> HashMap<u64, Bytes> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = numbers.filter_map(|number| Some((number, kept.blocks.get(&number)?.clone())));
        blocks.collect()
    }

    /// Keeps blocks, and gives them back.
    fn put(&self, first: u64, bytes: &Bytes) -> Vec<(u64, Bytes)> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = Vec::new();
        let mut rest = bytes.clone();
        for number in first.. {
            if rest.is_empty() {
                break;
            }
            let count = rest
                .len()
                .min(usize::try_from(BLOCK_BYTES).unwrap_or_default());
            // A copy: a slice would keep the whole request in memory.
            let block = Bytes::copy_from_slice(&rest.split_to(count));
            if kept.blocks.insert(number, block.clone()).is_none() {
                kept.order.push_back(number);
            }
            blocks.push((number, block));
        }
        while kept.order.len() > MAX_BLOCKS {
            if let Some(number) = kept.order.pop_front() {
                kept.blocks.remove(&number);
            }
        }
        blocks
    }
}
