//! Loading from repositories: the cache, the requests, and the refusals.

use std::path::Path;
use std::sync::{Arc, Mutex};

use nnx_hub::{ErrorKind, Event, Hub, LoadOptions, ModelHubMixin, RepoId, SnapshotOptions};
use nnx_hub_server::READ_TOKEN;
use nnx_net::NNModel;

use super::desk::{Desk, REPO, fixture, repo};

/// Whether a folder has the fixture's files.
#[track_caller]
pub(super) fn check_same(folder: &Path) {
    for name in ["README.md", "config.json", "model.safetensors"] {
        let found = std::fs::read(folder.join(name)).unwrap();
        assert_eq!(
            found,
            std::fs::read(fixture().join(name)).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn a_repository_is_a_model() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        let commit = desk.seed();
        let options = LoadOptions::default().hub(desk.hub.clone());
        let model = NNModel::from_pretrained_with(REPO, &options).unwrap();
        let local = NNModel::from_pretrained(fixture()).unwrap();
        let weights = model.state_dict().unwrap();
        for (name, tensor) in local.state_dict().unwrap().tensors() {
            let same = weights.tensor(name).unwrap().to_bytes().unwrap();
            assert_eq!(same, tensor.to_bytes().unwrap());
        }
        let root = desk.cache.path().join("models--alice--model");
        let main = std::fs::read_to_string(root.join("refs/main")).unwrap();
        assert_eq!(main, commit);
        check_same(&root.join("snapshots").join(&commit));
        // Once more: nothing is downloaded.
        desk.state().calm();
        NNModel::from_pretrained_with(REPO, &options).unwrap();
        let seen = desk.state().seen();
        assert!(
            seen.iter()
                .all(|seen| seen.target.starts_with("/api/models/")),
            "{seen:?}"
        );
        // And without the Hub.
        desk.state().calm();
        let local = LoadOptions::default()
            .hub(desk.hub.clone())
            .local_files_only(true);
        NNModel::from_pretrained_with(REPO, &local).unwrap();
        assert!(desk.state().seen().is_empty());
    }
}

#[test]
fn the_token_is_for_the_hub_alone() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.seed();
        desk.hub
            .snapshot(&repo(), &SnapshotOptions::default())
            .unwrap();
        let seen = desk.state().seen();
        assert!(seen.iter().any(|seen| !seen.hub), "the store was asked");
        for seen in seen {
            assert_eq!(seen.token, seen.hub, "{seen:?}");
        }
        assert!(!format!("{:?}", desk.hub).contains("hf_test"));
    }
}

#[test]
fn a_repository_is_read_at_one_commit() {
    let desk = Desk::in_memory();
    let first = desk.seed();
    let folder = desk
        .hub
        .snapshot(&repo(), &SnapshotOptions::default())
        .unwrap();
    desk.state().seed(REPO, &[("config.json", b"{}")]);
    // The old commit by its name, although the branch has moved on.
    let old = SnapshotOptions::default()
        .revision(&first)
        .force_download(true);
    assert_eq!(desk.hub.snapshot(&repo(), &old).unwrap(), folder);
    check_same(&folder);
    let new = desk
        .hub
        .snapshot(&repo(), &SnapshotOptions::default())
        .unwrap();
    assert_eq!(std::fs::read(new.join("config.json")).unwrap(), b"{}");
    assert!(
        desk.state()
            .seen()
            .iter()
            .all(|seen| !seen.target.contains("/resolve/main/"))
    );
}

#[track_caller]
fn check_refused(hub: &Hub, id: &str, revision: &str, is: fn(&ErrorKind) -> bool, part: &str) {
    let id = RepoId::parse(id).unwrap();
    let options = SnapshotOptions::default().revision(revision);
    let error = hub.snapshot(&id, &options).unwrap_err();
    assert!(is(error.kind()), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(part), "{text}");
    assert!(!text.contains("hf_test") && !format!("{error:?}").contains("hf_test"));
}

#[test]
fn what_is_missing_is_told_apart() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.seed();
        desk.state().seed("carol/private", &[("a", b"1")]);
        desk.state().set_access("carol/private", true, false);
        desk.state().seed("carol/gated", &[("a", b"1")]);
        desk.state().set_access("carol/gated", false, true);
        let reader = desk.as_other(Some(READ_TOKEN));
        let nobody = desk.as_other(None);
        let wrong = desk.as_other(Some("hf_test_nobody"));
        let not_found: fn(&ErrorKind) -> bool =
            |kind| matches!(kind, ErrorKind::RepositoryNotFound { .. });
        check_refused(&reader, "alice/none", "main", not_found, "check the name");
        check_refused(&nobody, "alice/none", "main", not_found, "hf auth login");
        check_refused(&reader, "carol/private", "main", not_found, "carol/private");
        check_refused(
            &reader,
            REPO,
            "none",
            |kind| matches!(kind, ErrorKind::RevisionNotFound { revision, .. } if revision == "none"),
            "no revision `none`",
        );
        check_refused(
            &reader,
            "carol/gated",
            "main",
            |kind| matches!(kind, ErrorKind::Gated { .. }),
            "ask for access",
        );
        check_refused(
            &wrong,
            REPO,
            "main",
            |kind| matches!(kind, ErrorKind::TokenRefused),
            "log in again",
        );
        let error = reader.download(&repo(), "none.bin", &SnapshotOptions::default());
        assert!(matches!(
            error.unwrap_err().kind(),
            ErrorKind::EntryNotFound { .. }
        ));
        for revision in ["../x", "a b", "a//b", ""] {
            let options = SnapshotOptions::default().revision(revision);
            let error = reader.snapshot(&repo(), &options).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Revision { .. }),
                "{revision}"
            );
        }
    }
}

