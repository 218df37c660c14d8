//! The cache: its whole files, and the parts that earlier downloads have left.

use std::fs;
use std::path::PathBuf;

use nnx_hub::{ErrorKind, Hub, SnapshotOptions};
use nnx_hub_server::{Action, Fault};

use super::desk::{Desk, fixture, repo};
use super::faults::check_cache;
use super::loading::check_same;

fn online() -> SnapshotOptions {
    SnapshotOptions::default()
}

fn offline() -> SnapshotOptions {
    SnapshotOptions::default().local_files_only(true)
}

/// The cache is known to lack these files.
#[track_caller]
fn check_lacks(hub: &Hub, options: &SnapshotOptions, expected: &[&str]) {
    let error = hub.snapshot(&repo(), options).unwrap_err();
    let ErrorKind::IncompleteSnapshot { missing, .. } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(missing, expected);
    assert!(error.to_string().contains(expected[0]), "{error}");
}

fn root(desk: &Desk) -> PathBuf {
    desk.cache.path().join("models--alice--model")
}

#[test]
fn a_poisoned_cache_is_noticed() {
    for has_listing in [true, false] {
        let desk = Desk::in_memory();
        desk.seed();
        let folder = desk.hub.snapshot(&repo(), &online()).unwrap();
        for (name, damage) in [("model.safetensors", 844), ("config.json", 20)] {
            if !has_listing {
                fs::remove_dir_all(root(&desk).join("trees")).unwrap();
            }
            // Another program has left other bytes of the same length, or fewer bytes.
            let blob = fs::canonicalize(folder.join(name)).unwrap();
            fs::write(&blob, vec![b'x'; damage]).unwrap();
            // It stays so until the network is there again.
            check_lacks(&desk.hub, &offline(), &[name]);
            check_lacks(&desk.hub, &offline(), &[name]);
            // Nothing could take its place.
            assert!(blob.exists());
            let error = desk.hub.download(&repo(), name, &offline()).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::IncompleteSnapshot { .. }),
                "{error}"
            );
            desk.hub.download(&repo(), "README.md", &offline()).unwrap();
            check_same(&desk.hub.snapshot(&repo(), &online()).unwrap());
            check_same(&desk.hub.snapshot(&repo(), &offline()).unwrap());
        }
    }
}

#[test]
fn a_part_of_a_repository_is_not_taken_for_all_of_it() {
    let desk = Desk::in_memory();
    desk.seed();
    let wanted = |options: SnapshotOptions| options.allow_patterns(["*.json"]);
    desk.hub.snapshot(&repo(), &wanted(online())).unwrap();
    desk.hub.snapshot(&repo(), &wanted(offline())).unwrap();
    let lacks = [".gitattributes", "README.md", "model.safetensors"];
    check_lacks(&desk.hub, &offline(), &lacks);
    check_lacks(
        &desk.hub,
        &offline().ignore_patterns(["*.md", ".git*"]),
        &["model.safetensors"],
    );
    // A file that is not in the repository is not in the cache either.
    let error = desk.hub.download(&repo(), "none.bin", &offline());
    assert!(matches!(
        error.unwrap_err().kind(),
        ErrorKind::EntryNotFound { .. }
    ));
    // Without a listing, as older tools leave it, nobody can tell.
    fs::remove_dir_all(root(&desk).join("trees")).unwrap();
    desk.hub.snapshot(&repo(), &offline()).unwrap();
    let error = desk.hub.download(&repo(), "none.bin", &offline());
    assert!(matches!(
        error.unwrap_err().kind(),
        ErrorKind::NotCached { .. }
    ));
}

#[test]
fn files_that_are_no_links_are_checked_as_well() {
    let desk = Desk::in_memory();
    desk.seed();
    let folder = desk.hub.snapshot(&repo(), &online()).unwrap();
    // As on a system without links.
    let path = folder.join("config.json");
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    check_same(&desk.hub.snapshot(&repo(), &offline()).unwrap());
    fs::write(&path, "{}").unwrap();
    check_lacks(&desk.hub, &offline(), &["config.json"]);
    check_same(&desk.hub.snapshot(&repo(), &online()).unwrap());
}

