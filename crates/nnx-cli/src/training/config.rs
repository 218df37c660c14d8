//! The configuration of a training, from a file and the arguments.

use std::path::Path;

use nnx::NNRun;
use nnx::params::{NNCheckpointTransform, NNTrainParams, NetParams, Value};

use crate::arguments::training::Train;
use crate::failure::Failure;
use crate::runs;
use crate::shell;

/// The checkpoint that a training goes on from where nothing else is said.
const LAST: &str = "last";

/// A file with the keys of `run.yaml`.
#[derive(Debug)]
pub(super) struct Config {
    run: NNRun,
    pub(super) net: NetParams,
}

/// The checkpoint of a run to go on from.
#[derive(Debug)]
pub(super) struct Source {
    run: String,
    checkpoint: String,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is not a configuration, or is one that needs a program in Python.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        Self::open(path).map_err(|failure| failure.in_path(path))
    }

    fn open(path: &Path) -> Result<Self, Failure> {
        let run = NNRun::from_file(path)?;
        if run.trainer().is_some() {
            let what = "a run of several optimizers needs its objective or its step, which are a \
                        program: train it with `nnx::Training::with_optimizers` or in Python";
            return Err(Failure::new("unsupported", what));
        }
        let net = run.net().cloned().ok_or_else(|| {
            let what = "a net that a Python program registered needs that program";
            Failure::new("unsupported", what)
        })?;
        Ok(Self { run, net })
    }

    pub(super) fn model(&self) -> &nnx::params::NNModelParams {
        self.run.model()
    }

    pub(super) fn transforms(&self) -> &[NNCheckpointTransform] {
        self.run.transforms()
    }

    pub(super) fn salt(&self) -> Option<&str> {
        self.run.salt()
    }

    /// The checkpoint that `--resume` names.
    ///
    /// # Errors
    /// When there is no such run, or several.
    pub(super) fn source(&self, arguments: &Train) -> Result<Option<Source>, Failure> {
        let Some(wanted) = &arguments.resume else {
            return Ok(None);
        };
        let (run, checkpoint) = match wanted.split_once(':') {
            Some((run, checkpoint)) => (run, Some(checkpoint)),
            None => (wanted.as_str(), None),
        };
        let run = runs::folder(run, &arguments.root)?;
        let parents = match self.run.parent() {
            Some((parent, checkpoint)) if parent == run => checkpoint,
            _ => None,
        };
        let checkpoint = checkpoint.or(parents).unwrap_or(LAST).to_owned();
        Ok(Some(Source { run, checkpoint }))
    }

    /// Notes on the configuration for the user.
    pub(super) fn notes(&self, source: Option<&Source>) -> Vec<String> {
        match (self.run.parent(), source) {
            (Some((parent, _)), None) => vec![format!(
                "the configuration names the run `{parent}` as its parent, which is recorded; nothing \
                 of it is restored without `--resume={}`",
                shell::quoted(parent)
            )],
            _ => Vec::new(),
        }
    }

    /// The parameters of the training: those of the file, changed by the arguments.
    ///
    /// # Errors
    /// When they do not go together.
    pub(super) fn train(
        &self,
        arguments: &Train,
        source: Option<&Source>,
    ) -> Result<NNTrainParams, Failure> {
        let mut fields = self.run.train().state();
        let checkpoint = fields.remove("parent_checkpoint");
        match source {
            Some(source) => {
                fields.remove("parent_run_id");
                fields.insert("resume_from_run_id", source.run.as_str());
                fields.insert("resume_from_checkpoint", source.checkpoint.as_str());
                if arguments.weights_only {
                    fields.insert("resume_mode", "weights_only");
                }
            }
            None => {
                if let Some(checkpoint) = checkpoint {
                    fields.insert("resume_from_checkpoint", checkpoint);
                }
            }
        }
        if let Some(epochs) = arguments.epochs {
            fields.insert("n_epochs", Value::Int(epochs as i128));
        }
        fields.insert("overwrite_existing", Value::Bool(arguments.overwrite));
        NNTrainParams::from_fields(&fields).map_err(|error| {
            let error = nnx::run::Error::from(error);
            Failure::from(error).in_path(&arguments.config)
        })
    }
}
