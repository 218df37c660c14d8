//! Conversions that are killed, and such as are asked to stop.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Conversions that are killed.
const KILLS: u32 = 200;
/// Bytes of the tensor: enough that a kill meets every stage of the work.
const BYTES: usize = 8 << 20;

fn nnx(source: &Path, target: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_nnx"))
        .arg("convert")
        .args([source, target])
        .arg("--overwrite")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs")
}

/// A safetensors file with one tensor of that byte over and over.
fn model(path: &Path, byte: u8) {
    let header =
        format!("{{\"w\":{{\"dtype\":\"U8\",\"shape\":[{BYTES}],\"data_offsets\":[0,{BYTES}]}}}}");
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + BYTES, byte);
    fs::write(path, file).expect("a folder that can be written");
}

fn temporaries(folder: &Path) -> usize {
    fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().ends_with(".nnx-tmp"))
        .count()
}

#[test]
fn a_killed_conversion_leaves_the_old_file_or_the_new_one() {
    let sources = tempfile::tempdir().expect("a temporary folder");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("model.safetensors");
    let [a, b] = [b'a', b'b'].map(|byte| {
        let path = sources.path().join(format!("{}.safetensors", byte as char));
        model(&path, byte);
        path
    });
    let finish = |source: &Path| {
        let status = nnx(source, &target).wait().expect("the command ends");
        assert!(status.success());
        fs::read(&target).expect("the target")
    };
    let whole = [finish(&a), finish(&b)];
    let begin = Instant::now();
    finish(&a);
    let usual = begin.elapsed();

    let (mut killed, mut new, mut seen_temporary) = (0, 0, 0);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for turn in 0..KILLS {
        // Xorshift: the moments differ from turn to turn and not from run to run.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let moment = usual.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64);
        let before = fs::read(&target).expect("the target");
        let source = if turn % 2 == 0 { &b } else { &a };
        let mut child = nnx(source, &target);
        sleep(moment);
        child.kill().expect("a signal can be sent");
        let status = child.wait().expect("the command ends");
        killed += u32::from(!status.success());
        let after = fs::read(&target).expect("the target is there");
        assert!(whole.contains(&after), "turn {turn}: neither old nor new");
        new += u32::from(after != before);
        let left = temporaries(folder.path());
        assert!(left <= 1, "turn {turn}: {left} temporary files");
        seen_temporary += left;
    }
    println!(
        "{KILLS} conversions, {killed} killed on the way; the target was new {new} times and old \
         otherwise; {seen_temporary} left a temporary file"
    );
    assert!(killed > KILLS / 4, "only {killed} were killed on the way");
    assert!(seen_temporary > 0, "no kill met the writing");
    finish(&a);
    assert_eq!(temporaries(folder.path()), 0);
}

/// Ctrl-C, and the signal of a service manager.
#[test]
fn an_interrupted_conversion_cleans_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("source.safetensors");
    let target = folder.path().join("target.safetensors");
    model(&source, b'a');
    fs::write(&target, b"old").expect("a folder that can be written");
    let mut stopped = 0;
    for turn in 0..200 {
        let mut child = nnx(&source, &target);
        while temporaries(folder.path()) == 0 && child.try_wait().expect("a child").is_none() {
            sleep(Duration::from_micros(200));
        }
        let signal = if turn % 2 == 0 { "-INT" } else { "-TERM" };
        let _ = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        let status = child.wait().expect("the command ends");
        assert_eq!(temporaries(folder.path()), 0, "turn {turn}");
        if status.success() {
            fs::write(&target, b"old").expect("a folder that can be written");
            continue;
        }
        assert_eq!(status.code(), Some(130), "turn {turn}: {status}");
        assert_eq!(fs::read(&target).expect("the target"), b"old");
        stopped += 1;
        if stopped >= 10 {
            return;
        }
    }
    panic!("only {stopped} conversions were stopped");
}

/// Two processes that write one target: it is whole, and that of one of them.
#[test]
fn two_conversions_to_one_target_do_not_mix() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("model.safetensors");
    let sources = [b'a', b'b'].map(|byte| {
        let path = folder.path().join(format!("{}.safetensors", byte as char));
        model(&path, byte);
        path
    });
    for _ in 0..10 {
        let mut children = sources.each_ref().map(|source| nnx(source, &target));
        for child in &mut children {
            assert!(child.wait().expect("the command ends").success());
        }
        let found = fs::read(&target).expect("the target");
        let data = &found[found.len() - BYTES..];
        assert!(data.iter().all(|byte| *byte == data[0]), "bytes of both");
        assert_eq!(temporaries(folder.path()), 0);
    }
}
