//! Files that go to the storage and come back.

use nnx_hub::{ErrorKind, SnapshotOptions};
use nnx_xet_tests::noise;

use super::desk::{Desk, FILE, REPO, client, repo, settings};

const KIB_64: usize = 64 << 10;

#[test]
fn files_of_all_sizes_come_back_as_they_were() {
    let desk = Desk::new();
    let sizes = [0, 1, KIB_64 - 1, KIB_64, KIB_64 + 1, 9 << 20];
    let files: Vec<(String, Vec<u8>)> = sizes
        .iter()
        .map(|size| (format!("{size}.bin"), noise(*size, *size as u64)))
        .collect();
    let borrowed: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    let upload = desk.push(&borrowed).unwrap();
    assert_eq!(upload.uploaded.len(), sizes.len());
    assert_eq!(desk.server.commits(REPO).len(), 2, "the first one and ours");
    // The Hub takes files without bytes as regular ones.
    for (name, bytes) in &files {
        let is_in_xet = desk.server.xet_hash(REPO, name).is_some();
        assert_eq!(is_in_xet, !bytes.is_empty(), "{name}");
    }
    let folder = desk.pull().unwrap();
    for (name, bytes) in &files {
        assert!(
            std::fs::read(folder.join(name)).unwrap() == *bytes,
            "{name}"
        );
    }
    assert!(!desk.is_ordinary() && !desk.asked_of_xet().is_empty());
    assert_eq!(desk.notes(), [""; 0]);
    // What is there is not asked for again, with the network and without it.
    desk.server.calm();
    desk.pull().unwrap();
    let local = SnapshotOptions::default().local_files_only(true);
    desk.hub.snapshot(&repo(), &local).unwrap();
    assert_eq!(desk.asked_of_xet(), []);
    assert!(!desk.push(&borrowed).unwrap().changed);
}

#[test]
fn of_a_changed_file_only_the_changed_part_is_sent() {
    let desk = Desk::new();
    let mut bytes = noise(16 << 20, 1);
    desk.push(&[(FILE, &bytes)]).unwrap();
    let sent = || -> usize { desk.asked_of_xet().iter().map(|seen| seen.sent).sum() };
    let first = sent();
    assert!(first >= bytes.len(), "{first}");
    let start = 5 << 20;
    bytes[start..start + (160 << 10)].copy_from_slice(&noise(160 << 10, 2));
    desk.server.calm();
    desk.push(&[(FILE, &bytes)]).unwrap();
    let second = sent();
    assert!(second < bytes.len() / 10, "{second} of {first}");
    assert!(std::fs::read(desk.pull().unwrap().join(FILE)).unwrap() == bytes);
    assert!(!desk.is_ordinary());
}

#[test]
fn the_token_of_the_hub_goes_to_the_hub_alone() {
    // The storage of the tests refuses requests with a token of the Hub.
    let desk = Desk::new();
    desk.push(&[(FILE, &noise(KIB_64, 1))]).unwrap();
    desk.pull().unwrap();
    let seen = desk.server.seen();
    assert!(seen.iter().any(|seen| seen.target.starts_with("/v1/")));
    assert!(
        seen.iter().all(|seen| seen.hub || seen.status != 401),
        "{seen:?}"
    );
}

#[test]
fn xet_can_be_turned_off() {
    let desk = Desk::new();
    let bytes = noise(KIB_64, 1);
    desk.push(&[(FILE, &bytes)]).unwrap();
    desk.server.calm();
    let home = tempfile::tempdir().unwrap();
    let mut settings = settings(desk.server.endpoint(), home.path());
    settings.xet = false;
    let hub = client(settings, &Default::default());
    let folder = hub.snapshot(&repo(), &SnapshotOptions::default()).unwrap();
    assert_eq!(std::fs::read(folder.join(FILE)).unwrap(), bytes);
    assert!(desk.is_ordinary());
    assert_eq!(desk.asked_of_xet(), []);
}

#[test]
fn offline_nothing_is_asked() {
    let desk = Desk::new();
    desk.push(&[(FILE, b"weights")]).unwrap();
    desk.server.calm();
    let mut settings = settings(desk.server.endpoint(), desk.home.path());
    settings.offline = true;
    let hub = client(settings, &Default::default());
    let error = hub
        .snapshot(&repo(), &SnapshotOptions::default())
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NotCached { .. }),
        "{error}"
    );
    assert_eq!(desk.server.seen(), []);
}

#[test]
fn a_caller_may_be_in_a_runtime() {
    let desk = Desk::new();
    let bytes = noise(KIB_64, 1);
    for mut runtime in [
        tokio::runtime::Builder::new_multi_thread(),
        tokio::runtime::Builder::new_current_thread(),
    ] {
        runtime.enable_all().build().unwrap().block_on(async {
            desk.push(&[(FILE, &bytes)]).unwrap();
            // It is dropped there, too.
            let (hub, _home) = desk.other();
            let folder = hub.snapshot(&repo(), &SnapshotOptions::default());
            assert_eq!(std::fs::read(folder.unwrap().join(FILE)).unwrap(), bytes);
        });
    }
    assert!(!desk.is_ordinary());
}

#[test]
fn xet_writes_below_the_home_folder_alone() {
    let desk = Desk::new();
    desk.push(&[(FILE, &noise(KIB_64, 1))]).unwrap();
    let entries = std::fs::read_dir(desk.home.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["xet"]);
}
