//! One training, by either side.

use std::path::{Path, PathBuf};
use std::process::Command;

use nnx_run::NNRun;
use serde::Serialize;
use serde_json::Value;

use crate::Result;
use crate::workspace::{line_of, output};

/// The program that runs in Python.
const SCRIPT: &str = include_str!("../../python/train.py");

/// The configuration and the data of a training.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Job {
    pub(super) config: PathBuf,
    pub(super) train: PathBuf,
    pub(super) val: Option<PathBuf>,
    pub(super) root: PathBuf,
    pub(super) init_seed: u64,
    pub(super) batch_size: usize,
    pub(super) shuffle: bool,
    pub(super) drop_last: bool,
    /// The seed of the loader's own generator.
    pub(super) generator_seed: Option<u64>,
    /// The run to go on from, at its last checkpoint.
    pub(super) resume: Option<String>,
    /// The number of epochs in place of the configuration's.
    pub(super) epochs: Option<usize>,
}

impl Job {
    /// The same training for some epochs, from the start or from a run.
    pub(super) fn part(&self, epochs: usize, resume: Option<&str>) -> Self {
        Self {
            epochs: Some(epochs),
            resume: resume.map(str::to_owned),
            ..self.clone()
        }
    }

    /// The same training in another folder.
    pub(super) fn below(&self, folder: &str) -> Self {
        Self {
            root: self.root.join(folder),
            ..self.clone()
        }
    }
}

/// The two sides.
#[derive(Debug)]
pub(super) struct Trainers {
    pub(super) python: PathBuf,
    /// The built command `nnx`.
    pub(super) command: PathBuf,
    /// Where files go.
    pub(super) folder: PathBuf,
}

impl Trainers {
    /// Trains with the real NNx; the runs.
    ///
    /// # Errors
    /// When one of the trainings fails.
    pub(super) fn with_python(&self, jobs: &[Job]) -> Result<Vec<NNRun>> {
        let list = self.folder.join("jobs.json");
        std::fs::write(&list, serde_json::to_vec(jobs)?)?;
        let mut command = Command::new(&self.python);
        command.args(["-I", "-c", SCRIPT]).arg(&list);
        let answers: Vec<Value> = serde_json::from_str(&output(&mut command)?)?;
        if answers.len() != jobs.len() {
            return Err(format!("`{}` left trainings out", line_of(&command)).into());
        }
        let runs = jobs.iter().zip(&answers).map(|(job, answer)| {
            if let Some(error) = answer["error"].as_str() {
                return Err(format!("NNx failed to train {job:?}: {error}").into());
            }
            let id = answer["id"].as_str().ok_or("a run without an id")?;
            Ok(NNRun::load(id, &job.root)?)
        });
        runs.collect()
    }

    /// Trains with the command `nnx`; the runs.
    ///
    /// # Errors
    /// When one of the trainings fails.
    pub(super) fn with_nnx(&self, jobs: &[Job]) -> Result<Vec<NNRun>> {
        jobs.iter().map(|job| self.one_with_nnx(job)).collect()
    }

    fn one_with_nnx(&self, job: &Job) -> Result<NNRun> {
        let mut command = Command::new(&self.command);
        command.arg("train").arg(&job.config).arg("--json");
        command.arg("--data").arg(&job.train);
        command.arg("--root").arg(made(&job.root)?);
        command.args(["--threads", "1"]);
        command.args(["--init-seed", &job.init_seed.to_string()]);
        command.args(["--batch-size", &job.batch_size.to_string()]);
        if let Some(val) = &job.val {
            command.arg("--val").arg(val);
        }
        if !job.shuffle {
            command.arg("--no-shuffle");
        }
        if job.drop_last {
            command.arg("--drop-last");
        }
        if let Some(seed) = job.generator_seed {
            command.args(["--loader-seed", &seed.to_string()]);
        }
        if let Some(run) = &job.resume {
            command.args(["--resume", run]);
        }
        if let Some(epochs) = job.epochs {
            command.args(["--epochs", &epochs.to_string()]);
        }
        let answer: Value = serde_json::from_str(&output(&mut command)?)?;
        let id = answer["id"].as_str().ok_or("`nnx train` gives no id")?;
        Ok(NNRun::load(id, &job.root)?)
    }
}

fn made(folder: &Path) -> Result<&Path> {
    std::fs::create_dir_all(folder)?;
    Ok(folder)
}
