//! Bounds on what a checkpoint of several processes may ask for.

use nnx_checkpoint::{Limits, OpenOptions, verify};

use super::root;

/// The name of the error that a folder of the fixtures gives under some limits.
fn error(folder: &str, limits: Limits) -> Option<String> {
    let options = OpenOptions::default().limits(limits);
    match verify(root().join(folder), &options) {
        Ok(found) => found.faults.first().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn the_chunks_of_all_ranks_count_together() {
    // Each of the two files has 7 chunks or fewer, in 2,400 bytes or fewer.
    let limits = Limits::default();
    let chunks = |max| error("dcp/rank_metadata_w2", limits.max_chunks(max));
    assert_eq!(chunks(1 << 20), None);
    let refused = chunks(10).unwrap();
    assert!(refused.contains("max_chunks"), "{refused}");
}

#[test]
fn a_compressed_item_inflates_within_the_limit() {
    let limits = Limits::default();
    assert_eq!(error("dcp/zstd_w2", limits), None);
    let refused = error("dcp/zstd_w2", limits.max_inflated_bytes(10_000)).unwrap();
    assert!(refused.contains("max_inflated_bytes"), "{refused}");
}
