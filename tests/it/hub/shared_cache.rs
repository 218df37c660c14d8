//! A cache on a disk without symbolic links, and one whose notes others have made.

use std::fs;
use std::path::PathBuf;

use nnx_hub::{ErrorKind, Hub, SnapshotOptions};

use super::desk::{Desk, REPO, repo};
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

#[track_caller]
fn check_downloads(desk: &Desk, hub: &Hub, expected: usize) {
    desk.state().calm();
    let folder = hub.snapshot(&repo(), &online()).unwrap();
    check_same(&folder);
    let seen = desk.state().seen().into_iter();
    let resolved = seen.filter(|seen| seen.target.contains("/resolve/"));
    assert_eq!(resolved.count(), expected);
}

#[test]
fn files_arrive_where_there_are_no_symbolic_links() {
    let desk = Desk::in_memory();
    desk.seed();
    let hub = desk.without_symlinks();
    check_downloads(&desk, &hub, 4);
    let folder = hub.snapshot(&repo(), &offline()).unwrap();
    check_same(&folder);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert!(!path.is_symlink(), "{}", path.display());
    }
    // Nothing is downloaded twice, by either kind of client.
    check_downloads(&desk, &hub, 0);
    check_downloads(&desk, &desk.hub, 0);
    // A file that was damaged is noticed, and comes again.
    fs::write(folder.join("config.json"), "{}").unwrap();
    let error = hub.snapshot(&repo(), &offline()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::IncompleteSnapshot { .. }),
        "{error}"
    );
    check_downloads(&desk, &hub, 1);
}

/// The official client moves a new file into the snapshot where there are no links, so that there is
/// no blob of it.
#[test]
fn files_that_the_official_client_has_moved_into_the_snapshot_count() {
    let desk = Desk::in_memory();
    desk.seed();
    let hub = desk.without_symlinks();
    hub.snapshot(&repo(), &online()).unwrap();
    for blob in fs::read_dir(root(&desk).join("blobs")).unwrap() {
        fs::remove_file(blob.unwrap().path()).unwrap();
    }
    check_downloads(&desk, &hub, 0);
    check_same(&hub.snapshot(&repo(), &offline()).unwrap());
}

/// A note of `dev` is a file where a note of `dev/1` wants a folder; with `huggingface_hub` 2.4.0
/// `snapshot_download` of both revisions gives the files and warns.
#[test]
fn a_branch_below_the_name_of_another_is_downloaded_without_a_note() {
    for branches in [["dev", "dev/1"], ["dev/1", "dev"]] {
        let desk = Desk::in_memory();
        let commit = desk.seed();
        for branch in branches {
            desk.state().branch(REPO, branch);
        }
        for branch in branches {
            let wanted = online().revision(branch);
            check_same(&desk.hub.snapshot(&repo(), &wanted).unwrap());
        }
        let [first, second] = branches;
        let noted = |branch: &str| desk.hub.snapshot(&repo(), &offline().revision(branch));
        check_same(&noted(first).unwrap());
        let error = noted(second).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::NotCached { .. }),
            "{error}"
        );
        check_same(&noted(&commit).unwrap());
        let notes = desk.notes();
        let told = notes.iter().filter(|note| note.contains(second));
        assert_eq!(told.count(), 1, "{notes:?}");
    }
}

/// As `filelock` makes them for `huggingface_hub`, so that a group may share a cache.
#[cfg(unix)]
#[test]
fn lock_files_may_be_locked_by_the_group() {
    use std::os::unix::fs::PermissionsExt;

    let desk = Desk::in_memory();
    desk.seed();
    desk.hub.snapshot(&repo(), &online()).unwrap();
    let locks = desk.cache.path().join(".locks/models--alice--model");
    let locks: Vec<PathBuf> = fs::read_dir(locks)
        .unwrap()
        .map(|lock| lock.unwrap().path())
        .collect();
    assert_eq!(locks.len(), 4);
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for lock in &locks {
        assert_eq!(mode(lock), 0o664, "{}", lock.display());
        // An earlier version has made them so.
        fs::set_permissions(lock, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let again = online().force_download(true);
    desk.hub.snapshot(&repo(), &again).unwrap();
    for lock in &locks {
        assert_eq!(mode(lock), 0o664, "{}", lock.display());
    }
}

/// The lock would be somewhere else, or waited for without an end.
#[cfg(unix)]
#[test]
fn a_lock_file_that_is_a_link_is_refused() {
    let desk = Desk::in_memory();
    desk.seed();
    desk.hub.snapshot(&repo(), &online()).unwrap();
    let locks = desk.cache.path().join(".locks/models--alice--model");
    for lock in fs::read_dir(&locks).unwrap() {
        let path = lock.unwrap().path();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    }
    let again = online().force_download(true);
    let error = desk.hub.snapshot(&repo(), &again).unwrap_err();
    assert!(error.to_string().contains("lock file"), "{error}");
}
