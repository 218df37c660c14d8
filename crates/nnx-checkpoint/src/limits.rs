//! How much a file may make us do.

use crate::setters::setters;

/// Bounds on the work and memory that one file may ask for. Every default is finite and far above
/// what real checkpoints need; each field says its unit.
///
/// ```
/// use nnx_checkpoint::Limits;
///
/// let limits = Limits::default().max_pickle_nodes(1_000_000);
/// assert_eq!(limits.max_pickle_nodes, 1_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Entries that an archive may list. Default: 4,194,304.
    pub max_zip_entries: u64,
    /// Bytes that all deflated entries of an archive may inflate to together, and that one compressed
    /// item of a distributed checkpoint may inflate to. Default: 4 GiB.
    pub max_inflated_bytes: u64,
    /// Bytes of a pickle program. Default: 256 MiB.
    pub max_pickle_bytes: u64,
    /// Objects that a pickle may create, and members of objects that a listing follows: a byte of
    /// the file can ask for one, which then takes some fifty bytes of memory. Default: 8,388,608.
    pub max_pickle_nodes: u64,
    /// Memo slots that a pickle may fill. Default: 8,388,608.
    pub max_memo_entries: u64,
    /// Values that a configuration may expand to: a pickle shares objects, a configuration does not.
    /// Default: 1,000,000.
    pub max_values: u64,
    /// Nesting of objects that a walk or a write follows, and of values in a configuration (there
    /// never more than its JSON form can hold). Default: 1,000, CPython's own bound.
    pub max_depth: u64,
    /// Bytes of a safetensors header. Default: 100,000,000, the format's own bound.
    pub max_header_bytes: u64,
    /// Tensors and other values that a listing may name. A file can name one value in many ways
    /// without growing. Default: 4,194,304.
    pub max_listed: u64,
    /// Bytes of all names of a listing together. Default: 128 MiB.
    pub max_name_bytes: u64,
    /// Bytes that a listing may take for names beyond one for each object of the file: those of the
    /// name and 128 more. A value in lists within lists has a name for each way that leads there,
    /// and a file of some hundred bytes has millions of ways. Default: 32 MiB.
    pub max_shared_name_bytes: u64,
    /// Files that the index of a sharded checkpoint may name. Default: 10,000.
    pub max_shards: u64,
    /// Chunks that the `.metadata` of a distributed checkpoint may list, of all ranks together: a model
    /// of a thousand tensors with two moments has three million on a thousand ranks. Each takes about
    /// two hundred bytes of memory while the file is read. A `.metadata` may have 256 bytes and 16
    /// values in containers for each of them as well. Default: 4,194,304.
    pub max_chunks: u64,
    /// Bytes that a tensor may need beyond those of its storage, as a broadcast view does when it
    /// is gathered; when tensors are written, those that all of them together need so, where each
    /// storage may be written twice, as that of tied weights is. Default: 1 GiB.
    pub max_expanded_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_zip_entries: 1 << 22,
            max_inflated_bytes: 1 << 32,
            max_pickle_bytes: 1 << 28,
            max_pickle_nodes: 1 << 23,
            max_memo_entries: 1 << 23,
            max_values: 1_000_000,
            max_depth: 1_000,
            max_header_bytes: 100_000_000,
            max_listed: 1 << 22,
            max_name_bytes: 1 << 27,
            max_shared_name_bytes: 1 << 25,
            max_shards: 10_000,
            max_chunks: 1 << 22,
            max_expanded_bytes: 1 << 30,
        }
    }
}

impl Limits {
    /// No bound at all: for files that you wrote yourself.
    pub fn no_limits() -> Self {
        Self {
            max_zip_entries: u64::MAX,
            max_inflated_bytes: u64::MAX,
            max_pickle_bytes: u64::MAX,
            max_pickle_nodes: u64::MAX,
            max_memo_entries: u64::MAX,
            max_values: u64::MAX,
            max_depth: u64::MAX,
            max_header_bytes: u64::MAX,
            max_listed: u64::MAX,
            max_name_bytes: u64::MAX,
            max_shared_name_bytes: u64::MAX,
            max_shards: u64::MAX,
            max_chunks: u64::MAX,
            max_expanded_bytes: u64::MAX,
        }
    }

    setters! {
        max_zip_entries(value: u64) = value;
        max_inflated_bytes(value: u64) = value;
        max_pickle_bytes(value: u64) = value;
        max_pickle_nodes(value: u64) = value;
        max_memo_entries(value: u64) = value;
        max_values(value: u64) = value;
        max_depth(value: u64) = value;
        max_header_bytes(value: u64) = value;
        max_listed(value: u64) = value;
        max_name_bytes(value: u64) = value;
        max_shared_name_bytes(value: u64) = value;
        max_shards(value: u64) = value;
        max_chunks(value: u64) = value;
        max_expanded_bytes(value: u64) = value;
    }
}
