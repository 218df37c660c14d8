//! Commands on checkpoints in a bucket, and on `file://` URLs.

mod bucket;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use self::bucket::Bucket;

const CHECKPOINT: &str = "nnx-0.4.1/checkpoints/ff_default_act.pt";
const WEIGHTS: &str = "nnx-0.4.1/hub/ff_relu/model.safetensors";

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    fs::read(folder.join(name)).expect("a fixture")
}

fn bucket(objects: &[(&str, &[u8])]) -> Bucket {
    let objects = objects.iter();
    Bucket::new(BTreeMap::from_iter(
        objects.map(|(key, bytes)| ((*key).to_owned(), bytes.to_vec())),
    ))
}

fn nnx(bucket: &Bucket, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    let command = command.args(words).envs(bucket.environment());
    command.output().expect("the command runs")
}

/// The JSON that the command prints.
#[track_caller]
fn told(bucket: &Bucket, words: &[&str], status: i32) -> serde_json::Value {
    let done = nnx(bucket, &[words, &["--json"]].concat());
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(status), "{words:?}: {stderr}");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

#[test]
fn a_scan_of_a_folder_contains_its_folders() {
    let file = fixture(CHECKPOINT);
    let dangerous = b"cposix\nsystem\n(S'true'\ntR.";
    let bucket = bucket(&[
        ("models/a.pt", &file),
        ("models/x/deep/b.pt", &file),
        ("models/y/c.pkl", dangerous),
        ("other/d.pt", &file),
    ]);
    let report = told(&bucket, &["scan", "s3://b/models/"], 1);
    let files = report["files"].as_array().expect("files");
    let paths: Vec<&str> = files
        .iter()
        .map(|file| file["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(
        paths,
        [
            "s3://b/models/a.pt",
            "s3://b/models/x/deep/b.pt",
            "s3://b/models/y/c.pkl"
        ]
    );
    assert_eq!(files[2]["verdict"], "dangerous");
    // Without the slash too.
    assert_eq!(told(&bucket, &["scan", "s3://b/models"], 1), report);
}

#[test]
fn a_part_and_a_tag_are_of_the_bucket() {
    let weights = fixture(WEIGHTS);
    let bucket = bucket(&[
        ("models/model.safetensors", &weights),
        ("saves/step-5/model.safetensors", &weights),
    ]);
    let names = |words: &[&str]| told(&bucket, words, 0)["tensors"].clone();
    let expected = names(&["inspect", "s3://b/models/model.safetensors"]);
    assert!(!expected.as_array().expect("tensors").is_empty());
    let part = ["inspect", "s3://b/models", "--part", "model"];
    assert_eq!(names(&part), expected);
    let tag = ["inspect", "s3://b/saves", "--tag", "step-5"];
    assert_eq!(names(&tag), expected);
    let report = told(&bucket, &["verify", "s3://b/saves", "--tag", "step-5"], 0);
    assert_eq!(report["sound"], true);
}

#[test]
fn a_checkpoint_in_a_bucket_is_verified() {
    let mut file = fixture(CHECKPOINT);
    let sound = bucket(&[("m.pt", &file)]);
    let report = told(&sound, &["verify", "s3://b/m.pt"], 0);
    assert!(report["tensors"].as_u64() > Some(0), "{report}");
    // The last byte of the first storage.
    let at = file
        .windows(6)
        .position(|bytes| bytes == b"data/0")
        .expect("a storage");
    file[at + 64 + 6] ^= 1;
    let damaged = bucket(&[("m.pt", &file)]);
    let report = told(&damaged, &["verify", "s3://b/m.pt"], 1);
    let message = report["faults"][0]["message"].as_str().expect("a fault");
    assert!(message.contains("s3://b/m.pt"), "{message}");
    let done = nnx(&sound, &["verify", "s3://b/absent.pt"]);
    assert_eq!(done.status.code(), Some(2));
}

#[cfg(feature = "net")]
#[test]
fn the_tokenizer_of_another_model_is_not_taken() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tokenizer = fixture("nnx-0.4.1/hub/generative_tokenizer/tokenizer.json");
    fs::write(folder.path().join("tokenizer.json"), tokenizer).expect("a new file");
    let bucket = bucket(&[(
        "m.pt",
        &fixture("nnx-0.4.1/checkpoints/transformer_tied.pt"),
    )]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    let done = command
        .args(["generate", "s3://b/m.pt", "once"])
        .current_dir(folder.path())
        .envs(bucket.environment())
        .output()
        .expect("the command runs");
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`--tokenizer`"), "{stderr}");
}

#[test]
fn the_url_of_a_file_is_its_path() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let below = folder.path().join("a b");
    fs::create_dir(&below).expect("a new folder");
    fs::write(below.join("m.pt"), fixture(CHECKPOINT)).expect("a new file");
    let bucket = bucket(&[]);
    let url = format!("file://{}/a%20b", folder.path().display());
    let file = format!("{url}/m.pt");
    for command in ["inspect", "verify", "scan"] {
        told(&bucket, &[command, &file], 0);
    }
    let report = told(
        &bucket,
        &["scan", &format!("file://{}", folder.path().display())],
        0,
    );
    assert_eq!(report["files"].as_array().expect("files").len(), 1);
    let target = format!("{url}/m.safetensors");
    told(
        &bucket,
        &["convert", &file, &target, "--drop-non-tensors"],
        0,
    );
    assert!(below.join("m.safetensors").is_file());
    let done = nnx(&bucket, &["inspect", "file://server/m.pt"]);
    assert_eq!(done.status.code(), Some(2));
}
