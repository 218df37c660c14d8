//! Files that a `.gitignore` keeps out of a repository: told, never counted as sent, and nothing is
//! deleted because of them.

use std::path::Path;

use nnx_hub::{ErrorKind, ModelHubMixin, PushOptions, SaveOptions, Upload, UploadOptions};
use nnx_hub_server::{Action, Fault};

use super::desk::{Desk, REPO, repo};
use super::saving::small;

const INDEX: &str = "model.safetensors.index.json";
const FIRST: &str = "model-00001-of-00002.safetensors";
const SECOND: &str = "model-00002-of-00002.safetensors";

fn put(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn index() -> String {
    format!(r#"{{"metadata":{{}},"weight_map":{{"a":"{FIRST}","b":"{SECOND}"}}}}"#)
}

/// A Hub with a model in shards.
fn desk_with_shards() -> Desk {
    let desk = Desk::in_memory();
    let index = index();
    let files: [(&str, &[u8]); 4] = [
        ("config.json", b"{}"),
        (FIRST, b"old1"),
        (SECOND, b"old2"),
        (INDEX, index.as_bytes()),
    ];
    desk.state().seed(REPO, &files);
    desk
}

fn push(desk: &Desk, files: &[(&str, &str)], options: &UploadOptions) -> nnx_hub::Result<Upload> {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), files);
    desk.hub.upload_folder(folder.path(), &repo(), options)
}

#[track_caller]
fn check_ignored(error: &nnx_hub::Error, expected: &[&str]) {
    let ErrorKind::WeightsIgnored { files, .. } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(files, expected);
    assert!(error.to_string().contains(expected[0]), "{error}");
    assert_eq!(error.kind().name(), "weights_ignored");
}

