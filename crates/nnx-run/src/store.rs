//! The checkpoints of one run, and their training states.

mod load;
mod save;
pub(crate) mod states;
pub(crate) mod step;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::layout::RunFolder;
use crate::lock::is_absence;
use crate::manifest::{MANIFEST_SUFFIX, with_suffix};
use crate::stage::file_digest;
use crate::tag::CheckpointTag;
use step::SaveStep;

/// The checkpoints of one run: `runs/<id>/checkpoints`.
///
/// It corresponds to the methods of Python's `NNCheckpoint` that take the id of a run. Python and this
/// crate can work on one run at the same time: writers take the same lock file and make the same
/// steps in the same order.
///
/// ```
/// use nnx_params::Checkpoints;
/// use nnx_run::CheckpointStore;
///
/// let root = tempfile::tempdir()?;
/// let store = CheckpointStore::new("cbcb83e7e2b607e54bb9725aa8d31d75", root.path())?;
/// assert!(store.load(&Checkpoints::Last.into())?.is_none());
/// assert!(store.verify(&Checkpoints::Last.into())?.is_none());
/// assert_eq!(std::fs::read_dir(root.path())?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CheckpointStore {
    folder: RunFolder,
    on_step: Option<Arc<dyn Fn(SaveStep) + Send + Sync>>,
}

impl CheckpointStore {
    /// The checkpoints of the run with that id under a root. Nothing is read or created.
    ///
    /// # Errors
    /// When the id could lead out of the folder of runs.
    pub fn new(id: &str, root: impl AsRef<Path>) -> Result<Self> {
        Ok(Self {
            folder: RunFolder::new(id, root.as_ref())?,
            on_step: None,
        })
    }

    /// The same store, whose saves call a function after each step: to show progress, or to stop a
    /// writer at a certain step in a test.
    #[must_use]
    pub fn on_step(mut self, call: impl Fn(SaveStep) + Send + Sync + 'static) -> Self {
        self.on_step = Some(Arc::new(call));
        self
    }

    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.folder.id
    }

    /// The path of a checkpoint's file, which need not exist.
    pub fn path(&self, tag: &CheckpointTag) -> PathBuf {
        self.folder.checkpoints().join(tag.file_name())
    }

    /// The tags of the checkpoints that exist, in order; empty if the run does not exist.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn tags(&self) -> Result<Vec<CheckpointTag>> {
        let folder = self.folder.checkpoints();
        let mut tags: Vec<_> = names(&folder)?
            .iter()
            .filter_map(|name| CheckpointTag::from_file_name(name))
            .collect();
        tags.sort_unstable();
        Ok(tags)
    }

    /// The tags that have a manifest, in order, even if the checkpoint does not exist.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn manifest_tags(&self) -> Result<Vec<CheckpointTag>> {
        let names = names(&self.folder.checkpoints())?;
        let mut tags: Vec<_> = names
            .iter()
            .filter_map(|name| CheckpointTag::from_file_name(name.strip_suffix(MANIFEST_SUFFIX)?))
            .collect();
        tags.sort_unstable();
        Ok(tags)
    }

    /// The names of `.pt` files in the folder that are neither checkpoints nor training states, because
    /// their names are not valid tags.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn other_files(&self) -> Result<Vec<String>> {
        let mut names = names(&self.folder.checkpoints())?;
        names.retain(|name| {
            let is_hidden = name.starts_with('.');
            let is_state = name.contains(".pt.opt.");
            name.ends_with(".pt")
                && !is_hidden
                && !is_state
                && CheckpointTag::from_file_name(name).is_none()
        });
        names.sort_unstable();
        Ok(names)
    }

    /// The files of a checkpoint that exist, the checkpoint and its training states, each with the
    /// sha-256 digest of its bytes in lower-case hex.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn digests(&self, tag: &CheckpointTag) -> Result<BTreeMap<String, String>> {
        let folder = self.folder.checkpoints();
        let path = self.path(tag);
        let mut files = state_files(&path)?;
        files.push(compatibility_copy(&path));
        files.push(path);
        files
            .into_iter()
            .filter(|path| path.is_file())
            .filter_map(|path| {
                let name = path.strip_prefix(&folder).ok()?;
                let name = name.to_string_lossy().into_owned();
                Some(file_digest(&path).map(|digest| (name, digest)))
            })
            .collect()
    }

    fn lock_path(&self, tag: &CheckpointTag) -> PathBuf {
        with_suffix(&self.path(tag), ".lock")
    }

    fn report(&self, step: SaveStep) {
        if let Some(call) = &self.on_step {
            call(step);
        }
    }
}

impl fmt::Debug for CheckpointStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointStore")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// The path of the training state of one save of a checkpoint.
fn state_file(checkpoint: &Path, id: &str) -> PathBuf {
    with_suffix(checkpoint, &format!(".opt.{id}.pt"))
}

/// The path of the copy of the training state, which early versions of NNx read.
fn compatibility_copy(checkpoint: &Path) -> PathBuf {
    with_suffix(checkpoint, ".opt.pt")
}

/// The paths of the training states of all saves of a checkpoint that exist.
fn state_files(checkpoint: &Path) -> Result<Vec<PathBuf>> {
    let (Some(folder), Some(name)) = (checkpoint.parent(), checkpoint.file_name()) else {
        return Ok(Vec::new());
    };
    let prefix = format!("{}.opt.", name.to_string_lossy());
    let is_state = |name: &&String| {
        let rest = name.strip_prefix(&prefix);
        rest.is_some_and(|rest| rest.ends_with(".pt") && rest != "pt")
    };
    let names = names(folder)?;
    Ok(names
        .iter()
        .filter(is_state)
        .map(|name| folder.join(name))
        .collect())
}

/// The names in a folder; empty if it does not exist.
fn names(folder: &Path) -> Result<Vec<String>> {
    let located = |error| Error::from(error).in_path(folder);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absence(&error) => return Ok(Vec::new()),
        Err(error) => return Err(located(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry.map_err(located)?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}
