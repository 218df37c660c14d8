//! Places within a file.

/// Where in the file bytes are that are looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryPath {
    /// The archive entry, behind that of the archive where it is in one itself.
    pub(super) entry: Option<String>,
    /// The offset of a pickled value that the bytes are the value of: offsets within it would mean
    /// nothing to anyone.
    pub(super) value: Option<u64>,
    /// How many archives and values there are around the bytes.
    pub(super) nesting: usize,
    /// Whether the bytes are the numbers of a tensor: their beginning is looked at, and no more, so
    /// that a scan need not read all of a large file.
    pub(super) is_storage: bool,
    /// Whether the bytes are a pickle of a TorchScript archive, whose program has the classes of
    /// `__torch__`.
    pub(super) is_script: bool,
}

impl EntryPath {
    /// The path of an entry of the archive that is here.
    pub(super) fn entry(&self, name: &str) -> Self {
        let entry = match &self.entry {
            Some(outer) => format!("{outer}/{name}"),
            None => name.to_owned(),
        };
        Self {
            entry: Some(entry),
            value: self.value,
            nesting: self.nesting.saturating_add(1),
            is_storage: false,
            is_script: false,
        }
    }

    /// The path of a value of the pickle that is here.
    pub(super) fn value(&self, offset: Option<u64>) -> Self {
        Self {
            entry: self.entry.clone(),
            value: self.value.or(offset),
            nesting: self.nesting.saturating_add(1),
            is_storage: false,
            is_script: false,
        }
    }
}
