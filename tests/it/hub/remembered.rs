//! Files of the cache that were verified are not read again until they change.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nnx_hub::{ErrorKind, Hub, SnapshotOptions};

use super::desk::{Desk, fixture, repo};
use super::loading::check_same;

fn online() -> SnapshotOptions {
    SnapshotOptions::default()
}

fn offline() -> SnapshotOptions {
    SnapshotOptions::default().local_files_only(true)
}

fn root(desk: &Desk) -> PathBuf {
    desk.cache.path().join("models--alice--model")
}

fn record(desk: &Desk) -> PathBuf {
    root(desk).join("verified.json")
}

/// The weights in the cache.
fn blob(desk: &Desk) -> PathBuf {
    let folder = desk.hub.snapshot(&repo(), &online()).unwrap();
    fs::canonicalize(folder.join("model.safetensors")).unwrap()
}

/// Flips a byte and gives the file back its time of modification. The time of the inode cannot be
/// set, so this is noticed.
fn flip(path: &Path) {
    let modified = path.metadata().unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(path, bytes).unwrap();
    set_modified(path, modified);
}

fn set_modified(path: &Path, time: SystemTime) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(time)).unwrap();
}

/// A record in which the files have the stamps that they have now, as if their times could be set.
#[cfg(unix)]
fn forge(desk: &Desk) {
    use std::os::unix::fs::MetadataExt;

    let text = fs::read_to_string(record(desk)).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (name, file) in json["files"].as_object_mut().unwrap() {
        let about = fs::metadata(root(desk).join(name)).unwrap();
        file["ctime"] = (about.ctime() * 1_000_000_000 + about.ctime_nsec()).into();
    }
    fs::write(record(desk), json.to_string()).unwrap();
}

#[track_caller]
fn check_damaged(hub: &Hub, options: &SnapshotOptions) {
    let error = hub.snapshot(&repo(), options).unwrap_err();
    let ErrorKind::IncompleteSnapshot { missing, .. } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(missing, &["model.safetensors"]);
}

/// Whether a call reads a file: with a damaged file, its error shows it.
#[cfg(unix)]
#[test]
fn what_was_verified_is_not_read_again() {
    for symlinks in [true, false] {
        let mut desk = Desk::in_memory();
        desk.seed();
        if !symlinks {
            desk.hub = desk.without_symlinks();
        }
        let blob = blob(&desk);
        flip(&blob);
        check_damaged(&desk.hub, &offline());
        // A byte that flips without another time is for the full check to find.
        forge(&desk);
        desk.hub.snapshot(&repo(), &offline()).unwrap();
        desk.hub.snapshot(&repo(), &online()).unwrap();
        let full = desk.hub.clone().verify_cached(true);
        check_damaged(&full, &offline());
        check_same(&full.snapshot(&repo(), &online()).unwrap());
        check_same(&desk.hub.snapshot(&repo(), &offline()).unwrap());
    }
}

