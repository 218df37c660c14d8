//! Copies of files of the cache, in folders of one's own.

use std::fs;
use std::path::Path;

use nnx_hub::{ErrorKind, copy_files};

fn put(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn weights_of_an_earlier_copy_go() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let index = r#"{"metadata": {}, "weight_map": {"a": "model-00001-of-00001.safetensors"}}"#;
    let of = [
        ("model-00001-of-00001.safetensors", "new"),
        ("model.safetensors.index.json", index),
        ("config.json", "new"),
    ];
    put(from.path(), &of);
    put(
        to.path(),
        &[
            ("model.safetensors", "old"),
            ("model-00001-of-00002.safetensors", "old"),
            ("config.json", "old"),
            ("mine.txt", "mine"),
        ],
    );
    // Without all weights among them, the others stay.
    for some in [
        &["config.json"][..],
        &["config.json", "model.safetensors.index.json"],
        &["model-00001-of-00001.safetensors"],
    ] {
        let before = names(to.path());
        let error = copy_files(from.path(), some, to.path()).unwrap_err();
        let ErrorKind::OtherVersion { files, .. } = error.kind() else {
            panic!("{error}");
        };
        assert!(files.contains(&"model.safetensors".to_owned()), "{some:?}");
        assert_eq!(names(to.path()), before, "{some:?}");
        assert!(to.path().join("model.safetensors").exists(), "{some:?}");
        assert!(to.path().join("model-00001-of-00002.safetensors").exists());
    }
    copy_files(from.path(), &of.map(|(name, _)| name), to.path()).unwrap();
    let mut expected = of.map(|(name, _)| name).to_vec();
    expected.push("mine.txt");
    expected.sort();
    assert_eq!(names(to.path()), expected);
    for (name, text) in of {
        assert_eq!(fs::read_to_string(to.path().join(name)).unwrap(), text);
    }
}

/// Files of one version may be copied one after the other.
#[test]
fn parts_of_the_same_version_come_one_by_one() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = [
        "config.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    put(from.path(), &files.map(|name| (name, name)));
    for name in files {
        copy_files(from.path(), &[name], to.path()).unwrap();
    }
    assert_eq!(names(to.path()), files);
    // A byte differs.
    put(to.path(), &[(files[1], "model-00001-of-00002.safetensorz")]);
    let error = copy_files(from.path(), &files[..1], to.path()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::OtherVersion { .. }),
        "{error}"
    );
    // Other files matter to no weights.
    put(from.path(), &[("README.md", "new")]);
    copy_files(from.path(), &["README.md"], to.path()).unwrap();
}

#[test]
fn a_copy_that_fails_leaves_the_folder_as_it_was() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(from.path(), &[("config.json", "new")]);
    put(
        to.path(),
        &[("config.json", "old"), ("model.safetensors", "old")],
    );
    let wanted = ["config.json", "model.safetensors"];
    let error = copy_files(from.path(), &wanted, to.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io { .. }), "{error}");
    assert_eq!(names(to.path()), wanted);
    let config = fs::read_to_string(to.path().join("config.json")).unwrap();
    assert_eq!(config, "old");
}

/// The files that list other files are removed before any of the listed files changes.
#[test]
fn a_copy_that_fails_on_its_way_leaves_no_mixture() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = [
        "config.json",
        "model.safetensors",
        "x.index.json",
        "z/z.txt",
    ];
    put(from.path(), &files.map(|name| (name, "new")));
    put(
        to.path(),
        &files[..3]
            .iter()
            .map(|name| (*name, "old"))
            .collect::<Vec<_>>(),
    );
    // The last of those that come first has no place.
    put(to.path(), &[("z", "in the way")]);
    copy_files(from.path(), &files, to.path()).unwrap_err();
    assert_eq!(names(to.path()), ["model.safetensors", "z"]);
    // A configuration that does not change stays all the time. The same index may be of other shards.
    put(
        to.path(),
        &[("config.json", "new"), ("x.index.json", "new")],
    );
    copy_files(from.path(), &files, to.path()).unwrap_err();
    assert_eq!(names(to.path()), ["config.json", "model.safetensors", "z"]);
}

#[cfg(unix)]
#[test]
fn links_are_replaced_or_refused() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let elsewhere = tempfile::tempdir().unwrap();
    put(from.path(), &[("a.txt", "new"), ("sub/b.txt", "new")]);
    put(elsewhere.path(), &[("a.txt", "old")]);
    let link = |target: &Path, at: &str| std::os::unix::fs::symlink(target, to.path().join(at));
    link(&elsewhere.path().join("a.txt"), "a.txt").unwrap();
    copy_files(from.path(), &["a.txt"], to.path()).unwrap();
    let there = fs::read_to_string(elsewhere.path().join("a.txt")).unwrap();
    assert_eq!(there, "old");
    link(elsewhere.path(), "sub").unwrap();
    for name in ["sub/b.txt", "../b.txt"] {
        let error = copy_files(from.path(), &[name], to.path()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::UnsafePath { .. }),
            "{error}"
        );
    }
    assert_eq!(names(elsewhere.path()), ["a.txt"]);
}

/// No file is opened before all names are judged, so an absent file is not what is told.
#[test]
fn names_are_judged_before_a_file_is_opened() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["../b.txt", "/etc/passwd", "a/../../b", ".git/config", ""] {
        let error = copy_files(from.path(), &["absent.txt", name], to.path()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::UnsafePath { .. }),
            "{error}"
        );
    }
    assert_eq!(names(to.path()), Vec::<String>::new());
}

#[test]
fn a_folder_in_the_way_of_a_file_is_seen_beforehand() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = ["config.json", "model.safetensors", "z.txt"];
    put(from.path(), &files.map(|name| (name, "new")));
    put(to.path(), &[("config.json", "old"), ("z.txt/x", "mine")]);
    let error = copy_files(from.path(), &files, to.path()).unwrap_err();
    assert!(error.to_string().contains("z.txt"), "{error}");
    assert_eq!(names(to.path()), ["config.json", "z.txt"]);
    let config = fs::read_to_string(to.path().join("config.json")).unwrap();
    assert_eq!(config, "old");
}
