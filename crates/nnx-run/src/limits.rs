//! How much the files of a run may make us do. Every bound is far above what real runs need.

/// Bytes of a YAML file.
pub const MAX_YAML_BYTES: u64 = 4 << 20;

/// Values that a YAML file may expand to: an alias repeats what it names.
pub const MAX_YAML_VALUES: u64 = 1_000_000;

/// Nesting of a YAML file's collections.
pub const MAX_YAML_DEPTH: u64 = 64;

/// Bytes of a history file, and of the last records of a journal.
pub const MAX_HISTORY_BYTES: u64 = 1 << 30;

/// Records of a history file; one takes about a kilobyte of memory.
pub const MAX_HISTORY_RECORDS: u64 = 1 << 21;

/// Bytes of a history journal's index; a chunk takes about two hundred.
pub const MAX_INDEX_BYTES: u64 = 1 << 26;

/// Bytes of one chunk of a history journal, which is in memory as a whole.
pub const MAX_CHUNK_BYTES: u64 = 1 << 28;

/// Bytes of a history journal's epochs; one takes about a hundred and fifty.
pub const MAX_EPOCH_ROWS_BYTES: u64 = 1 << 26;

/// Bytes of a manifest.
pub const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Values that a training state may expand to: a pickle shares objects, plain data does not.
pub const MAX_STATE_VALUES: u64 = 1 << 21;

/// Nesting of a training state's collections.
pub const MAX_STATE_DEPTH: u64 = 200;
