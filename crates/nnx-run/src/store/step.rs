//! The steps of saving a checkpoint.

/// A step that a save has just finished, in this order. A save without a training state skips
/// [`StateWritten`](Self::StateWritten) and [`CopyWritten`](Self::CopyWritten).
///
/// If the process stops between two steps, the old checkpoint or the new one is complete, and a
/// manifest describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SaveStep {
    /// The save holds the lock of the checkpoint.
    Locked,
    /// The checkpoint is written under a temporary name.
    CheckpointStaged,
    /// The training state is written, under a name with the id of this save.
    StateWritten,
    /// The staged manifest is written.
    ManifestStaged,
    /// The new checkpoint has replaced the old one.
    CheckpointPublished,
    /// The new manifest has replaced the old one.
    ManifestPublished,
    /// The staged manifest is removed.
    StagedManifestRemoved,
    /// The folder is flushed to the disk.
    FolderFlushed,
    /// The copy of the training state is written.
    CopyWritten,
    /// The training states of earlier saves are removed.
    OldStatesRemoved,
}

impl SaveStep {
    /// Every step, in order.
    pub const ALL: [Self; 10] = [
        Self::Locked,
        Self::CheckpointStaged,
        Self::StateWritten,
        Self::ManifestStaged,
        Self::CheckpointPublished,
        Self::ManifestPublished,
        Self::StagedManifestRemoved,
        Self::FolderFlushed,
        Self::CopyWritten,
        Self::OldStatesRemoved,
    ];
}
