//! The commands that speak to the Hub, against one on the loopback interface.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod cache;
#[cfg(target_os = "linux")]
mod disks;
mod networks;
#[cfg(feature = "train")]
mod training;

use nnx_hub_server::{Action, Fault, HubServer, WRITE_TOKEN};

const REPO: &str = "acme/model";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// A Hub, and a user's folders.
struct Desk {
    hub: HubServer,
    home: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            hub: HubServer::start().expect("a free port"),
            home: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// The command with this Hub and these folders, without the Hub and the folders of the machine.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
        command.args(words).current_dir(self.home.path());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy().to_ascii_uppercase();
            if ["HF_", "HUGGING", "XDG_", "TRANSFORMERS_", "SSL_"]
                .iter()
                .any(|start| text.starts_with(start))
                || text.ends_with("_PROXY")
            {
                command.env_remove(name);
            }
        }
        command
            .env("HF_ENDPOINT", self.hub.endpoint())
            .env("HF_HOME", self.home.path().join("hf"))
            .env("HF_TOKEN", WRITE_TOKEN);
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the command runs")
    }

    #[track_caller]
    fn succeed(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    #[track_caller]
    fn fail(&self, words: &[&str], part: &str) {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(part), "{words:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(!stderr.contains(WRITE_TOKEN), "{stderr}");
    }
}

fn checkpoint() -> String {
    let path = fixtures().join("nnx-0.4.1/checkpoints/ff_relu.pt");
    assert!(path.exists(), "{}", path.display());
    path.display().to_string()
}

#[test]
fn a_checkpoint_is_published_and_fetched() {
    let desk = Desk::new();
    let path = checkpoint();
    let said = desk.succeed(&["push", &path, REPO]);
    assert!(said.contains("uploaded 3 files"), "{said}");
    let files: Vec<String> = desk.hub.files(REPO, "main").into_keys().collect();
    for name in ["README.md", "config.json", "model.safetensors"] {
        assert!(files.iter().any(|file| file == name), "{files:?}");
    }
    let again = desk.succeed(&["push", &path, REPO]);
    assert!(again.contains("nothing changed"), "{again}");

    let folder = desk.succeed(&["pull", REPO]);
    let card = fs::read_to_string(Path::new(folder.trim()).join("README.md")).expect("a card");
    assert_eq!(desk.succeed(&["card", &path]), card);
    let copy = desk.home.path().join("copy");
    let target = copy.display().to_string();
    desk.succeed(&["pull", REPO, "--to", &target, "--include", "*.safetensors"]);
    assert!(copy.join("model.safetensors").is_file());
    // The patterns count also for files that the cache has already.
    assert!(!copy.join("config.json").exists());
    desk.fail(&["pull", REPO, "--include", "zzz*"], "no file of");
    // A link in the folder leads elsewhere and is replaced.
    fs::remove_file(copy.join("model.safetensors")).expect("the copy");
    fs::write(desk.home.path().join("victim"), "old").expect("a new file");
    let link = copy.join("model.safetensors");
    std::os::unix::fs::symlink(desk.home.path().join("victim"), &link).expect("a link");
    desk.succeed(&["pull", REPO, "--to", &target, "--include", "*.safetensors"]);
    assert_eq!(
        fs::read(desk.home.path().join("victim")).expect("it"),
        b"old"
    );

    desk.fail(
        &["convert", &path, &format!("hf://{REPO}/x.safetensors")],
        "nnx push",
    );

    // The weights are those of the checkpoint.
    let remote = format!("hf://{REPO}/model.safetensors");
    let diff = desk.succeed(&["diff", &path, &remote]);
    assert!(diff.contains("same"), "{diff}");
    let summary = desk.succeed(&["summary", &format!("hf://{REPO}")]);
    assert_eq!(summary, desk.succeed(&["summary", folder.trim()]));
}

#[test]
fn a_copy_has_the_weights_of_one_version() {
    let desk = Desk::new();
    let of =
        |name: &str| fs::read(fixtures().join("nnx-0.4.1/hub/ff_relu").join(name)).expect("it");
    let (config, weights) = (of("config.json"), of("model.safetensors"));
    let index = r#"{"metadata": {}, "weight_map": {"x": "model-00001-of-00001.safetensors"}}"#;
    let to = desk.home.path().join("copy").display().to_string();
    desk.hub.seed(
        REPO,
        &[
            ("config.json", b"{}"),
            ("model.safetensors.index.json", index.as_bytes()),
            ("model-00001-of-00001.safetensors", b"old"),
        ],
    );
    desk.succeed(&["pull", REPO, "--to", &to]);
    let other = "acme/other";
    desk.hub.seed(
        other,
        &[("config.json", &config), ("model.safetensors", &weights)],
    );
    // A reply that is lost is told of, and no failure.
    let busy = Action::Status(503, Vec::new(), String::new());
    desk.hub.fault(Fault::new("/revision/", busy));
    let output = desk.run(&["pull", other, "--to", &to]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.contains("trying again"),
        "{stderr}"
    );
    assert!(!Path::new(&to).join("model.safetensors.index.json").exists());
    assert!(desk.succeed(&["summary", &to]).contains("Linear"));
    let card: serde_json::Value =
        serde_json::from_str(&desk.succeed(&["card", &to, "--json"])).expect("JSON");
    assert_eq!(card["card"], desk.succeed(&["card", &to]));
}

