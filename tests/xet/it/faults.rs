//! Everything that goes wrong between a client and the storage, and what comes of it.

use nnx_hub::ErrorKind;
use nnx_hub_server::{Action, Fault, WRITE_TOKEN};
use nnx_xet_tests::noise;

use super::desk::{Desk, FILE, REPO};

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// The right bytes by way of Xet, and nothing is said.
    Unmoved,
    /// The right bytes by way of Xet, after another try of ours, which a note tells.
    Recovered,
    /// The right bytes the ordinary way, and a note says why.
    Ordinary,
    /// A file that changed.
    Changed,
}

use Outcome::{Changed, Ordinary, Recovered, Unmoved};

const GUIDE: &str = include_str!("../../../docs/hub.md");

/// The guide has the fault in one of its tables, with what comes of it.
#[track_caller]
fn check_told(label: &str, outcome: Outcome) {
    let outcome = match outcome {
        Unmoved => "no effect",
        Recovered => "recovered",
        Ordinary => "the ordinary way",
        Changed => "error: changed",
    };
    let row = format!("| {label} | {outcome} |");
    assert!(
        GUIDE.lines().any(|line| line == row),
        "the guide lacks {row}"
    );
}

/// What came of a transfer that gave the right bytes.
#[track_caller]
fn outcome(desk: &Desk, label: &str) -> Outcome {
    let notes = desk.notes();
    for note in &notes {
        assert!(
            !note.contains(WRITE_TOKEN) && !note.contains("s3cret"),
            "{note}"
        );
    }
    let falls_back = notes
        .iter()
        .filter(|note| note.starts_with("Xet does not "));
    let falls_back = falls_back.count();
    let times = usize::from(desk.is_ordinary());
    assert_eq!(
        falls_back,
        times,
        "{label}: {notes:?} {:?}",
        desk.server.seen()
    );
    match (falls_back, notes.is_empty()) {
        (0, true) => Unmoved,
        (0, false) => Recovered,
        _ => Ordinary,
    }
}

/// Nothing of the cache is unfinished.
#[track_caller]
pub(super) fn check_cache(desk: &Desk) {
    let root = desk.home.path().join("hub/models--alice--model/blobs");
    for blob in std::fs::read_dir(root).into_iter().flatten() {
        let path = blob.unwrap().path();
        assert!(path.extension().is_none(), "{} is left", path.display());
    }
}

/// Downloads under a fault that begins when the file is in the storage.
#[track_caller]
fn down(label: &str, cause: impl Fn(&Desk), expected: Outcome) {
    let desk = Desk::new();
    let bytes = noise(300 << 10, 1);
    desk.push(&[(FILE, &bytes)]).unwrap();
    desk.notes();
    desk.server.calm();
    cause(&desk);
    let folder = desk.pull().unwrap();
    assert!(
        std::fs::read(folder.join(FILE)).unwrap() == bytes,
        "{label}"
    );
    let found = outcome(&desk, label);
    assert_eq!(found, expected, "{label}: {:?}", desk.server.seen());
    check_cache(&desk);
    check_told(label, expected);
    // The fault is over, for the session too.
    desk.server.calm();
    let bytes = noise(300 << 10, 3);
    desk.push(&[("next.bin", &bytes)]).unwrap();
    assert!(
        std::fs::read(desk.pull().unwrap().join("next.bin")).unwrap() == bytes,
        "{label}"
    );
    assert_eq!(outcome(&desk, label), Unmoved, "{label}, afterwards");
}

/// Uploads under a fault; the commit is one.
#[track_caller]
fn up(label: &str, cause: impl Fn(&Desk), expected: Outcome) {
    let desk = Desk::new();
    let bytes = noise(300 << 10, 1);
    cause(&desk);
    desk.push(&[(FILE, &bytes)]).unwrap();
    let found = outcome(&desk, label);
    assert_eq!(found, expected, "{label}: {:?}", desk.server.seen());
    assert_eq!(desk.server.commits(REPO).len(), 2, "{label}");
    assert!(desk.server.files(REPO, "main")[FILE] == bytes, "{label}");
    check_told(label, expected);
}

fn status(status: u16) -> Action {
    Action::Status(status, Vec::new(), String::new())
}

/// A fault of requests for parts.
fn of_parts(action: Action) -> impl Fn(&Desk) {
    of("/v1/fetch_term", action, 1)
}

/// A fault of the next requests whose path has a text.
fn of(path: &'static str, action: Action, times: usize) -> impl Fn(&Desk) {
    move |desk| {
        let fault = Fault::new(path, action.clone()).times(times);
        desk.server.fault(fault);
    }
}

