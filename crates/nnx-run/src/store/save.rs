//! Saving a checkpoint.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nnx_checkpoint::{CheckpointFormat, NNCheckpoint};
use nnx_params::Value;
use uuid::Uuid;

use super::{CheckpointStore, SaveStep, compatibility_copy, state_file, state_files};
use crate::error::{Error, Result};
use crate::lock::FileLock;
use crate::manifest::{self, Manifest};
use crate::stage::{Durability, Staged, flush_folder, remove, replace};
use crate::tag::CheckpointTag;
use crate::training_state::TrainingState;

impl CheckpointStore {
    /// Saves a checkpoint, with the training state from which a training can go on. Whoever stops
    /// the process, at whatever moment, the old checkpoint is whole or the new one, and
    /// [`verify`](Self::verify) finds it so.
    ///
    /// The training state must have an optimizer; without one, as without a state at all, only the
    /// weights are saved, and earlier training states of the tag are removed. The checkpoint is
    /// stamped anew, whatever id it carries. The manifest is the return value.
    ///
    /// # Errors
    /// When the pickle form cannot hold the checkpoint or the state, or writing fails; until the
    /// checkpoint is in its place, the old one counts.
    pub fn save(
        &self,
        tag: &CheckpointTag,
        checkpoint: &NNCheckpoint,
        state: Option<&TrainingState>,
    ) -> Result<Manifest> {
        let path = self.path(tag);
        let folder = self.folder.checkpoints();
        fs::create_dir_all(&folder).map_err(|error| Error::from(error).in_path(&folder))?;
        let lock = self.lock_path(tag);
        let _lock =
            FileLock::exclusive(&lock).map_err(|error| Error::from(error).in_path(&lock))?;
        self.tell(SaveStep::Locked);
        let epoch = state.and_then(TrainingState::completed_epoch);
        let save = Save {
            store: self,
            path: &path,
            generation: next_generation(&path),
            epoch: epoch.map_or(checkpoint.idp.epoch_idx().into(), Value::Int),
        };
        match state.filter(|state| state.has_optimizer()) {
            Some(stateful) => save.with_state(checkpoint, stateful),
            None => save.weights_only(checkpoint, state),
        }
    }
}

/// One save under way.
#[derive(Debug)]
struct Save<'a> {
    store: &'a CheckpointStore,
    path: &'a Path,
    generation: i128,
    epoch: Value,
}

impl Save<'_> {
    fn with_state(self, checkpoint: &NNCheckpoint, state: &TrainingState) -> Result<Manifest> {
        let id = Uuid::new_v4().simple().to_string();
        let mut stamped = checkpoint.clone();
        stamped.training_state_id = Some(id.clone());
        stamped.training_state_present = Some(true);
        // What cannot be written is found out before anything is.
        let object = state
            .stamped(&id, self.generation, self.epoch.clone())?
            .to_object()?;
        let archive = |out: &mut dyn std::io::Write| Ok(object.write_to(out, "archive")?);

        let staged = self.staged(&stamped)?;
        let state_path = state_file(self.path, &id);
        let written = Staged::write(&state_path, Durability::Flushed, archive)?;
        let mut files = BTreeMap::from([(name(self.path), staged.digest.clone())]);
        files.insert(name(&state_path), written.digest.clone());
        written.publish()?;
        self.store.tell(SaveStep::StateWritten);

        let counters = state.counters();
        let manifest = Manifest::new(
            self.generation,
            Some(&id),
            self.epoch.clone(),
            counters.as_ref(),
            &files,
        );
        self.publish(staged, &manifest)?;
        // Nothing goes on from the copy, so that it need not outlast a loss of power.
        replace(&compatibility_copy(self.path), Durability::None, archive)?;
        self.store.tell(SaveStep::CopyWritten);
        for old in state_files(self.path)? {
            if old != state_path {
                remove(&old)?;
            }
        }
        self.store.tell(SaveStep::OldStatesRemoved);
        Ok(manifest)
    }

    fn weights_only(
        self,
        checkpoint: &NNCheckpoint,
        state: Option<&TrainingState>,
    ) -> Result<Manifest> {
        let mut stamped = checkpoint.clone();
        stamped.training_state_id = None;
        stamped.training_state_present = Some(false);
        let staged = self.staged(&stamped)?;
        let files = BTreeMap::from([(name(self.path), staged.digest.clone())]);
        let counters = state.and_then(TrainingState::counters);
        let manifest = Manifest::new(
            self.generation,
            None,
            self.epoch.clone(),
            counters.as_ref(),
            &files,
        );
        self.publish(staged, &manifest)?;
        remove(&compatibility_copy(self.path))?;
        for old in state_files(self.path)? {
            remove(&old)?;
        }
        self.store.tell(SaveStep::OldStatesRemoved);
        Ok(manifest)
    }

    fn staged(&self, checkpoint: &NNCheckpoint) -> Result<Staged> {
        let staged = Staged::write(self.path, Durability::Flushed, |out| {
            Ok(checkpoint.write_to(out, CheckpointFormat::Pickle)?)
        })?;
        self.store.tell(SaveStep::CheckpointStaged);
        Ok(staged)
    }

    /// Puts the checkpoint into its place, between the manifest that is to come and the one that
    /// counts.
    fn publish(&self, staged: Staged, manifest: &Manifest) -> Result<()> {
        manifest.write_staged(self.path)?;
        self.store.tell(SaveStep::ManifestStaged);
        staged.publish()?;
        self.store.tell(SaveStep::CheckpointPublished);
        manifest.write(self.path)?;
        self.store.tell(SaveStep::ManifestPublished);
        remove(&manifest::staged(self.path))?;
        self.store.tell(SaveStep::StagedManifestRemoved);
        if let Some(folder) = self.path.parent() {
            flush_folder(folder);
        }
        self.store.tell(SaveStep::FolderFlushed);
        Ok(())
    }
}

/// One more than the larger ordinal of the two manifests; 1 where neither has one.
fn next_generation(checkpoint: &Path) -> i128 {
    let live = Manifest::read(checkpoint).ok().flatten();
    let staged = Manifest::read_staged(checkpoint);
    let ordinals = [live, staged].into_iter().flatten();
    let ordinals = ordinals.filter_map(|manifest| manifest.generation());
    let largest = ordinals.filter(|&ordinal| ordinal > 0).max();
    largest.unwrap_or_default().saturating_add(1)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