/// The folder of the parts of a large file while it is downloaded.
fn leftover(desk: &Desk, bytes: &[u8]) -> PathBuf {
    let weights = fs::read(fixture().join("model.safetensors")).unwrap();
    let tree = desk.hub.tree(&repo(), "main").unwrap();
    let entry = tree.iter().find(|entry| entry.size == weights.len() as u64);
    let blobs = root(desk).join("blobs");
    fs::create_dir_all(&blobs).unwrap();
    let path = blobs.join(format!(
        "{}.1a2b3c4d.incomplete",
        entry.unwrap().digest.hex()
    ));
    fs::write(&path, bytes).unwrap();
    path
}

/// Loads with something left over, and says what of the large file was asked for.
#[track_caller]
fn ranges_with(left: &[u8], fault: Option<Action>) -> Vec<Option<String>> {
    let mut ranges = Vec::new();
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.seed();
        let path = leftover(&desk, left);
        desk.state().calm();
        if let Some(action) = &fault {
            desk.state().fault(Fault::new("/blob/", action.clone()));
        }
        check_same(&desk.hub.snapshot(&repo(), &online()).unwrap());
        assert!(!path.exists(), "it is left still");
        check_cache(&desk);
        let seen = desk.state().seen().into_iter();
        let of_blob = seen.filter(|seen| seen.target.starts_with("/blob/"));
        ranges.push(of_blob.map(|seen| seen.range).collect::<Vec<_>>());
    }
    assert_eq!(ranges[0], ranges[1]);
    ranges.swap_remove(0)
}

#[test]
fn a_download_of_a_stopped_process_goes_on() {
    let weights = fs::read(fixture().join("model.safetensors")).unwrap();
    let from = |byte: usize| Some(format!("bytes={byte}-"));
    assert_eq!(ranges_with(&weights[..300], None), [from(300)]);
    let cut = Some(Action::Cut(100));
    assert_eq!(ranges_with(&weights[..300], cut), [from(300), from(400)]);
    // All of it had arrived, or nothing.
    assert_eq!(ranges_with(&weights, None), []);
    assert_eq!(ranges_with(&[], None), [None]);
    // The bytes that were left are those of another file, or too many.
    assert_eq!(ranges_with(&[b'x'; 300], None), [from(300), None]);
    assert_eq!(ranges_with(&vec![b'x'; weights.len()], None), [None]);
    assert_eq!(ranges_with(&vec![b'x'; weights.len() + 1], None), [None]);
}

#[test]
fn what_another_process_is_writing_is_no_leftover() {
    let desk = Desk::on_loopback();
    desk.seed();
    let weights = fs::read(fixture().join("model.safetensors")).unwrap();
    let path = leftover(&desk, &weights[..300]);
    let name = path.file_name().unwrap().to_str().unwrap();
    let digest = name.split('.').next().unwrap();
    let locks = desk.cache.path().join(".locks/models--alice--model");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{digest}.lock"))).unwrap();
    lock.lock().unwrap();
    let hub = desk.hub.clone();
    let other = std::thread::spawn(move || hub.snapshot(&repo(), &online()));
    // The process that holds the lock finishes its file.
    let is_asked = || {
        let mut seen = desk.state().seen().into_iter();
        seen.any(|seen| seen.target.ends_with("/config.json"))
    };
    while !is_asked() {
        std::thread::yield_now();
    }
    fs::write(&path, &weights).unwrap();
    fs::rename(&path, root(&desk).join("blobs").join(digest)).unwrap();
    drop(lock);
    check_same(&other.join().unwrap().unwrap());
    let seen = desk.state().seen();
    assert!(seen.iter().all(|seen| !seen.target.starts_with("/blob/")));
}

#[test]
fn what_cannot_be_noted_is_no_error() {
    let desk = Desk::in_memory();
    desk.seed();
    // A file is in the folder's place.
    fs::create_dir_all(root(&desk)).unwrap();
    fs::write(root(&desk).join("trees"), "").unwrap();
    check_same(&desk.hub.snapshot(&repo(), &online()).unwrap());
    check_same(&desk.hub.snapshot(&repo(), &offline()).unwrap());
    assert!(root(&desk).join("trees").is_file());
}
