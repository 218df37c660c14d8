//! The cache of the command, and the files that it leaves.

use std::fs;

use super::{Desk, REPO, checkpoint};

fn seeded() -> Desk {
    let desk = Desk::new();
    desk.hub.seed(
        REPO,
        &[("config.json", b"{}"), ("model.safetensors", b"weights")],
    );
    desk
}

/// The member of the JSON that `nnx pull` prints.
#[track_caller]
fn member(desk: &Desk, words: &[&str], name: &str) -> serde_json::Value {
    let said = desk.succeed(&[&["pull", REPO, "--json"], words].concat());
    let json: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    json[name].clone()
}

#[test]
fn whether_all_files_are_there_is_told() {
    let desk = seeded();
    assert_eq!(member(&desk, &[], "known_complete"), true);
    assert_eq!(member(&desk, &["--offline"], "known_complete"), true);
    // As `hf_hub_download` leaves the cache.
    let trees = desk.home.path().join("hf/hub/models--acme--model/trees");
    fs::remove_dir_all(&trees).expect("the listing");
    assert_eq!(member(&desk, &["--offline"], "known_complete"), false);
    let output = desk.run(&["pull", REPO, "--offline"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not known to be complete"), "{said}");
    // The Hub knows.
    assert_eq!(member(&desk, &[], "known_complete"), true);
    assert!(trees.exists());
}

#[test]
fn the_full_check_hashes_what_was_verified() {
    let desk = seeded();
    let workers = ["--max-workers", "3"];
    let folder = desk.succeed(&[&["pull", REPO], &workers[..]].concat());
    desk.succeed(&["pull", REPO, "--offline", "--verify"]);
    let path = std::path::Path::new(folder.trim()).join("model.safetensors");
    fs::write(path, "weightz").expect("the file of the cache");
    desk.fail(
        &["pull", REPO, "--offline", "--verify"],
        "model.safetensors",
    );
    desk.succeed(&["pull", REPO, "--verify"]);
    desk.succeed(&["pull", REPO, "--offline", "--verify"]);
    desk.fail(&["pull", REPO, "--max-workers", "0"], "max-workers");
}

#[test]
fn a_part_of_another_version_is_not_put_beside_weights() {
    let desk = seeded();
    let copy = desk.home.path().join("copy");
    let to = copy.display().to_string();
    desk.succeed(&["pull", REPO, "--to", &to]);
    desk.hub.seed(
        REPO,
        &[
            ("config.json", b"{\"new\": 1}"),
            ("model.safetensors", b"new"),
        ],
    );
    desk.fail(
        &["pull", REPO, "--to", &to, "--include", "config.json"],
        "another version beside the new ones: `model.safetensors`",
    );
    let config = || fs::read_to_string(copy.join("config.json")).expect("the copy");
    assert_eq!(config(), "{}");
    desk.succeed(&["pull", REPO, "--to", &to]);
    assert_eq!(config(), "{\"new\": 1}");
    desk.succeed(&["pull", REPO, "--to", &to, "--include", "config.json"]);
}

/// Any command removes them, also one that has nothing to do with the Hub.
#[test]
fn temporary_files_of_a_killed_push_do_not_stay() {
    let desk = Desk::new();
    let temporary = desk.home.path().join("tmp");
    let left = temporary.join(".save_pretrained.ab12Cd.tmp");
    fs::create_dir_all(&left).expect("a new folder");
    fs::write(left.join("commit.jsonl"), "{}").expect("a new file");
    fs::write(temporary.join("mine.tmp"), "").expect("a new file");
    let path = checkpoint();
    let mut command = desk.command(&["inspect", &path]);
    let output = command.env("TMPDIR", &temporary).output();
    assert!(output.expect("the command runs").status.success());
    assert!(!left.exists());
    assert!(temporary.join("mine.tmp").exists());
}
