//! Trainings by the command, against those of the real library.

mod data;
mod digits;
mod interrupt;
mod kill;
mod overwrite;
mod resume;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nnx::NNRun;
use nnx::checkpoint::{CheckpointReader, safetensors};
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// A folder with the data of a fixture, in which runs are trained.
struct Desk {
    folder: tempfile::TempDir,
    fixture: PathBuf,
    /// The description in the fixture.
    about: Value,
}

impl Desk {
    /// The data of a training of the real library as safetensors files.
    fn new(name: &str) -> Self {
        let fixture = fixtures().join("training").join(name);
        let folder = tempfile::tempdir().unwrap();
        let tensors = CheckpointReader::open(fixture.join("tensors.safetensors")).unwrap();
        for part in ["train", "val"] {
            let [inputs, targets] =
                ["0", "1"].map(|which| tensors.tensor(&format!("{part}.{which}")).unwrap());
            let mut file =
                fs::File::create(folder.path().join(format!("{part}.safetensors"))).unwrap();
            let tensors = [("inputs", &inputs), ("targets", &targets)];
            safetensors::write(&mut file, &tensors, None).unwrap();
        }
        let about = fs::read(fixture.join("fixture.json")).unwrap();
        Self {
            folder,
            fixture,
            about: serde_json::from_slice(&about).unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A training of the fixture's configuration with its data, into `runs` below a folder.
    fn train(&self, root: &str, more: &[&str]) -> Command {
        let config = self.fixture.join("run.yaml");
        self.train_as(&config, root, more)
    }

    fn train_as(&self, config: &Path, root: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
        command.current_dir(self.folder.path());
        command.arg("train").arg(config).args(["--root", root]);
        command.args(["--data", "train.safetensors", "--val", "val.safetensors"]);
        let size = self.about["loader"]["train"]["batch_size"].to_string();
        command.args(["--batch-size", &size]);
        let seed = self.about["init_seed"].to_string();
        command.args(["--init-seed", &seed, "--threads", "1"]);
        command.args(more).stdin(Stdio::null());
        command
    }

    /// The configuration with another number of epochs.
    fn config_of_epochs(&self, epochs: usize) -> PathBuf {
        let text = fs::read_to_string(self.fixture.join("run.yaml")).unwrap();
        let changed: Vec<String> = text
            .lines()
            .map(|line| match line.trim_start().strip_prefix("n_epochs: ") {
                Some(_) => format!("  n_epochs: {epochs}"),
                None => line.to_owned(),
            })
            .collect();
        let path = self.path(&format!("epochs_{epochs}.yaml"));
        fs::write(&path, changed.join("\n") + "\n").unwrap();
        path
    }

    fn run(&self, root: &str, id: &str) -> NNRun {
        NNRun::load(id, self.path(root)).unwrap()
    }

    fn nnx(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
        command.current_dir(self.folder.path()).args(words);
        command.output().unwrap()
    }

    /// Runs the command with words as a shell reads them.
    fn nnx_in_shell(&self, words: &str) -> Output {
        self.in_shell(words).output().unwrap()
    }

    fn in_shell(&self, words: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec \"$0\" {words}")]);
        command.arg(env!("CARGO_BIN_EXE_nnx"));
        command.current_dir(self.folder.path());
        command
    }

    /// Checks that all files of a run belong together.
    #[track_caller]
    fn check_sound(&self, root: &str, id: &str) {
        let done = self.nnx(&["runs", "verify", id, "--root", root]);
        let said = String::from_utf8_lossy(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{said}");
    }
}

/// The JSON object that a training prints when it succeeds.
#[track_caller]
fn object(command: &mut Command) -> Value {
    let done = command.arg("--json").output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {stderr}");
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The losses of a run's batches.
fn losses(run: &NNRun) -> Vec<f64> {
    let losses = run.idps().iter().map(|record| record.train_edp().loss());
    losses.map(|loss| loss.unwrap().as_f64()).collect()
}

#[track_caller]
fn check_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found - expected).abs();
        assert!(
            difference <= tolerance * expected.abs(),
            "batch {at}: {found} instead of {expected}"
        );
    }
}

