//! The training states beside a checkpoint, each judged by the rules by which one is chosen.

use std::path::{Path, PathBuf};

use nnx_checkpoint::NNCheckpoint;

use super::load::{chosen, open, training_state};
use super::{CheckpointStore, compatibility_copy, state_files};
use crate::error::{Error, Result};
use crate::tag::CheckpointTag;
use crate::training_state::{TrainingState, keys};

/// What a bare optimizer's state has, as PyTorch's `Optimizer.load_state_dict` asks for it.
const OPTIMIZER_KEYS: [&str; 2] = ["state", "param_groups"];

/// What a file of a training state is to the checkpoint beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrainingStateRole {
    /// A training goes on from it.
    Own,
    /// It repeats the own one, under the name that early versions of NNx look for.
    Copy,
    /// Nothing uses it: it is of another save, or of a checkpoint that says that it has none. A save
    /// that was interrupted leaves such files, and the next one removes them.
    Leftover,
}

impl TrainingStateRole {
    /// The role's name in `snake_case`: for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Copy => "copy",
            Self::Leftover => "leftover",
        }
    }
}

/// A file of a training state, what it is to its checkpoint, and what is wrong with it.
#[derive(Debug)]
#[non_exhaustive]
pub struct TrainingStateFile {
    /// The name of the file, in the folder of the checkpoints.
    pub name: String,
    /// What it is to the checkpoint.
    pub role: TrainingStateRole,
    /// Why it cannot be read, or is not what its name and its checkpoint say.
    pub error: Option<Error>,
}

impl CheckpointStore {
    /// The tags that training states tell of, in order, whether their checkpoints are there or not.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn state_tags(&self) -> Result<Vec<CheckpointTag>> {
        let names = super::names(&self.folder.checkpoints())?;
        let tag = |name: &String| {
            let (checkpoint, rest) = name.split_once(".opt.")?;
            let is_state = rest == "pt" || rest.ends_with(".pt");
            CheckpointTag::of_file(checkpoint).filter(|_| is_state)
        };
        let mut tags: Vec<_> = names.iter().filter_map(tag).collect();
        tags.sort_unstable();
        tags.dedup();
        Ok(tags)
    }

    /// Reads every training state beside a checkpoint, of whatever version of the protocol and
    /// whether a manifest lists it or not, and judges it: the own one, its copy, and what is left
    /// over. They are in the order of their names.
    ///
    /// A checkpoint that names a state that is not there has an own one with that error.
    ///
    /// # Errors
    /// When the checkpoint is there and cannot be read, so that there is nothing to judge by; when
    /// the folder cannot be read. What is wrong with a state is told by its
    /// [`error`](TrainingStateFile::error).
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
            let mut judged = Judged {
                own,
                id: checkpoint.and_then(|checkpoint| checkpoint.training_state_id),
                copy: compatibility_copy(&path),
            };
            Ok(paths.iter().map(|path| judged.file(path)).collect())
        })
    }
}

/// The file that a training would go on from, and what is wrong with it.
fn own(path: &Path, checkpoint: Option<&NNCheckpoint>) -> Option<(PathBuf, Option<Error>)> {
    // Without the checkpoint a state is of nothing.
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
            // A state that is not there has the name that the checkpoint gives it.
            let file = error.path().map_or(file, Path::to_path_buf);
            Some((file, Some(error)))
        }
    }
}

/// What the files beside a checkpoint are judged by.
struct Judged {
    own: Option<(PathBuf, Option<Error>)>,
    /// The id of the state that the checkpoint names.
    id: Option<String>,
    copy: PathBuf,
}

impl Judged {
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

    /// A file that no training goes on from.
    fn other(&self, path: &Path, name: &str) -> (TrainingStateRole, Option<Error>) {
        let is_copy = self.own.is_some() && path == self.copy;
        let unread = match is_copy {
            true => TrainingStateRole::Copy,
            false => TrainingStateRole::Leftover,
        };
        let state = match read(path) {
            Ok(state) => state,
            Err(error) => return (unread, Some(error)),
        };
        let found = state.checkpoint_id();
        if path == self.copy {
            // Of a save that was interrupted the copy is still the one before.
            let repeats = is_copy && found.is_some() && found == self.id.as_deref();
            return match repeats {
                true => (TrainingStateRole::Copy, None),
                false => (TrainingStateRole::Leftover, None),
            };
        }
        let named = found.is_some_and(|id| name.ends_with(&format!(".pt.opt.{id}.pt")));
        let error = (!named).then(|| {
            let found = found.map_or_else(|| "none".to_owned(), |id| format!("`{id}`"));
            let what = format!("expected the id of its name in the training state, found {found}");
            Error::training_state(what).in_path(path)
        });
        (TrainingStateRole::Leftover, error)
    }
}

/// The training state of a file, with the bytes of all its tensors.
fn read(path: &Path) -> Result<TrainingState> {
    TrainingState::read(&open(path)?).map_err(|error| error.in_path(path))
}
