//! Answers from the journal of a run, kept from when it was loaded.

use crate::epochs::EpochMetrics;

/// Answers from the manifest, the index and the rows of a journal, read once while the run was
/// loaded. They are about the records up to the run's last one, and records are only ever appended to
/// a journal, so that they stay true.
#[derive(Clone, Debug)]
pub(super) struct JournalCache {
    /// Records up to the run's last one; `None` if they cannot be counted.
    pub(super) record_count: Option<u64>,
    /// The epochs of the journal's rows; `None` if the rows cannot be read.
    pub(super) epochs: Option<Vec<EpochMetrics>>,
}
