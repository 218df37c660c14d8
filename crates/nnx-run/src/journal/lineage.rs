//! Whether a history has the records of earlier runs.

/// The runs whose records a history has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lineage {
    /// The run alone.
    #[default]
    Excluded,
    /// The run, and before it the run that it resumed, up to the epoch from which it did, and so on.
    /// Each epoch occurs once: epochs that the earlier run trained after that are left out.
    Included,
}
