//! A download that is started again after its process was killed.

use nnx_xet_tests::noise;
use sha2::{Digest, Sha256};

use super::desk::{Desk, FILE};
use super::faults::check_cache;

/// Bytes that the killed process has received.
const ARRIVED: usize = 3 << 20;

#[test]
fn the_partial_file_of_a_killed_process_is_taken_up() {
    let desk = Desk::new();
    let bytes = noise(8 << 20, 1);
    desk.push(&[(FILE, &bytes)]).unwrap();
    desk.server.calm();
    let digest = Sha256::digest(&bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let blobs = desk.home.path().join("hub/models--alice--model/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    let partial = blobs.join(format!("{hex}.abcdef12.incomplete"));
    std::fs::write(&partial, &bytes[..ARRIVED]).unwrap();
    let folder = desk.pull().unwrap();
    assert!(std::fs::read(folder.join(FILE)).unwrap() == bytes);
    assert!(!desk.is_ordinary(), "{:?}", desk.notes());
    check_cache(&desk);
    let seen = desk.asked_of_xet();
    let start = format!("bytes={ARRIVED}-");
    let is_rest = |range: &Option<String>| range.as_ref().is_some_and(|it| it.starts_with(&start));
    let mut lists = seen
        .iter()
        .filter(|seen| seen.target.contains("/reconstructions/"));
    assert!(lists.all(|seen| is_rest(&seen.range)), "{seen:?}");
    let row = "| the partial file of a process that was killed while fetching | no effect |";
    let guide = include_str!("../../../docs/hub.md");
    assert!(
        guide.lines().any(|line| line == row),
        "the guide lacks {row}"
    );
}
