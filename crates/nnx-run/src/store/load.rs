//! Loading a checkpoint and its training state.

use std::io;
use std::path::{Path, PathBuf};

use nnx_checkpoint::{ErrorKind, NNCheckpoint};
use nnx_params::Value;

use super::{CheckpointStore, compatibility_copy, state_file};
use crate::error::{Error, Result};
use crate::lock::FileLock;
use crate::manifest::Manifest;
use crate::tag::CheckpointTag;
use crate::training_state::file::open;
use crate::training_state::{LATEST_VERSION, TrainingState, keys};

impl CheckpointStore {
    /// The checkpoint of a tag; `None` if it does not exist. No lock is taken, because a save replaces
    /// the file in one step.
    ///
    /// # Errors
    /// When the file exists and is not a checkpoint.
    pub fn load(&self, tag: &CheckpointTag) -> Result<Option<NNCheckpoint>> {
        match NNCheckpoint::from_file(self.path(tag)) {
            Ok(checkpoint) => Ok(Some(checkpoint)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The training state of a checkpoint, if it has one. Versions 0 to 4 are read. A state of another
    /// save is never returned.
    ///
    /// # Errors
    /// When the state that the checkpoint names does not exist, belongs to another checkpoint, or has
    /// a newer version; when a file exists and cannot be read.
    pub fn load_training_state(&self, tag: &CheckpointTag) -> Result<Option<TrainingState>> {
        Ok(self.load_with_training_state(tag)?.1)
    }

    /// The checkpoint of a tag and its training state, both from the same save.
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

    /// The manifest beside a checkpoint; `None` for a checkpoint that was written by a callback, or by a
    /// version of NNx without manifests. After an interrupted save it may describe the previous
    /// checkpoint; [`verify`](Self::verify) takes that into account.
    ///
    /// # Errors
    /// When the manifest exists and cannot be read.
    pub fn resume_point(&self, tag: &CheckpointTag) -> Result<Option<Manifest>> {
        Manifest::read(&self.path(tag))
    }

    /// Checks that the files of a checkpoint are unchanged and from the same save, and returns the
    /// manifest that describes them.
    ///
    /// Without a manifest the checkpoint and its training state are read, and the ids in them are
    /// compared; the result is `None`. (NNx does not check the files in this case.)
    /// [`training_state_files`](Self::training_state_files) also checks training states that are not
    /// used.
    ///
    /// # Errors
    /// [`ResumePoint`](crate::ErrorKind::ResumePoint) when a file is missing, was changed, or is from
    /// another save; without a manifest [`TrainingState`](crate::ErrorKind::TrainingState) when the
    /// state is missing or from another save; another kind when a file cannot be read.
    pub fn verify(&self, tag: &CheckpointTag) -> Result<Option<Manifest>> {
        let path = self.path(tag);
        let checked = self.locked(tag, || {
            let mut manifest = Manifest::read(&path)?;
            let mut problem = match &manifest {
                Some(manifest) => manifest.problem(&path)?,
                None => None,
            };
            // A save that was stopped after it had replaced the checkpoint has left its manifest
            // staged; the manifest beside the checkpoint is still that of the save before.
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

    /// Calls `read` while no writer is active. Without a lock file there never was a writer, and no lock
    /// is taken; if a lock file appears during the call, `read` is called again.
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

/// The file in which the training state of a checkpoint is searched.
pub(super) fn chosen(path: &Path, checkpoint: Option<&NNCheckpoint>) -> PathBuf {
    let id = checkpoint.and_then(|checkpoint| checkpoint.training_state_id.as_deref());
    // The id becomes part of a path, so it must not contain anything but letters and digits.
    let own = id.filter(|id| is_name(id)).map(|id| state_file(path, id));
    let own = own.filter(|path| path.is_file());
    own.unwrap_or_else(|| compatibility_copy(path))
}

/// The training state that belongs to a checkpoint, by the rules of NNx.
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
                let named = if is_name(id) {
                    state_file(path, id)
                } else {
                    file.clone()
                };
                let what = "the training state that the checkpoint names does not exist; use \
                            another checkpoint, or restore the file";
                Err(Error::training_state(what).in_path(&named))
            }
        };
    }
    let object = open(&file)?;
    let state = TrainingState::read(&object).map_err(|error| error.in_path(&file))?;
    let Some(version) = state.get(keys::VERSION) else {
        if id.is_some() {
            return Err(fault(
                "expected the training state that the checkpoint names, found the state of an \
                 optimizer without an id"
                    .to_owned(),
            ));
        }
        let epoch = checkpoint.map(|checkpoint| checkpoint.idp.epoch_idx());
        return Ok(Some(state.into_version_0(epoch)));
    };
    let Some(id) = id else {
        // A leftover: a save of weights alone was interrupted before it removed the old state.
        return Ok(None);
    };
    let version = version.as_int();
    if !version.is_some_and(|version| (1..=LATEST_VERSION).contains(&version)) {
        let found = match version {
            Some(version) => version.to_string(),
            None => "another value".to_owned(),
        };
        return Err(fault(format!(
            "expected a training state of version 1 to {LATEST_VERSION}, found {found}"
        )));
    }
    if state.checkpoint_id() != Some(id) {
        return Err(fault(
            "the training state is from another save than the checkpoint, because a save was \
             interrupted; use another checkpoint"
                .to_owned(),
        ));
    }
    Ok(Some(state))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Compares the ordinal in the training state with that in the manifest.
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
        "the files are from different saves: the manifest from save {}, the training state from {}",
        shown(expected),
        shown(found)
    )))
}