#[test]
fn every_change_is_noticed() {
    type Change = fn(&Path);
    let changes: [Change; 5] = [
        flip,
        |path| fs::write(path, vec![b'x'; 844]).unwrap(),
        |path| fs::write(path, "short").unwrap(),
        // Another file, with the same time.
        |path| {
            let modified = path.metadata().unwrap().modified().unwrap();
            let other = path.with_file_name("other");
            fs::write(&other, vec![b'x'; 844]).unwrap();
            set_modified(&other, modified);
            fs::rename(other, path).unwrap();
        },
        // An older one.
        |path| {
            fs::write(path, vec![b'x'; 844]).unwrap();
            set_modified(path, SystemTime::now() - Duration::from_secs(86_400));
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let desk = Desk::in_memory();
        desk.seed();
        let blob = blob(&desk);
        assert_eq!(fs::read(&blob).unwrap().len(), 844, "{number}");
        change(&blob);
        check_damaged(&desk.hub, &offline());
        check_same(&desk.hub.snapshot(&repo(), &online()).unwrap());
    }
}

/// A file that was touched or put there by another program is hashed once.
#[cfg(unix)]
#[test]
fn what_others_have_put_there_is_read_once() {
    let desk = Desk::in_memory();
    desk.seed();
    let blob = blob(&desk);
    let noted = fs::read(record(&desk)).unwrap();
    fs::remove_file(record(&desk)).unwrap();
    desk.hub.snapshot(&repo(), &offline()).unwrap();
    assert_eq!(fs::read(record(&desk)).unwrap(), noted);
    let touched = SystemTime::now() - Duration::from_secs(60);
    set_modified(&blob, touched);
    desk.hub.snapshot(&repo(), &offline()).unwrap();
    assert_ne!(fs::read(record(&desk)).unwrap(), noted);
    flip(&blob);
    forge(&desk);
    desk.hub.snapshot(&repo(), &offline()).unwrap();
}

/// Nanoseconds since 1970 as 64 bits end in 2262. Such a file is hashed at each use.
#[cfg(unix)]
#[test]
fn a_time_of_a_later_century_is_not_recorded() {
    let desk = Desk::in_memory();
    desk.seed();
    let blob = blob(&desk);
    let year_2300 = SystemTime::UNIX_EPOCH + Duration::from_millis(10_413_792_000_500);
    set_modified(&blob, year_2300);
    check_same(&desk.hub.snapshot(&repo(), &offline()).unwrap());
    let mut bytes = fs::read(&blob).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&blob, bytes).unwrap();
    set_modified(&blob, year_2300);
    check_damaged(&desk.hub, &offline());
}

#[test]
fn a_record_that_is_none_is_not_used() {
    let desk = Desk::in_memory();
    desk.seed();
    let blob = blob(&desk);
    flip(&blob);
    for text in [
        "",
        "[]",
        "{\"format_version\": 2, \"files\": {}}",
        "{\"files\": 3}",
    ] {
        fs::write(record(&desk), text).unwrap();
        check_damaged(&desk.hub, &offline());
    }
    // A folder is in its place.
    fs::remove_file(record(&desk)).unwrap();
    fs::create_dir(record(&desk)).unwrap();
    check_damaged(&desk.hub, &offline());
    check_same(&desk.hub.snapshot(&repo(), &online()).unwrap());
}

#[test]
fn processes_do_not_lose_what_others_have_noted() {
    let desk = Desk::in_memory();
    let names: Vec<String> = (0..24).map(|number| format!("{number}.bin")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), name.as_bytes()))
        .collect();
    desk.state().seed(super::desk::REPO, &files);
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| {
                let wanted = online().allow_patterns([name.as_str()]);
                desk.hub.snapshot(&repo(), &wanted).unwrap();
            });
        }
    });
    let json: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&fs::read(record(&desk)).unwrap()).unwrap();
    assert_eq!(json["files"].as_object().unwrap().len(), names.len());
    // Files that are gone are forgotten.
    fs::remove_dir_all(root(&desk).join("blobs")).unwrap();
    let wanted = online().allow_patterns(["1.bin"]);
    desk.hub.snapshot(&repo(), &wanted).unwrap();
    let json: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&fs::read(record(&desk)).unwrap()).unwrap();
    assert_eq!(json["files"].as_object().unwrap().len(), 1);
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_written_is_read_each_time() {
    let desk = Desk::in_memory();
    desk.seed();
    let blob = blob(&desk);
    fs::remove_file(record(&desk)).unwrap();
    // A folder with a file in it is in the place of the record, so the administrator cannot write it
    // either.
    fs::create_dir(record(&desk)).unwrap();
    fs::write(record(&desk).join("x"), "").unwrap();
    check_same(&desk.hub.snapshot(&repo(), &offline()).unwrap());
    flip(&blob);
    check_damaged(&desk.hub, &offline());
}

#[test]
fn the_fixture_is_as_long_as_these_tests_say() {
    let weights = fixture().join("model.safetensors");
    assert_eq!(weights.metadata().unwrap().len(), 844);
}
