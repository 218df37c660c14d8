//! A process that is killed while it fetches, and started again.

use std::process::{Command, Stdio};
use std::time::Duration;

use nnx_hub::SnapshotOptions;
use nnx_hub_server::{Action, Fault};
use nnx_xet_tests::noise;

use super::desk::{Desk, FILE, client, repo, settings};
use super::faults::check_cache;

/// The test that is the other process.
const CHILD: &str = "killed::fetches_until_it_is_killed";
const ENDPOINT: &str = "NNX_TEST_XET_ENDPOINT";
const HOME: &str = "NNX_TEST_XET_HOME";

#[test]
fn a_killed_download_is_taken_up() {
    let desk = Desk::new();
    let bytes = noise(8 << 20, 1);
    desk.push(&[(FILE, &bytes)]).unwrap();
    desk.server.calm();
    // The first parts come. The list of the next ones takes longer than the process lives.
    let slow = Fault::new("/reconstructions/", Action::Slow(60_000));
    desk.server.fault(slow.skip(1).times(99));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--ignored"])
        .env(ENDPOINT, desk.server.endpoint())
        .env(HOME, desk.home.path())
        .env("HF_XET_RECONSTRUCTION_MIN_RECONSTRUCTION_FETCH_SIZE", "1mb")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let arrived = || {
        let root = desk.home.path().join("hub/models--alice--model/blobs");
        let files = std::fs::read_dir(root).into_iter().flatten();
        let files = files.map(|file| file.unwrap().path());
        // Only the name of a large file begins with a SHA-256.
        let mut files =
            files.filter(|path| path.extension().is_some() && path.file_stem().unwrap().len() > 64);
        files
            .next()
            .map_or(0, |path| path.metadata().unwrap().len())
    };
    while arrived() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let arrived = arrived();
    assert!(0 < arrived && arrived < bytes.len() as u64);
    desk.server.calm();
    let folder = desk.pull().unwrap();
    assert!(std::fs::read(folder.join(FILE)).unwrap() == bytes);
    assert!(!desk.is_ordinary(), "{:?}", desk.notes());
    check_cache(&desk);
    let lists = desk.server.seen();
    let mut lists = lists
        .iter()
        .filter(|seen| seen.target.contains("/reconstructions/"));
    let start = format!("bytes={arrived}-");
    assert!(
        lists.any(|seen| seen
            .range
            .as_ref()
            .is_some_and(|range| range.starts_with(&start))),
        "from {arrived}: {:?}",
        desk.server.seen()
    );
    let row = "| killed while fetching, and started again | no effect |";
    let guide = include_str!("../../../docs/hub.md");
    assert!(
        guide.lines().any(|line| line == row),
        "the guide lacks {row}"
    );
}

#[test]
#[ignore = "the other process of the test above"]
fn fetches_until_it_is_killed() {
    let (Ok(endpoint), Ok(home)) = (std::env::var(ENDPOINT), std::env::var(HOME)) else {
        return;
    };
    let mut settings = settings(&endpoint, home.as_ref());
    settings.timeout = Duration::from_secs(600);
    let hub = client(settings, &Default::default());
    hub.snapshot(&repo(), &SnapshotOptions::default()).unwrap();
}