#[test]
fn a_header_is_read_without_the_file() {
    let desk = Desk::new();
    let values = 1 << 18;
    let header = format!(
        "{{\"w\":{{\"dtype\":\"F32\",\"shape\":[{values}],\"data_offsets\":[0,{}]}}}}",
        values * 4
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + values * 4, 7);
    desk.hub.seed(REPO, &[("model.safetensors", &file)]);
    let said = desk.succeed(&["inspect", &format!("hf://{REPO}/model.safetensors")]);
    assert!(said.contains("[262144]"), "{said}");
    assert!(!desk.home.path().join("hf/hub").exists(), "a download");
    let ranges = desk.hub.seen().into_iter();
    let ranges: Vec<String> = ranges.filter_map(|seen| seen.range).collect();
    // The Hub redirects to the server that has the file, which is asked for the same part.
    assert!(!ranges.is_empty());
    assert!(
        ranges.iter().all(|range| range == "bytes=0-65535"),
        "{ranges:?}"
    );

    // The hashes need the bytes.
    let said = desk.succeed(&[
        "inspect",
        "--hash",
        &format!("hf://{REPO}/model.safetensors"),
    ]);
    assert!(said.contains("w"), "{said}");
    assert!(desk.home.path().join("hf/hub").exists());
}

/// A safetensors file with one tensor of bytes.
fn weights(name: &str, bytes: usize) -> Vec<u8> {
    let header = format!(
        "{{\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{bytes}],\"data_offsets\":[0,{bytes}]}}}}"
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + bytes, 7);
    file
}

