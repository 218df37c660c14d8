//! How a journal is kept.

use crate::error::{Error, Result};

/// The default number of records in a chunk.
const DEFAULT_CHUNK_SIZE: usize = 250;
/// The default number of records that stay in memory.
const DEFAULT_RETENTION: usize = 1000;

/// How the journal of a training is kept.
///
/// ```
/// use nnx_run::HistoryJournal;
///
/// let spec = HistoryJournal::builder().retention(100).build()?;
/// assert_eq!((spec.retention(), spec.chunk()), (100, 100));
/// assert_eq!(HistoryJournal::default().chunk(), 250);
/// assert!(HistoryJournal::builder().retention(100).chunk_size(101).build().is_err());
/// # Ok::<(), nnx_run::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HistoryJournal {
    retention: usize,
    chunk_size: Option<usize>,
}

/// Makes a [`HistoryJournal`].
#[derive(Clone, Copy, Debug)]
pub struct HistoryJournalBuilder(HistoryJournal);

impl HistoryJournal {
    /// A builder that starts with the defaults.
    pub fn builder() -> HistoryJournalBuilder {
        HistoryJournalBuilder(Self::default())
    }

    /// How many of the last records stay in memory, and are the records of a loaded run. Default:
    /// 1000.
    pub fn retention(&self) -> usize {
        self.retention
    }

    /// The number of records in a chunk, if it was set.
    pub fn chunk_size(&self) -> Option<usize> {
        self.chunk_size
    }

    /// The number of records in a chunk: [`chunk_size`](Self::chunk_size) if it was set, otherwise
    /// 250, or the retention if that is smaller.
    pub fn chunk(&self) -> usize {
        self.chunk_size
            .unwrap_or(DEFAULT_CHUNK_SIZE.min(self.retention))
    }
}

impl HistoryJournalBuilder {
    /// Sets [`HistoryJournal::retention`]. At least 1.
    #[must_use]
    pub fn retention(mut self, records: usize) -> Self {
        self.0.retention = records;
        self
    }

    /// Sets [`HistoryJournal::chunk_size`]. At least 1; at most the retention, because the records of
    /// an incomplete chunk stay in memory.
    #[must_use]
    pub fn chunk_size(mut self, records: impl Into<Option<usize>>) -> Self {
        self.0.chunk_size = records.into();
        self
    }

    /// The journal's settings.
    ///
    /// # Errors
    /// When a number is 0, or the chunk size is larger than the retention.
    pub fn build(self) -> Result<HistoryJournal> {
        let spec = self.0;
        positive("retention", spec.retention)?;
        if let Some(chunk_size) = spec.chunk_size {
            positive("chunk_size", chunk_size)?;
            if chunk_size > spec.retention {
                return Err(Error::malformed(format!(
                    "expected a chunk_size of at most the retention, {}, of a history journal, \
                     found {chunk_size}",
                    spec.retention
                )));
            }
        }
        Ok(spec)
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
    if number == 0 {
        return Err(Error::malformed(format!(
            "expected a {name} of at least 1 of a history journal, found 0"
        )));
    }
    Ok(())
}