#[test]
fn only_the_cache_may_be_asked_for() {
    let desk = Desk::in_memory();
    desk.seed();
    let local = SnapshotOptions::default().local_files_only(true);
    let error = desk.hub.snapshot(&repo(), &local).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NotCached { .. }),
        "{error}"
    );
    assert!(desk.state().seen().is_empty());
}

#[test]
fn some_files_are_asked_for_by_patterns() {
    let desk = Desk::in_memory();
    desk.seed();
    let options = SnapshotOptions::default()
        .allow_patterns(["*.json", "*.md"])
        .ignore_patterns(["README*"]);
    let folder = desk.hub.snapshot(&repo(), &options).unwrap();
    let names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["config.json"]);
}

#[test]
fn a_listing_comes_in_pages() {
    let desk = Desk::on_loopback();
    desk.seed();
    desk.state().set_page(2);
    let files = desk.hub.tree(&repo(), "main").unwrap();
    let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        names,
        [
            ".gitattributes",
            "README.md",
            "config.json",
            "model.safetensors"
        ]
    );
}

#[test]
fn a_header_is_read_without_the_file() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        let mut file = Vec::new();
        let big = nnx_checkpoint::Tensor::from_bytes(
            nnx_checkpoint::Dtype::UInt8,
            &[1 << 20],
            vec![7; 1 << 20],
        )
        .unwrap();
        nnx_checkpoint::safetensors::write(&mut file, &[("w", &big)], None).unwrap();
        let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        desk.state().seed(REPO, &[("model.safetensors", &file)]);
        desk.state().calm();
        let remote = desk.hub.open(&repo(), "main", "model.safetensors").unwrap();
        assert_eq!(remote.entry().size, file.len() as u64);
        let header = remote.read_range(0..8 + length as u64).unwrap();
        assert_eq!(header, file[..8 + length]);
        assert_eq!(remote.read_range(100..110).unwrap(), file[100..110]);
        let end = file.len() as u64;
        assert_eq!(remote.read_range(end - 3..end + 9).unwrap(), [7; 3]);
        assert!(remote.read_range(end..end + 9).unwrap().is_empty());
        for seen in desk.state().seen().iter().filter(|seen| !seen.hub) {
            assert_eq!(seen.status, 206, "{seen:?}");
        }
    }
}

#[test]
fn who_asks_is_told() {
    let desk = Desk::in_memory();
    let identity = desk.hub.whoami().unwrap();
    assert_eq!(identity.name, "alice");
    assert_eq!(identity.organizations, ["acme"]);
    assert_eq!(identity.role.as_deref(), Some("write"));
    let error = desk.as_other(None).whoami().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TokenMissing));
}

#[test]
fn a_file_is_downloaded_once_for_all_who_wait() {
    let desk = Desk::on_loopback();
    desk.seed();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let options = SnapshotOptions::default();
                check_same(&desk.hub.snapshot(&repo(), &options).unwrap());
            });
        }
    });
    let seen = desk.state().seen();
    let blobs = seen.iter().filter(|seen| seen.target.starts_with("/blob/"));
    assert_eq!(blobs.count(), 1);
}

#[test]
fn progress_is_told_from_the_first_byte_to_the_last() {
    let desk = Desk::in_memory();
    desk.seed();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&lines);
    let progress = move |event: &Event<'_>| {
        let line = match event {
            Event::Planned {
                direction,
                files,
                bytes,
            } => {
                format!("{direction:?} {files} files, {bytes} bytes")
            }
            Event::Advanced {
                direction,
                file,
                done,
                total,
            } => {
                format!("{direction:?} {file} {done}/{total}")
            }
            Event::Finished { direction, file } => format!("{direction:?} {file} done"),
            other => format!("{other:?}"),
        };
        told.lock().unwrap().push(line);
    };
    let hub = desk.hub.clone().progress(Arc::new(progress));
    let options = SnapshotOptions::default().allow_patterns(["*.safetensors"]);
    hub.snapshot(&repo(), &options).unwrap();
    let expected = [
        "Down 1 files, 844 bytes",
        "Down model.safetensors 844/844",
        "Down model.safetensors done",
    ];
    assert_eq!(*lines.lock().unwrap(), expected);
    lines.lock().unwrap().clear();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.bin"), [1; 9]).unwrap();
    let id = RepoId::parse("alice/other").unwrap();
    hub.upload_folder(folder.path(), &id, &nnx_hub::UploadOptions::default())
        .unwrap();
    let lines = lines.lock().unwrap().clone();
    assert_eq!(
        lines.first().map(String::as_str),
        Some("Up 1 files, 9 bytes")
    );
    assert!(lines.contains(&"Up w.bin 9/9".to_owned()), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("Up w.bin done"));
}
