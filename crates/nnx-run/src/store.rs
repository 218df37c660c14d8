//! The checkpoints of one run, with the training state beside each.

mod load;
mod save;
mod states;
mod step;

pub use states::{TrainingStateFile, TrainingStateRole};
pub use step::SaveStep;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::layout::RunFolder;
use crate::lock::is_absence;
use crate::manifest::{MANIFEST_SUFFIX, with_suffix};
use crate::stage::digest_of;
use crate::tag::CheckpointTag;

/// The checkpoints of one run: `runs/<id>/checkpoints`.
///
/// What Python's `NNCheckpoint` does for a run of a name, this does for the run that it is of. Both
/// may work on one run at a time: writers take the same lock file and keep the same order of steps.
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
    /// The checkpoints of the run of that id under a root. Nothing is read or created.
    ///
    /// # Errors
    /// When the id could lead out of the folder of runs.
    pub fn new(id: &str, root: impl AsRef<Path>) -> Result<Self> {
        Ok(Self {
            folder: RunFolder::new(id, root.as_ref())?,
            on_step: None,
        })
    }

    /// The same store, whose saves tell of each step that they have made: to show progress, and to
    /// stop a writer at any step in a test.
    #[must_use]
    pub fn on_step(mut self, call: impl Fn(SaveStep) + Send + Sync + 'static) -> Self {
        self.on_step = Some(Arc::new(call));
        self
    }

    /// The id of the run.
    pub fn id(&self) -> &str {
        &self.folder.id
    }

    /// Where the file of a checkpoint is, or would be.
    pub fn path(&self, tag: &CheckpointTag) -> PathBuf {
        self.folder.checkpoints().join(tag.file_name())
    }

    /// The tags of the checkpoints that are there, in order; none where the run is not there.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn tags(&self) -> Result<Vec<CheckpointTag>> {
        let folder = self.folder.checkpoints();
        let mut tags: Vec<_> = names(&folder)?
            .iter()
            .filter_map(|name| CheckpointTag::of_file(name))
            .collect();
        tags.sort_unstable();
        Ok(tags)
    }

    /// The tags that a manifest tells of, in order, whether their checkpoints are there or not.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn manifest_tags(&self) -> Result<Vec<CheckpointTag>> {
        let names = names(&self.folder.checkpoints())?;
        let mut tags: Vec<_> = names
            .iter()
            .filter_map(|name| CheckpointTag::of_file(name.strip_suffix(MANIFEST_SUFFIX)?))
            .collect();
        tags.sort_unstable();
        Ok(tags)
    }

    /// The names of files in the folder that end as checkpoints do and are none: their names are no
    /// tags, and no training states.
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
                && CheckpointTag::of_file(name).is_none()
        });
        names.sort_unstable();
        Ok(names)
    }

    /// The files of a checkpoint that are there, each with the sha-256 digest of its bytes as they
    /// are: the checkpoint and its training states.
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
                Some(digest_of(&path).map(|digest| (name, digest)))
            })
            .collect()
    }

    fn lock_path(&self, tag: &CheckpointTag) -> PathBuf {
        with_suffix(&self.path(tag), ".lock")
    }

    fn tell(&self, step: SaveStep) {
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

/// The training state of one save of a checkpoint.
fn state_file(checkpoint: &Path, id: &str) -> PathBuf {
    with_suffix(checkpoint, &format!(".opt.{id}.pt"))
}

/// The copy of the training state under the name that early versions of NNx look for.
fn compatibility_copy(checkpoint: &Path) -> PathBuf {
    with_suffix(checkpoint, ".opt.pt")
}

/// The training states of all saves of a checkpoint that are there.
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

/// The names in a folder; none where it is not there.
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