const FOR_EVER: usize = 999;

#[test]
fn downloads_that_are_cut() {
    down("a part cut off, once", of_parts(Action::Cut(1000)), Unmoved);
    down(
        "a part cut off each time",
        of("/v1/fetch_term", Action::Cut(1000), FOR_EVER),
        Ordinary,
    );
    down(
        "a short part with a matching length",
        of("/v1/fetch_term", Action::Truncate(1000), FOR_EVER),
        Ordinary,
    );
    down(
        "the list of parts cut off each time",
        of("/reconstructions/", Action::Cut(10), FOR_EVER),
        Ordinary,
    );
}

#[test]
fn downloads_that_are_wrong() {
    down(
        "a byte of a part flipped each time",
        of("/v1/fetch_term", Action::Corrupt, FOR_EVER),
        Ordinary,
    );
    down(
        "the parts of another file",
        |desk| {
            desk.push(&[("other.bin", &noise(300 << 10, 2))]).unwrap();
            let hash = desk.server.xet_hash(REPO, "other.bin").unwrap();
            desk.server.set_xet_hash(&hash);
        },
        Ordinary,
    );
    down(
        "a file that the storage does not have",
        |desk| desk.server.set_xet_hash(&"0".repeat(64)),
        Ordinary,
    );
}

#[test]
fn tokens_of_downloads() {
    down(
        "a token that has expired",
        |desk| desk.server.set_xet_token_time(-60),
        Unmoved,
    );
    down(
        "a token that the storage refuses",
        of("/reconstructions/", status(401), FOR_EVER),
        Ordinary,
    );
    down(
        "no token, once",
        of("xet-read-token", status(503), 1),
        Recovered,
    );
    down(
        "no token",
        of("xet-read-token", status(503), FOR_EVER),
        Ordinary,
    );
}

#[test]
fn storage_that_is_down() {
    down(
        "503 of the storage, once",
        of("/reconstructions/", status(503), 1),
        Unmoved,
    );
    down(
        "503 of the storage for ever",
        of("/reconstructions/", status(503), FOR_EVER),
        Ordinary,
    );
    down(
        "nobody listens at the storage's address",
        |desk| desk.server.set_xet_address("http://127.0.0.1:9"),
        Ordinary,
    );
    down(
        "an address of the storage that is not followed",
        |desk| desk.server.set_xet_address("file:///etc"),
        Ordinary,
    );
}

#[test]
fn storage_that_is_slow() {
    down(
        "slow parts",
        of("/v1/fetch_term", Action::Trickle(32 << 10, 20), FOR_EVER),
        Unmoved,
    );
    down(
        "a storage that is silent",
        of("/v1/fetch_term", Action::Slow(8000), FOR_EVER),
        Ordinary,
    );
}

#[test]
fn uploads() {
    up(
        "503 for parts, once",
        of("/v1/xorb", status(503), 1),
        Unmoved,
    );
    up(
        "503 for parts for ever",
        of("/v1/xorb", status(503), FOR_EVER),
        Ordinary,
    );
    up(
        "parts refused",
        of("/v1/xorb", status(403), FOR_EVER),
        Ordinary,
    );
    up(
        "the list of parts refused",
        of("/shards", status(400), FOR_EVER),
        Ordinary,
    );
    up(
        "reply to the parts lost",
        of("/v1/xorb", Action::Late, 1),
        Unmoved,
    );
    up(
        "no token for an upload",
        of("xet-write-token", status(503), FOR_EVER),
        Ordinary,
    );
    up(
        "nobody listens at the storage's address",
        |desk| desk.server.set_xet_address("http://127.0.0.1:9"),
        Ordinary,
    );
}

#[test]
fn a_file_that_changes_while_it_is_sent_is_not_committed() {
    use nnx_hub::{Direction, Event, UploadOptions};
    use std::sync::Arc;

    let desk = Desk::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    std::fs::write(&path, noise(1 << 20, 1)).unwrap();
    let changing = path.clone();
    // The first piece was read; the others are not the hashed ones.
    let change = move |event: &Event<'_>| {
        if let Event::Advanced {
            direction: Direction::Up,
            done,
            total,
            ..
        } = event
            && done < total
        {
            std::fs::write(&changing, noise(1 << 20, 2)).unwrap();
        }
    };
    let hub = desk.hub.clone().progress(Arc::new(change));
    let options = UploadOptions::default();
    let error = hub.upload_folder(folder.path(), &super::desk::repo(), &options);
    let error = error.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Changed { .. }), "{error}");
    assert_eq!(desk.server.commits(REPO).len(), 1);
    check_told("a file changes while it is sent to the storage", Changed);
}