#[test]
fn ignored_weights_are_an_error_and_nothing_is_deleted() {
    for replace in [true, false] {
        let desk = desk_with_shards();
        let before = desk.state().files(REPO, "main");
        let files = [
            (".gitignore", "*.safetensors\n*.log\n"),
            ("config.json", r#"{"a": 1}"#),
            ("model.safetensors", "new weights"),
            ("train.log", "x"),
        ];
        let options = UploadOptions::default().replace_weights(replace);
        let error = push(&desk, &files, &options).unwrap_err();
        check_ignored(&error, &["model.safetensors"]);
        assert_eq!(desk.state().files(REPO, "main"), before);
        assert_eq!(desk.state().commits(REPO).len(), 2);
    }
}

#[test]
fn weights_that_may_be_ignored_replace_nothing() {
    let desk = desk_with_shards();
    let files = [
        (".gitignore", "*.safetensors\n*.log\n"),
        ("config.json", r#"{"a": 1}"#),
        ("model.safetensors", "new weights"),
        ("train.log", "x"),
    ];
    let options = UploadOptions::default()
        .replace_weights(true)
        .allow_ignored(true);
    let pushed = push(&desk, &files, &options).unwrap();
    assert_eq!(pushed.uploaded, [".gitignore", "config.json"]);
    assert_eq!(pushed.ignored, ["model.safetensors", "train.log"]);
    assert_eq!(pushed.deleted, Vec::<String>::new());
    let there = desk.state().files(REPO, "main");
    for name in [FIRST, SECOND, INDEX] {
        assert!(there.contains_key(name), "{name}");
    }
}

/// Weights of PyTorch take the place of those of safetensors, unless there are new ones of these.
#[test]
fn weights_in_the_other_format_replace_nothing_beside_ignored_ones() {
    let options = UploadOptions::default()
        .replace_weights(true)
        .allow_ignored(true);
    let weights = [
        ("model.safetensors", "new"),
        ("pytorch_model.bin", "new too"),
    ];
    for (ignored, deleted) in [
        ("model.safetensors", &[][..]),
        ("other", &[FIRST, SECOND, INDEX][..]),
    ] {
        let desk = desk_with_shards();
        let files = [&weights[..], &[(".gitignore", ignored)]].concat();
        let pushed = push(&desk, &files, &options).unwrap();
        assert_eq!(pushed.deleted, deleted, "{ignored}");
    }
}

/// An index without one of its shards is no model, wherever the shard is.
#[test]
fn an_index_with_an_ignored_shard_replaces_nothing() {
    for shard in ["sub/part.safetensors", "part.safetensors"] {
        let desk = Desk::in_memory();
        desk.state().seed(REPO, &[("model.safetensors", b"old")]);
        let index = format!(r#"{{"metadata":{{}},"weight_map":{{"a":"{FIRST}","b":"{shard}"}}}}"#);
        let files = [
            (INDEX, index.as_str()),
            (FIRST, "one"),
            (shard, "two"),
            (".gitignore", "part.safetensors"),
        ];
        let options = UploadOptions::default().replace_weights(true);
        let error = push(&desk, &files, &options).unwrap_err();
        check_ignored(&error, &[shard]);
        let pushed = push(&desk, &files, &options.allow_ignored(true)).unwrap();
        assert_eq!(pushed.deleted, Vec::<String>::new());
        assert_eq!(pushed.ignored, [shard]);
    }
}

/// A pattern deletes what the folder does not have; an ignored file the folder has.
#[test]
fn a_pattern_does_not_delete_the_file_that_an_ignored_one_would_replace() {
    let desk = Desk::in_memory();
    let old: [(&str, &[u8]); 2] = [("train.log", b"old"), ("other.txt", b"old")];
    desk.state().seed(REPO, &old);
    let files = [(".gitignore", "*.log"), ("train.log", "new")];
    let options = UploadOptions::default().delete_patterns(["*"]);
    let pushed = push(&desk, &files, &options).unwrap();
    assert_eq!(pushed.deleted, ["other.txt"]);
    assert_eq!(pushed.ignored, ["train.log"]);
    assert_eq!(desk.state().files(REPO, "main")["train.log"], b"old");
}

/// The Hub goes by its own `.gitignore` where none comes.
#[test]
fn files_that_the_repository_ignores_are_told_where_nothing_else_changed() {
    let desk = Desk::in_memory();
    let old: [(&str, &[u8]); 2] = [(".gitignore", b"*.safetensors\n*.log"), ("a.txt", b"1")];
    desk.state().seed(REPO, &old);
    let files = [("a.txt", "1"), ("train.log", "x")];
    let pushed = push(&desk, &files, &UploadOptions::default()).unwrap();
    assert!(!pushed.changed);
    assert_eq!(pushed.ignored, ["train.log"]);
    let nested = [("a.txt", "1"), ("deep/down/m.safetensors", "x")];
    let error = push(&desk, &nested, &UploadOptions::default()).unwrap_err();
    check_ignored(&error, &["deep/down/m.safetensors"]);
}

/// A file that the repository has already is there, whatever `.gitignore` says.
#[test]
fn an_ignored_file_that_is_there_already_is_no_error() {
    let desk = Desk::in_memory();
    let there: [(&str, &[u8]); 2] = [("model.safetensors", b"same"), ("config.json", b"old")];
    desk.state().seed(REPO, &there);
    let files = [
        (".gitignore", "*.safetensors"),
        ("model.safetensors", "same"),
        ("config.json", "new"),
    ];
    let options = UploadOptions::default().replace_weights(true);
    let pushed = push(&desk, &files, &options).unwrap();
    assert_eq!(pushed.uploaded, [".gitignore", "config.json"]);
    assert_eq!(pushed.ignored, Vec::<String>::new());
}

#[test]
fn a_model_whose_weights_the_repository_ignores_is_not_pushed() {
    let desk = desk_with_shards();
    desk.state().seed(REPO, &[(".gitignore", b"*.safetensors")]);
    let before = desk.state().files(REPO, "main");
    let options = PushOptions::default().hub(desk.hub.clone());
    let error = small(1).push_to_hub_with(REPO, &options).unwrap_err();
    check_ignored(&error, &["model.safetensors"]);
    assert_eq!(desk.state().files(REPO, "main"), before);
    // In more shards than the repository has.
    let sharded = options.save(SaveOptions::default().max_shard_bytes(70));
    let error = small(1).push_to_hub_with(REPO, &sharded).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WeightsIgnored { .. }));
    assert_eq!(desk.state().files(REPO, "main"), before);
    let allowed = sharded.allow_ignored(true);
    let pushed = small(1).push_to_hub_with(REPO, &allowed).unwrap();
    assert_eq!(pushed.deleted, Vec::<String>::new());
    assert!(pushed.ignored.len() > 1, "{:?}", pushed.ignored);
}

/// Stores refuse objects without bytes, as `huggingface_hub` notes in `_fetch_upload_modes`.
#[test]
fn an_empty_file_is_regular_whatever_the_hub_says() {
    let desk = Desk::in_memory();
    let reply = r#"{"files": [{"path": "empty.bin", "uploadMode": "lfs", "shouldIgnore": false}]}"#;
    desk.state()
        .fault(Fault::new("/preupload/", Action::Body(reply.to_owned())));
    let pushed = push(&desk, &[("empty.bin", "")], &UploadOptions::default()).unwrap();
    assert_eq!(pushed.uploaded, ["empty.bin"]);
    assert!(!desk.state().is_large(REPO, "empty.bin"));
    let seen = desk.state().seen().into_iter();
    let targets: Vec<String> = seen.map(|seen| seen.target).collect();
    assert!(
        targets.iter().all(|target| !target.contains("lfs")),
        "{targets:?}"
    );
}
