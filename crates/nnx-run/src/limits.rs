//! The limits on what the files of a run can make this crate do. Real runs stay far below them.

/// Bytes of a YAML file.
pub const MAX_YAML_BYTES: u64 = 4 << 20;

/// Values of a YAML file after its aliases are expanded.
pub const MAX_YAML_VALUES: u64 = 1_000_000;

/// Nesting of a YAML file's collections.
pub const MAX_YAML_DEPTH: u64 = 64;

/// Bytes of a history file, and of the last records of a journal.
pub const MAX_HISTORY_BYTES: u64 = 1 << 30;

/// Records of a history file; a record takes about a kilobyte of memory.
pub const MAX_HISTORY_RECORDS: u64 = 1 << 21;

/// Bytes of a history journal's index; a chunk takes about two hundred of them.
pub const MAX_INDEX_BYTES: u64 = 1 << 26;

/// Bytes of one chunk of a history journal, which is in memory as a whole.
pub const MAX_CHUNK_BYTES: u64 = 1 << 28;

/// Bytes of a history journal's epochs; an epoch takes about a hundred and fifty of them.
pub const MAX_EPOCH_ROWS_BYTES: u64 = 1 << 26;

/// Bytes of a manifest.
pub const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Values of a training state after the objects that its pickle shares are expanded.
pub const MAX_STATE_VALUES: u64 = 1 << 21;

/// Nesting of a training state's collections.
pub const MAX_STATE_DEPTH: u64 = 200;
