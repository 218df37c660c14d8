//! The result of a training.

use nnx_run::NNRun;

use crate::resume_status::ResumeStatus;

/// The result of a training.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trained {
    /// The run, with its records.
    pub run: NNRun,
    /// Whether the training was asked to end from outside. The checkpoint `last` is that of
    /// [`last_epoch`](Self::last_epoch), from which it can be resumed.
    pub interrupted: bool,
    /// Whether a callback ended the training.
    pub stopped: bool,
    /// The last epoch that was saved.
    pub last_epoch: Option<i64>,
    /// The number of updates.
    pub updates: i64,
    /// How the training began.
    pub resume: ResumeStatus,
    /// The warnings, which did not end the training.
    pub warnings: Vec<String>,
}