#[test]
fn shards_in_a_folder_are_beside_their_index() {
    let desk = Desk::new();
    let index = r#"{"metadata": {}, "weight_map": {
        "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}"#;
    desk.hub.seed(
        REPO,
        &[
            ("sub/model.safetensors.index.json", index.as_bytes()),
            ("sub/model-00001-of-00002.safetensors", &weights("a", 9)),
            ("sub/model-00002-of-00002.safetensors", &weights("b", 9)),
        ],
    );
    let names = |path: &str, options: &[&str]| -> Vec<String> {
        let path = format!("hf://{REPO}/{path}");
        let said = desk.succeed(&[&["inspect", &path, "--json"][..], options].concat());
        let told: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        let tensors = told["tensors"].as_array().expect("tensors").iter();
        tensors.map(|tensor| tensor["name"].to_string()).collect()
    };
    let index = "sub/model.safetensors.index.json";
    for path in [index, "sub", "sub/"] {
        assert_eq!(names(path, &[]), ["\"a\"", "\"b\""], "{path}");
    }
    assert_eq!(
        names("sub/model-00002-of-00002.safetensors", &[]),
        ["\"b\""]
    );
    assert!(!desk.home.path().join("hf/hub").exists(), "a download");
    // The hashes need the bytes; they are the same in the cache, and without the network.
    assert_eq!(names("sub", &["--hash"]), ["\"a\"", "\"b\""]);
    let mut offline = desk.command(&["inspect", &format!("hf://{REPO}/sub")]);
    let done = offline
        .env("HF_HUB_OFFLINE", "1")
        .output()
        .expect("the command runs");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn a_conversion_reads_by_range() {
    let desk = Desk::new();
    let file = weights("w", 3 << 20);
    desk.hub.seed(REPO, &[("model.safetensors", &file)]);
    let remote = format!("hf://{REPO}/model.safetensors");
    desk.succeed(&["convert", &remote, "model.pt"]);
    assert!(!desk.home.path().join("hf/hub").exists(), "a download");
    let requests = desk.hub.seen();
    let blobs: Vec<_> = requests
        .iter()
        .filter(|seen| seen.target.contains("/blob/"))
        .collect();
    assert!(!blobs.is_empty());
    assert!(blobs.iter().all(|seen| seen.range.is_some()), "{blobs:?}");
    let diff = desk.succeed(&["diff", "model.pt", &remote]);
    assert!(diff.contains("same"), "{diff}");
}

#[test]
fn a_header_that_did_not_arrive_intact_is_asked_for_again() {
    let desk = Desk::new();
    let path = fixtures().join("nnx-0.4.1/hub/ff_relu/model.safetensors");
    let file = fs::read(path).expect("a fixture");
    desk.hub.seed(REPO, &[("model.safetensors", &file)]);
    let remote = format!("hf://{REPO}/model.safetensors");
    let said = desk.succeed(&["inspect", &remote]);
    // In the middle of the header, and in its length.
    for damage in [Action::Corrupt, Action::Body("x".repeat(file.len()))] {
        desk.hub.calm();
        desk.hub.fault(Fault::new("/blob/", damage));
        assert_eq!(desk.succeed(&["inspect", &remote]), said);
    }
    // One that is always so is the file's own, under the name that was asked for.
    desk.hub.calm();
    let broken = [&file[..8], b"x", &file[9..]].concat();
    desk.hub.seed(REPO, &[("model.safetensors", &broken)]);
    desk.fail(
        &["inspect", &remote],
        &format!("offset 0x8, file `{remote}`"),
    );
}

#[test]
fn a_folder_is_published_as_a_pull_request() {
    let desk = Desk::new();
    desk.hub.seed(REPO, &[("README.md", b"old")]);
    let folder = desk.home.path().join("folder");
    fs::create_dir(&folder).expect("a new folder");
    fs::write(folder.join("notes.txt"), "new").expect("a new file");
    fs::write(folder.join("left.out"), "out").expect("a new file");
    let said = desk.succeed(&[
        "push",
        "folder",
        REPO,
        "--create-pr",
        "--exclude",
        "*.out",
        "--json",
    ]);
    assert!(
        said.contains("\"notes.txt\"") && !said.contains("left.out"),
        "{said}"
    );
    assert_eq!(desk.hub.pull_requests(REPO), 1);
    assert!(!desk.hub.files(REPO, "main").contains_key("notes.txt"));
}

#[test]
fn weights_that_the_hub_ignores_are_told() {
    let desk = Desk::new();
    let shard = "model-00001-of-00001.safetensors";
    desk.hub.seed(
        REPO,
        &[
            ("config.json", b"{}"),
            (shard, b"old"),
            (
                "model.safetensors.index.json",
                br#"{"weight_map": {"a": "model-00001-of-00001.safetensors"}}"#,
            ),
        ],
    );
    let folder = desk.home.path().join("folder");
    fs::create_dir(&folder).expect("a new folder");
    for (name, text) in [
        (".gitignore", "*.safetensors\n*.log\n"),
        ("config.json", "{\"a\": 1}"),
        ("model.safetensors", "new"),
        ("train.log", "x"),
    ] {
        fs::write(folder.join(name), text).expect("a new file");
    }
    desk.fail(&["push", "folder", REPO], "`model.safetensors`");
    desk.fail(&["push", "folder", REPO], "--allow-ignored");
    assert_eq!(desk.hub.commits(REPO).len(), 2);

    let words = ["push", "folder", REPO, "--allow-ignored"];
    let said = desk.succeed(&[&words[..], &["--json"]].concat());
    let told: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        told["ignored"],
        serde_json::json!(["model.safetensors", "train.log"])
    );
    assert_eq!(told["deleted"], serde_json::json!([]));
    assert!(desk.hub.files(REPO, "main").contains_key(shard));
    // All that differs now is ignored.
    let said = desk.succeed(&words);
    assert!(
        said.contains("ignores 2 files: `model.safetensors`, `train.log`")
            && said.contains("nothing changed except ignored files"),
        "{said}"
    );
}

#[test]
fn a_repository_without_an_owner_is_not_taken_for_another() {
    let desk = Desk::new();
    let path = fixtures().join("nnx-0.4.1/hub/ff_relu/model.safetensors");
    let file = fs::read(path).expect("a fixture");
    desk.hub.seed(REPO, &[("model.safetensors", &file)]);
    desk.hub.set_canonical("old", REPO);
    for remote in ["hf://old/model.safetensors", "hf://old/sub/config.json"] {
        let file = &remote["hf://old/".len()..];
        let wanted = format!("write `hf://{REPO}/{file}`");
        desk.fail(&["inspect", remote], &wanted);
    }
    desk.fail(
        &["inspect", "hf://new/model.safetensors"],
        "no repository `new/model.safetensors`",
    );
}

#[test]
fn refusals_say_what_to_do() {
    let desk = Desk::new();
    assert!(desk.succeed(&["whoami"]).contains("acme"));
    desk.fail(&["pull", "acme/absent"], "acme/absent");
    desk.fail(&["pull", "not a repo/x/y"], "not a repo/x/y");
    desk.fail(&["inspect", "hf://acme"], "hf://owner/name");
    desk.hub.seed(REPO, &[("a.txt", b"a")]);
    desk.fail(
        &["inspect", &format!("hf://{REPO}/b.safetensors")],
        "b.safetensors",
    );
    desk.fail(&["pull", REPO, "--revision", "absent"], "absent");
    desk.fail(&["push", "nowhere", REPO], "nowhere");
}
