//! Damaged files: every call returns.

use bytes::Bytes;
use nnx_checkpoint::NNCheckpoint;
use nnx_tests::Fixture;

#[test]
fn every_feed_forward_fixture_truncated_at_every_length_is_an_error() {
    let mut judged = 0;
    for fixture in Fixture::feed_forward() {
        for (form, path) in fixture.files() {
            let bytes = Bytes::from(std::fs::read(&path).unwrap());
            for length in 0..bytes.len() {
                let outcome = NNCheckpoint::from_bytes(bytes.slice(..length));
                assert!(
                    outcome.is_err(),
                    "{} as {form:?} cut at {length}",
                    fixture.label()
                );
                judged += 1;
            }
        }
    }
    println!("{judged} truncated files judged");
}

#[test]
fn every_feed_forward_fixture_with_a_flipped_bit_returns() {
    let (mut judged, mut refused) = (0, 0);
    for fixture in Fixture::feed_forward() {
        for (_, path) in fixture.files() {
            let bytes = std::fs::read(&path).unwrap();
            // An odd step meets every bit of a byte as it goes along.
            for position in (0..bytes.len() * 8).step_by(13) {
                let mut damaged = bytes.clone();
                damaged[position / 8] ^= 1 << (position % 8);
                if let Ok(checkpoint) = NNCheckpoint::from_bytes(Bytes::from(damaged)) {
                    for (_, tensor) in checkpoint.net_state.tensors() {
                        tensor.to_bytes().map(|bytes| bytes.len()).ok();
                    }
                } else {
                    refused += 1;
                }
                judged += 1;
            }
        }
    }
    assert!(
        refused > judged / 10,
        "only {refused} of {judged} flips were noticed"
    );
    println!("{judged} flipped bits judged, {refused} noticed");
}
