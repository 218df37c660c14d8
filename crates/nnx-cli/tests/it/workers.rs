//! Conversions that several processes share.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Tensors of the source, and bytes of each.
const TENSORS: usize = 30;
const BYTES: usize = 300_000;
/// Bytes of a shard: three tensors.
const SHARD: &str = "1MB";
const WORKERS: usize = 4;
/// Workers that are killed.
const KILLS: u32 = 60;

/// A safetensors file whose tensors differ.
fn model(path: &Path, seed: u8) {
    let entries: Vec<String> = (0..TENSORS)
        .map(|at| {
            let (start, end) = (at * BYTES, (at + 1) * BYTES);
            format!(
                "\"layer.{at}.weight\":{{\"dtype\":\"U8\",\"shape\":[{BYTES}],\
                 \"data_offsets\":[{start},{end}]}}"
            )
        })
        .collect();
    let header = format!("{{{}}}", entries.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    for at in 0..TENSORS {
        file.extend((0..BYTES).map(|byte| (byte / 7 + at) as u8 ^ seed));
    }
    fs::write(path, file).expect("a folder that can be written");
}

fn nnx(source: &Path, target: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    command
        .arg("convert")
        .args([source, target])
        .args(["--to", "safetensors", "--max-shard-size", SHARD])
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(source: &Path, target: &Path, options: &[&str]) -> Output {
    nnx(source, target, options)
        .output()
        .expect("the command runs")
}

#[track_caller]
fn succeeds(output: &Output) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

fn start(source: &Path, target: &Path, worker: usize) -> Child {
    let worker = format!("{worker}/{WORKERS}");
    nnx(source, target, &["--worker", &worker])
        .spawn()
        .expect("the command runs")
}

/// The files of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder");
    let files = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).expect("a file"))
    });
    files.collect()
}

/// A source, and the files that one process makes of it.
struct Case {
    folder: tempfile::TempDir,
    source: std::path::PathBuf,
    expected: BTreeMap<String, Vec<u8>>,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = folder.path().join("source.safetensors");
        model(&source, 0);
        let alone = folder.path().join("alone/");
        succeeds(&run(&source, &alone, &[]));
        let expected = files(&alone);
        assert_eq!(expected.len(), TENSORS / 3 + 1, "ten shards and an index");
        Self {
            folder,
            source,
            expected,
        }
    }

    fn target(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("{name}/"))
    }

    /// Writes the index and compares all files with those of one process.
    #[track_caller]
    fn finish(&self, target: &Path) {
        let output = run(&self.source, target, &["--index-only"]);
        succeeds(&output);
        // The bytes of the shards are not read again.
        assert!(!String::from_utf8_lossy(&output.stdout).contains("verified"));
        assert!(files(target) == self.expected, "other files or bytes");
    }
}

#[test]
fn workers_at_once_write_what_one_process_writes() {
    let case = Case::new();
    let target = case.target("shared");
    // Every worker twice, as a scheduler that lost sight of one starts it.
    let children: Vec<Child> = (0..WORKERS)
        .chain(0..WORKERS)
        .map(|worker| start(&case.source, &target, worker))
        .collect();
    for child in children {
        succeeds(&child.wait_with_output().expect("the command ends"));
    }
    assert_eq!(files(&target).len(), TENSORS / 3, "no index yet");
    case.finish(&target);
    // A worker that is late changes nothing, and the index can be asked for again.
    let late = start(&case.source, &target, 1);
    succeeds(&late.wait_with_output().expect("the command ends"));
    case.finish(&target);
}

#[test]
fn a_worker_that_was_killed_is_started_again() {
    let case = Case::new();
    let target = case.target("killed");
    let begin = Instant::now();
    let usual = start(&case.source, &case.target("usual"), 0);
    succeeds(&usual.wait_with_output().expect("the command ends"));
    let usual = begin.elapsed().max(Duration::from_millis(1));
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut killed = 0;
    for turn in 0..KILLS {
        if turn % 10 == 0 {
            let _ = fs::remove_dir_all(&target);
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = start(&case.source, &target, turn as usize % WORKERS);
        sleep(usual.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64));
        child.kill().expect("a signal can be sent");
        killed += u32::from(!child.wait().expect("the command ends").success());
        if !target.exists() {
            continue;
        }
        for (name, bytes) in files(&target) {
            let is_temporary = name.ends_with(".nnx-tmp");
            assert!(is_temporary || case.expected[&name] == bytes, "{name}");
        }
    }
    assert!(killed > 0, "no worker was killed");
    for worker in 0..WORKERS {
        let child = start(&case.source, &target, worker);
        succeeds(&child.wait_with_output().expect("the command ends"));
    }
    case.finish(&target);
}

#[test]
fn an_index_is_not_written_for_shards_that_are_missing_or_wrong() {
    let case = Case::new();
    let target = case.target("missing");
    for worker in [0, 1, 3] {
        let child = start(&case.source, &target, worker);
        succeeds(&child.wait_with_output().expect("the command ends"));
    }
    let output = run(&case.source, &target, &["--index-only"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    for shard in ["model-00003-of-00010", "model-00007-of-00010"] {
        assert!(error.contains(&format!("`{shard}.safetensors`")), "{error}");
    }
    assert!(error.contains("2 of 10 shards are not written"), "{error}");
    assert!(!target.join("model.safetensors.index.json").exists());

    let child = start(&case.source, &target, 2);
    succeeds(&child.wait_with_output().expect("the command ends"));
    let shard = target.join("model-00003-of-00010.safetensors");
    let right = fs::read(&shard).expect("the shard");
    fs::write(&shard, &right[..right.len() - 1]).expect("a file that can be written");
    let output = run(&case.source, &target, &["--index-only"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("expected a shard of"), "{error}");
    assert!(error.contains("model-00003-of-00010"), "{error}");
    // The same size and other names.
    let text = b"layer.7.weight";
    let at = right.windows(text.len()).position(|part| part == text);
    let mut wrong = right.clone();
    wrong[at.expect("the header") + 6] = b'x';
    fs::write(&shard, wrong).expect("a file that can be written");
    let output = run(&case.source, &target, &["--index-only"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("does not have the tensors"), "{error}");
    assert!(!target.join("model.safetensors.index.json").exists());
    fs::write(&shard, right).expect("a file that can be written");
    case.finish(&target);
}

#[test]
fn a_shard_of_another_source_is_not_taken_for_a_finished_one() {
    let case = Case::new();
    let target = case.target("other");
    let other = case.folder.path().join("other.safetensors");
    model(&other, 1);
    let child = start(&other, &target, 0);
    succeeds(&child.wait_with_output().expect("the command ends"));
    let output = start(&case.source, &target, 0).wait_with_output();
    let output = output.expect("the command ends");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("model-00001-of-00010"), "{error}");
    for worker in 0..WORKERS {
        let worker = format!("{worker}/{WORKERS}");
        let options = ["--worker", &worker, "--overwrite"];
        succeeds(&run(&case.source, &target, &options));
    }
    case.finish(&target);
}

#[test]
fn one_file_needs_no_index() {
    let case = Case::new();
    let target = case.target("one");
    let large = ["--max-shard-size", "1GB", "--worker", "1/2"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    command.arg("convert").args([&case.source, &target]);
    let nothing = command.args(large).output().expect("the command runs");
    succeeds(&nothing);
    let text = String::from_utf8_lossy(&nothing.stdout);
    assert!(text.contains("worker 1/2 writes 0 of 1 shards"), "{text}");
    assert!(!target.join("model.safetensors").exists());
}
