//! The steps of saving a checkpoint.

/// What a save has just done, in this order. A save without training state leaves
/// [`StateWritten`](Self::StateWritten) and [`CopyWritten`](Self::CopyWritten) out.
///
/// A process that stops between any two of them leaves the old checkpoint whole or the new one, and
/// a manifest that tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SaveStep {
    /// It holds the lock of the checkpoint.
    Locked,
    /// The checkpoint is written under a temporary name.
    CheckpointStaged,
    /// The training state is in its place, which carries the id of this save.
    StateWritten,
    /// The manifest stands in the place of the one that is to come.
    ManifestStaged,
    /// The checkpoint is in its place: from here on the new one counts.
    CheckpointPublished,
    /// The manifest is in its place.
    ManifestPublished,
    /// The manifest in the place of the one to come is gone.
    StagedManifestRemoved,
    /// The folder is flushed to the disk.
    FolderFlushed,
    /// The copy of the training state is in its place.
    CopyWritten,
    /// The training states of earlier saves are gone.
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
