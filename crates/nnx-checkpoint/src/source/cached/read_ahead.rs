//! Bytes that are read before they are asked for.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;

use crate::source::RangeRead;

/// Places of a source that are read from at a time.
const MAX_STREAMS: usize = 3;
/// Bytes behind the end of a read at which the next one still continues it: the header between two
/// records of an archive.
const SLACK_BYTES: u64 = 128 << 10;
/// Bytes that are read ahead at first; they double with every read.
const FIRST_WINDOW: u64 = 1 << 20;
/// Bytes that are read ahead at most.
const MAX_WINDOW: u64 = 16 << 20;
/// Bytes of one request.
const MAX_PART_BYTES: u64 = 4 << 20;

/// The places from which somebody reads on, the last one used at the end.
#[derive(Debug, Default)]
pub(super) struct ReadAhead(Mutex<Vec<Stream>>);

/// One place.
#[derive(Debug)]
struct Stream {
    /// Where the next read is expected.
    next: u64,
    /// Bytes to read ahead.
    window: u64,
    /// Where the last part ends.
    end: u64,
    parts: VecDeque<Arc<Part>>,
}

/// Bytes that a thread reads.
struct Part {
    start: u64,
    len: u64,
    state: Mutex<PartState>,
    changed: Condvar,
}

enum PartState {
    Reading,
    Read(Bytes),
    Failed,
}

impl ReadAhead {
    /// Expects a read at that place.
    pub(super) fn start(&self, next: u64) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if streams.len() >= MAX_STREAMS {
            streams.remove(0);
        }
        streams.push(Stream {
            next,
            window: FIRST_WINDOW,
            end: next,
            parts: VecDeque::new(),
        });
    }

    /// Fills the start of `into`, as far as its bytes are there or on their way, and says how many they
    /// are; `None` when the read continues no earlier one. A small read is served, but nothing is read
    /// ahead for it; a long one is filled with what is there, so that no second copy of it is made.
    pub(super) fn read(
        &self,
        source: &Arc<dyn RangeRead>,
        offset: u64,
        into: &mut [u8],
        len: u64,
        is_small: bool,
    ) -> Option<usize> {
        let end = offset.saturating_add(into.len() as u64);
        let parts = {
            let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let found = streams.iter().position(|stream| stream.continues(offset));
            let mut stream = streams.remove(found?);
            stream.next = end;
            if !is_small {
                stream.read_ahead(source, offset, end, len);
            }
            let parts = stream.parts_of(offset, end);
            stream.parts.retain(|part| part.end() > end);
            streams.push(stream);
            parts
        };
        Some(copy(&parts, offset, into))
    }
}

impl Stream {
    fn continues(&self, offset: u64) -> bool {
        offset >= self.next && offset <= self.next.saturating_add(SLACK_BYTES)
    }

    /// Begins to read the bytes that are asked for, unless they are many, and those that are expected
    /// next.
    fn read_ahead(&mut self, source: &Arc<dyn RangeRead>, offset: u64, end: u64, len: u64) {
        let wanted = end.saturating_add(self.window).min(len);
        let is_long = end.saturating_sub(offset) > MAX_WINDOW;
        self.end = self.end.max(if is_long { end } else { offset });
        while self.end < wanted {
            let left = wanted.saturating_sub(self.end);
            // A short part would be a request for little.
            if self.end >= end && left < self.window / 2 && wanted < len {
                break;
            }
            let part = Part::read(source, self.end, left.min(MAX_PART_BYTES));
            self.end = part.end();
            self.parts.push_back(part);
        }
        self.window = self.window.saturating_mul(2).min(MAX_WINDOW);
    }

    fn parts_of(&self, offset: u64, end: u64) -> Vec<Arc<Part>> {
        let parts = self.parts.iter();
        let parts = parts.filter(|part| part.start < end && part.end() > offset);
        parts.cloned().collect()
    }
}

/// Fills the start of `into` from parts that follow each other, up to one that is missing or could not
/// be read, and says how many bytes they had.
fn copy(parts: &[Arc<Part>], offset: u64, into: &mut [u8]) -> usize {
    let len = into.len();
    let mut at = offset;
    let mut rest = into;
    for part in parts {
        let Some(bytes) = part.wait() else {
            break;
        };
        let within = at
            .checked_sub(part.start)
            .and_then(|at| usize::try_from(at).ok());
        let Some(bytes) = within.and_then(|within| bytes.get(within..)) else {
            break;
        };
        let count = bytes.len().min(rest.len());
        let (now, later) = rest.split_at_mut(count);
        now.copy_from_slice(bytes.get(..count).unwrap_or_default());
        rest = later;
        at = at.saturating_add(count as u64);
    }
    len.saturating_sub(rest.len())
}

impl Part {
    /// A part that a thread of its own reads.
    fn read(source: &Arc<dyn RangeRead>, start: u64, len: u64) -> Arc<Self> {
        let part = Arc::new(Self {
            start,
            len,
            state: Mutex::new(PartState::Reading),
            changed: Condvar::new(),
        });
        let (reading, source) = (Arc::clone(&part), Arc::clone(source));
        let spawned = thread::Builder::new().spawn(move || {
            // Dropped last, and so whoever waits is told even if the source panics.
            let done = Done(&reading);
            let bytes = usize::try_from(len).ok().and_then(|len| {
                let mut bytes = vec![0; len];
                source.read_at(start, &mut bytes).ok()?;
                Some(bytes)
            });
            if let Some(bytes) = bytes {
                done.0.set(PartState::Read(bytes.into()));
            }
        });
        if spawned.is_err() {
            part.set(PartState::Failed);
        }
        part
    }

    fn end(&self) -> u64 {
        self.start.saturating_add(self.len)
    }

    fn set(&self, state: PartState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }

    /// The bytes as soon as they are read; `None` when they could not be: who asks for them reads
    /// them anew, and gets the error.
    fn wait(&self) -> Option<Bytes> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*state {
                PartState::Read(bytes) => return Some(bytes.clone()),
                PartState::Failed => return None,
                PartState::Reading => {}
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Marks a part that was not read as failed.
struct Done<'a>(&'a Part);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, PartState::Reading) {
            *state = PartState::Failed;
            drop(state);
            self.0.changed.notify_all();
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("start", &self.start)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
