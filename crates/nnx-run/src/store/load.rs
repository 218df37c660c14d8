//! Loading a checkpoint and its training state.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nnx_checkpoint::torch::TorchObject;
use nnx_checkpoint::{ErrorKind, Limits, NNCheckpoint, Source};
use nnx_params::Value;

use super::{CheckpointStore, compatibility_copy, state_file};
use crate::error::{Error, Result};
use crate::lock::FileLock;
use crate::manifest::Manifest;
use crate::tag::CheckpointTag;
use crate::training_state::{LATEST_VERSION, TrainingState, keys};

impl CheckpointStore {
    /// The checkpoint of a tag, if it is there. It takes no lock: a checkpoint is put into its place
    /// in one step.
    ///
    /// # Errors
    /// When the file is there and is no checkpoint.
    pub fn load(&self, tag: &CheckpointTag) -> Result<Option<NNCheckpoint>> {
        match NNCheckpoint::from_file(self.path(tag)) {
            Ok(checkpoint) => Ok(Some(checkpoint)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The training state of a checkpoint, if it has one. States of the versions 0 to 4 are read;
    /// what is stale, or another checkpoint's, is never taken.
    ///
    /// # Errors
    /// When the checkpoint names a state that is not there, is another one's, or is of a later
    /// version; when a file is there and cannot be read.
    pub fn load_training_state(&self, tag: &CheckpointTag) -> Result<Option<TrainingState>> {
        Ok(self.load_with_training_state(tag)?.1)
    }

    /// The checkpoint of a tag and its training state, both of one save.
    ///
    /// # Errors
    /// As for [`load_training_state`](Self::load_training_state).
    pub fn load_with_training_state(
        &self,
        tag: &CheckpointTag,
    ) -> Result<(Option<NNCheckpoint>, Option<TrainingState>)> {
        self.locked(tag, || {
            let checkpoint = self.load(tag)?;
            let state = training_state(&self.path(tag), checkpoint.as_ref())?;
            Ok((checkpoint, state))
        })
    }

    /// The manifest beside a checkpoint, as it is; none for a checkpoint that was written before
    /// there were manifests, or by a callback. After an interrupted save it may tell of the
    /// checkpoint before: [`verify`](Self::verify) sees through that.
    ///
    /// # Errors
    /// When the manifest is there and cannot be read.
    pub fn resume_point(&self, tag: &CheckpointTag) -> Result<Option<Manifest>> {
        Manifest::read(&self.path(tag))
    }

    /// Checks that the files of a checkpoint are those of one save, unchanged, and gives the
    /// manifest that tells of them.
    ///
    /// Where there is no manifest, none is given; the checkpoint and its training state are then read
    /// as far as they go, and judged by the ids that they carry. (The reference does not look at them
    /// in this case.) [`training_state_files`](Self::training_state_files) judges those that do not
    /// count as well.
    ///
    /// # Errors
    /// [`ResumePoint`](crate::ErrorKind::ResumePoint) when a file is missing, changed, or of another
    /// save; without a manifest [`TrainingState`](crate::ErrorKind::TrainingState) when the state is
    /// missing or of another save; another kind when a file cannot be read.
    pub fn verify(&self, tag: &CheckpointTag) -> Result<Option<Manifest>> {
        let path = self.path(tag);
        let checked = self.locked(tag, || {
            let mut manifest = Manifest::read(&path)?;
            let mut problem = match &manifest {
                Some(manifest) => manifest.problem(&path)?,
                None => None,
            };
            if (manifest.is_none() || problem.is_some())
                && let Some(staged) = Manifest::read_staged(&path)
                && staged.problem(&path)?.is_none()
            {
                manifest = Some(staged);
                problem = None;
            }
            match (manifest, problem) {
                (_, Some(problem)) => Err(Error::resume_point(problem)),
                (Some(manifest), None) => {
                    check_generation(&manifest, &path)?;
                    Ok(Some(manifest))
                }
                (None, None) => {
                    let checkpoint = self.load(tag)?;
                    training_state(&path, checkpoint.as_ref())?;
                    Ok(None)
                }
            }
        });
        checked.map_err(|error| error.in_path(&path))
    }

    /// Reads while no writer writes. Where there is no lock file no writer was ever there; when one
    /// comes meanwhile, what was read is read again.
    pub(super) fn locked<T>(&self, tag: &CheckpointTag, read: impl Fn() -> Result<T>) -> Result<T> {
        let path = self.lock_path(tag);
        let lock = || {
            FileLock::shared(&path).map_err(|error: io::Error| Error::from(error).in_path(&path))
        };
        if let Some(_lock) = lock()? {
            return read();
        }
        let result = read();
        match lock()? {
            Some(_lock) => read(),
            None => result,
        }
    }
}

fn is_absence(error: &nnx_checkpoint::Error) -> bool {
    match error.kind() {
        ErrorKind::NotFound => true,
        ErrorKind::Io(error) => crate::lock::is_absence(error),
        _ => false,
    }
}

/// The graph of a training state's file.
pub(super) fn open(path: &Path) -> Result<Arc<TorchObject>> {
    let located = |error: nnx_checkpoint::Error| Error::from(error).in_path(path);
    let source = Source::open(path).map_err(located)?;
    let object = TorchObject::from_bytes(source.bytes(), &Limits::default()).map_err(located)?;
    Ok(Arc::new(object))
}

/// The file that the training state of a checkpoint is looked for in.
pub(super) fn chosen(path: &Path, checkpoint: Option<&NNCheckpoint>) -> PathBuf {
    let id = checkpoint.and_then(|checkpoint| checkpoint.training_state_id.as_deref());
    // An id that could lead elsewhere names no file.
    let own = id.filter(|id| is_name(id)).map(|id| state_file(path, id));
    let own = own.filter(|path| path.is_file());
    own.unwrap_or_else(|| compatibility_copy(path))
}

/// The training state that belongs to a checkpoint, by the rules of the reference.
pub(super) fn training_state(
    path: &Path,
    checkpoint: Option<&NNCheckpoint>,
) -> Result<Option<TrainingState>> {
    if checkpoint.is_some_and(|checkpoint| checkpoint.training_state_present == Some(false)) {
        return Ok(None);
    }
    let id = checkpoint.and_then(|checkpoint| checkpoint.training_state_id.as_deref());
    let file = chosen(path, checkpoint);
    let fault = |what: String| Error::training_state(what).in_path(&file);
    if !file.is_file() {
        return match id {
            None => Ok(None),
            Some(id) => {
                let named = match is_name(id) {
                    true => state_file(path, id),
                    false => file.clone(),
                };
                let what = "the checkpoint names a training state that is not there; take another \
                            checkpoint, or restore the file";
                Err(Error::training_state(what).in_path(&named))
            }
        };
    }
    let object = open(&file)?;
    let state = TrainingState::read(&object).map_err(|error| error.in_path(&file))?;
    let Some(version) = state.get(keys::VERSION) else {
        if id.is_some() {
            return Err(fault(
                "the checkpoint names a training state, found an optimizer's state of before there \
                 were ids"
                    .to_owned(),
            ));
        }
        let epoch = checkpoint.map(|checkpoint| checkpoint.idp.epoch_idx());
        return Ok(Some(state.into_version_0(epoch)));
    };
    let Some(id) = id else {
        // What an interrupted save of weights alone has not removed yet.
        return Ok(None);
    };
    let version = version.as_int();
    if !version.is_some_and(|version| (1..=LATEST_VERSION).contains(&version)) {
        let found = match version {
            Some(version) => version.to_string(),
            None => "no integer".to_owned(),
        };
        return Err(fault(format!(
            "expected a training state of version 1 to {LATEST_VERSION}, found {found}"
        )));
    }
    if state.checkpoint_id() != Some(id) {
        return Err(fault(
            "the training state is of another save than the checkpoint, which was interrupted; take \
             another checkpoint"
                .to_owned(),
        ));
    }
    Ok(Some(state))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Compares the ordinal in the training state with the manifest's.
fn check_generation(manifest: &Manifest, path: &Path) -> Result<()> {
    let Some(id) = manifest.checkpoint_id() else {
        return Ok(());
    };
    let object = open(&state_file(path, id))?;
    let graph = object.graph();
    let Some(found) = graph.get(graph.root(), keys::GENERATION) else {
        return Ok(());
    };
    let found = TrainingState::plain(&object, found)?
        .as_int()
        .map(Value::Int);
    let expected = manifest.generation().map(Value::Int);
    if found == expected {
        return Ok(());
    }
    let shown = |value: Option<Value>| match value.and_then(|value| value.as_int()) {
        Some(ordinal) => ordinal.to_string(),
        None => "none".to_owned(),
    };
    Err(Error::resume_point(format!(
        "the files are of different saves: the manifest is of save {}, the training state of {}",
        shown(expected),
        shown(found)
    )))
}
