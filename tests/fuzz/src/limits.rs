//! How much a body does with one input.

use nnx_checkpoint::Limits;

/// Limits under which any input is done in milliseconds.
pub(crate) fn limits() -> Limits {
    Limits::default()
        .max_zip_entries(1 << 12)
        .max_inflated_bytes(1 << 20)
        .max_pickle_bytes(1 << 22)
        .max_pickle_nodes(1 << 20)
        .max_memo_entries(1 << 20)
        .max_header_bytes(1 << 20)
        .max_expanded_bytes(1 << 20)
}

/// Bytes that a body copies out of one input before it stops asking for more.
pub(crate) const ENOUGH_BYTES: usize = 1 << 24;