/// The run of a fixture, which Python left.
fn of_python(desk: &Desk) -> NNRun {
    let id = desk.about["run_id"].as_str().unwrap();
    let folder = desk.path("python/runs").join(id);
    fs::create_dir_all(&folder).unwrap();
    for name in ["run.yaml", "idps.csv"] {
        fs::copy(desk.fixture.join(name), folder.join(name)).unwrap();
    }
    desk.run("python", id)
}

#[test]
fn a_training_of_the_real_library_is_trained_again() {
    for name in [
        "ff_adam_default",
        "ff_dropout",
        "ff_no_seed",
        "ff_phase_tags",
    ] {
        let desk = Desk::new(name);
        let python = of_python(&desk);
        let said = object(&mut desk.train("rust", &[]));
        let id = said["id"].as_str().unwrap();
        assert_eq!(id, python.id(), "{name}");
        assert_eq!(said["path"], format!("rust/runs/{id}"));
        assert_eq!(said["epochs"], python.epochs().len(), "{name}");
        assert_eq!(said["interrupted"], false);
        let rust = desk.run("rust", id);
        check_close(&losses(&rust), &losses(&python), 1e-5);
        let last = rust.idps().last().unwrap().train_edp().loss().unwrap();
        assert_eq!(said["last"]["train_edp"]["loss"], last.as_f64());
        // The decisions are the same: which epoch is the best one.
        let best = &desk.about["checkpoints"]["best"]["completed_epoch"];
        assert_eq!(&said["best"]["epoch"], best, "{name}");
        desk.check_sound("rust", id);
    }
}

#[test]
fn an_existing_run_is_replaced_only_on_demand() {
    let desk = Desk::new("ff_adam_default");
    object(&mut desk.train("again", &["--quiet"]));
    let refused = desk.train("again", &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--overwrite"), "{said}");
    let done = desk
        .train("again", &["--overwrite", "--quiet"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert!(done.stderr.is_empty());
}

/// Away from a terminal one line tells of each epoch.
#[test]
fn epochs_are_told_of_on_standard_error() {
    let desk = Desk::new("ff_adam_default");
    let done = desk.train("told", &[]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    for (epoch, line) in lines.iter().enumerate() {
        for part in [
            &format!("epoch {epoch}: train loss "),
            "; val loss ",
            "; rate 0.01; ",
            " steps/s",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }
    assert!(lines[0].contains(" left"), "{said}");
    let told = String::from_utf8_lossy(&done.stdout);
    let id = desk.about["run_id"].as_str().unwrap();
    assert!(
        told.starts_with(&format!("run {id}: 3 epochs, 15 updates\nbest epoch 0: ")),
        "{told}"
    );
    assert!(
        told.ends_with(&format!("files in told/runs/{id}\n")),
        "{told}"
    );
}

/// Every configuration that `nnx init` writes is trained, but for the one that says it is not.
#[test]
fn each_configuration_of_init_trains() {
    let desk = Desk::new("ff_adam_default");
    for net in ["feed_fwd", "feed_fwd_moe"] {
        let name = format!("{net}.yaml");
        let done = desk.nnx(&["init", "--net", net, "--input", "4", "--output", "3", &name]);
        assert!(done.status.success(), "{done:?}");
        let config = desk.path(&name);
        let said = object(&mut desk.train_as(&config, "init", &["--quiet", "--epochs", "2"]));
        assert_eq!(said["epochs"], 2);
    }
    // Twice is an error; the file is still the first one.
    let done = desk.nnx(&["init", "feed_fwd.yaml"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        desk.nnx(&["init", "feed_fwd.yaml", "--overwrite"])
            .status
            .success()
    );
}
