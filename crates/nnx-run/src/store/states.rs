//! The training states beside a checkpoint, and whether each can be used.

use std::path::{Path, PathBuf};

use nnx_checkpoint::NNCheckpoint;

use super::load::{chosen, training_state};
use super::{CheckpointStore, compatibility_copy, state_files};
use crate::error::{Error, Result};
use crate::tag::CheckpointTag;
use crate::training_state::file::open;
use crate::training_state::{TrainingState, keys};

/// The keys that PyTorch's `Optimizer.load_state_dict` requires.
const OPTIMIZER_KEYS: [&str; 2] = ["state", "param_groups"];

/// The role of a training state's file for the checkpoint beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrainingStateRole {
    /// A training resumes from it.
    Own,
    /// It repeats the own state, under the name that early versions of NNx read.
    Copy,
    /// Nothing uses it: it is from another save, or the checkpoint says that it has no training state.
    /// A save that was interrupted leaves such files, and the next save removes them.
    Leftover,
}

impl TrainingStateRole {
    /// The name of the role in `snake_case`, for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Copy => "copy",
            Self::Leftover => "leftover",
        }
    }
}

/// The file of a training state, its role, and its problem if there is one.
#[derive(Debug)]
#[non_exhaustive]
pub struct TrainingStateFile {
    /// The name of the file, in the folder of the checkpoints.
    pub name: String,
    /// The role of the file for the checkpoint.
    pub role: TrainingStateRole,
    /// Why the file cannot be read, or does not fit its name and its checkpoint.
    pub error: Option<Error>,
}

impl CheckpointStore {
    /// The tags that have a training state, in order, even if the checkpoint does not exist.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn state_tags(&self) -> Result<Vec<CheckpointTag>> {
        let names = super::names(&self.folder.checkpoints())?;
        let tag = |name: &String| {
            let (checkpoint, rest) = name.split_once(".opt.")?;
            let is_state = rest == "pt" || rest.ends_with(".pt");
            CheckpointTag::from_file_name(checkpoint).filter(|_| is_state)
        };
        let mut tags: Vec<_> = names.iter().filter_map(tag).collect();
        tags.sort_unstable();
        tags.dedup();
        Ok(tags)
    }

    /// Reads every training state beside a checkpoint, of any version and whether a manifest lists it
    /// or not, and determines its role. The files are in the order of their names.
    ///
    /// If the state that the checkpoint names does not exist, the result has an own state with that
    /// error.
    ///
    /// # Errors
    /// When the checkpoint exists and cannot be read, so that no role can be determined; when the
    /// folder cannot be read. The problem of one state is in its [`error`](TrainingStateFile::error).
    pub fn training_state_files(&self, tag: &CheckpointTag) -> Result<Vec<TrainingStateFile>> {
        let path = self.path(tag);
        self.locked(tag, || {
            let checkpoint = self.load(tag)?;
            let mut paths = state_files(&path)?;
            let copy = compatibility_copy(&path);
            paths.extend(Some(copy).filter(|copy| copy.symlink_metadata().is_ok()));
            let own = own(&path, checkpoint.as_ref());
            if let Some((path, _)) = own.as_ref().filter(|(path, _)| !paths.contains(path)) {
                paths.push(path.clone());
            }
            paths.sort_unstable();
            let mut roles = RoleFinder {
                own,
                id: checkpoint.and_then(|checkpoint| checkpoint.training_state_id),
                copy: compatibility_copy(&path),
            };
            Ok(paths.iter().map(|path| roles.file(path)).collect())
        })
    }
}

/// The file from which a training would resume, and its problem if there is one.
fn own(path: &Path, checkpoint: Option<&NNCheckpoint>) -> Option<(PathBuf, Option<Error>)> {
    // Without a checkpoint every state is a leftover.
    checkpoint?;
    let file = chosen(path, checkpoint);
    match training_state(path, checkpoint) {
        Ok(Some(state)) if state.version() == Some(0) => {
            let has = |key: &&str| {
                state
                    .get(keys::OPTIMIZER)
                    .is_some_and(|it| it.get(key).is_some())
            };
            let missing = OPTIMIZER_KEYS.iter().find(|key| !has(key));
            let error = missing.map(|key| {
                Error::training_state(format!(
                    "expected the state of an optimizer, found a mapping without `{key}`"
                ))
                .in_path(&file)
            });
            Some((file, error))
        }
        Ok(Some(_)) => Some((file, None)),
        Ok(None) => None,
        Err(error) => {
            // The error names the file that the checkpoint names, which need not exist.
            let file = error.path().map_or(file, Path::to_path_buf);
            Some((file, Some(error)))
        }
    }
}

/// The facts that determine the roles of the files beside a checkpoint.
struct RoleFinder {
    own: Option<(PathBuf, Option<Error>)>,
    /// The id of the state that the checkpoint names.
    id: Option<String>,
    copy: PathBuf,
}

impl RoleFinder {
    fn file(&mut self, path: &Path) -> TrainingStateFile {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (role, error) = match &mut self.own {
            Some((own, error)) if own == path => (TrainingStateRole::Own, error.take()),
            _ => self.other(path, &name),
        };
        TrainingStateFile {
            name: name.into_owned(),
            role,
            error,
        }
    }

    /// The role and the problem of a file from which no training resumes.
    fn other(&self, path: &Path, name: &str) -> (TrainingStateRole, Option<Error>) {
        let is_copy = self.own.is_some() && path == self.copy;
        let state = match read(path) {
            Ok(state) => state,
            Err(error) if is_copy => return (TrainingStateRole::Copy, Some(error)),
            Err(error) => return (TrainingStateRole::Leftover, Some(error)),
        };
        let found = state.checkpoint_id();
        if path == self.copy {
            // After an interrupted save the copy is still that of the save before.
            let repeats_own = is_copy && found.is_some() && found == self.id.as_deref();
            return if repeats_own {
                (TrainingStateRole::Copy, None)
            } else {
                (TrainingStateRole::Leftover, None)
            };
        }
        let named = found.is_some_and(|id| name.ends_with(&format!(".pt.opt.{id}.pt")));
        let error = (!named).then(|| {
            let found = found.map_or_else(|| "none".to_owned(), |id| format!("`{id}`"));
            let what = format!(
                "expected the id in the file's name also in the training state, found {found}"
            );
            Error::training_state(what).in_path(path)
        });
        (TrainingStateRole::Leftover, error)
    }
}

/// The training state in a file; the bytes of all its tensors are read.
fn read(path: &Path) -> Result<TrainingState> {
    TrainingState::read(&open(path)?).map_err(|error| error.in_path(path))
}
