//! How a journal is kept.

use crate::error::{Error, Result};

/// Records in a chunk where nothing else was asked for.
const DEFAULT_CHUNK_SIZE: usize = 250;
/// Records that stay in memory where nothing else was asked for.
const DEFAULT_RETENTION: usize = 1000;

/// How the journal of a training is kept.
///
/// ```
/// use nnx_run::HistoryJournal;
///
/// let spec = HistoryJournal::new(100)?;
/// assert_eq!((spec.retention(), spec.chunk()), (100, 100));
/// assert_eq!(HistoryJournal::default().chunk(), 250);
/// assert!(HistoryJournal::new(100)?.with_chunk_size(101).is_err());
/// # Ok::<(), nnx_run::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HistoryJournal {
    retention: usize,
    chunk_size: Option<usize>,
}

impl HistoryJournal {
    /// A journal of which that many of the last records stay in memory, and are what a loaded run
    /// holds.
    ///
    /// # Errors
    /// When the number is 0.
    pub fn new(retention: usize) -> Result<Self> {
        positive("retention", retention)?;
        Ok(Self {
            retention,
            chunk_size: None,
        })
    }

    /// The same journal with that many records in a chunk.
    ///
    /// # Errors
    /// When the number is 0 or larger than the retention: records that wait for their chunk stay in
    /// memory.
    pub fn with_chunk_size(mut self, chunk_size: usize) -> Result<Self> {
        positive("chunk_size", chunk_size)?;
        if chunk_size > self.retention {
            return Err(Error::malformed(format!(
                "expected a chunk_size of at most the retention, {}, of a history journal, found \
                 {chunk_size}",
                self.retention
            )));
        }
        self.chunk_size = Some(chunk_size);
        Ok(self)
    }

    /// How many of the last records stay in memory. Default: 1000.
    pub fn retention(&self) -> usize {
        self.retention
    }

    /// The records of a chunk where they were asked for.
    pub fn chunk_size(&self) -> Option<usize> {
        self.chunk_size
    }

    /// The records of a chunk: what was asked for, else 250, or the retention where that is less.
    pub fn chunk(&self) -> usize {
        self.chunk_size
            .unwrap_or(DEFAULT_CHUNK_SIZE.min(self.retention))
    }
}

impl Default for HistoryJournal {
    fn default() -> Self {
        Self {
            retention: DEFAULT_RETENTION,
            chunk_size: None,
        }
    }
}

fn positive(name: &str, number: usize) -> Result<()> {
    match number {
        0 => Err(Error::malformed(format!(
            "expected a {name} of at least 1 of a history journal, found 0"
        ))),
        _ => Ok(()),
    }
}
