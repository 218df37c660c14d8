//! Saving a checkpoint.
//!
//! A save consists of several files, and the process can be stopped between any two writes. The order
//! is NNx's, and each step has a reason:
//!
//! 1. The checkpoint is written under a temporary name. Until it is renamed, the old one counts.
//! 2. The training state is written under a name with the new id, so that it does not overwrite the
//!    old state, which the old checkpoint still names.
//! 3. The new manifest is written under its staged name. Without it, a stop after step 4 would leave a
//!    checkpoint that no manifest describes, and `verify` could not tell it from a changed one.
//! 4. The checkpoint is renamed. From here on the new one counts, and its training state exists.
//! 5. The manifest is renamed, and the staged one removed.
//! 6. The copy for early versions is written, and the old training states are removed. They must
//!    stay until now, because a stop before step 4 leaves the old checkpoint in use.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nnx_checkpoint::{CheckpointFormat, NNCheckpoint};
use nnx_params::Value;
use uuid::Uuid;

use super::step::SaveStep;
use super::{CheckpointStore, compatibility_copy, state_file, state_files};
use crate::error::{Error, Result};
use crate::lock::FileLock;
use crate::manifest::{self, Manifest};
use crate::stage::{Durability, Staged, flush_folder, remove, replace};
use crate::tag::CheckpointTag;
use crate::training_state::TrainingState;

impl CheckpointStore {
    /// Saves a checkpoint and the training state from which a training can resume, and returns the
    /// manifest. If the process is stopped at any moment, the old checkpoint or the new one is
    /// complete, and [`verify`](Self::verify) confirms it.
    ///
    /// If the training state has no optimizer, or there is no training state, only the weights are
    /// saved, and earlier training states of the tag are removed. The saved checkpoint gets a new id.
    ///
    /// # Errors
    /// When the pickle form cannot represent the checkpoint or the state, or writing fails. The old
    /// checkpoint counts until the new one has replaced it.
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
        self.report(SaveStep::Locked);
        let epoch = state.and_then(TrainingState::completed_epoch);
        let save = SaveInProgress {
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

/// A save in progress.
#[derive(Debug)]
struct SaveInProgress<'a> {
    store: &'a CheckpointStore,
    path: &'a Path,
    generation: i128,
    epoch: Value,
}

impl SaveInProgress<'_> {
    fn with_state(self, checkpoint: &NNCheckpoint, state: &TrainingState) -> Result<Manifest> {
        let id = Uuid::new_v4().simple().to_string();
        let mut stamped = checkpoint.clone();
        stamped.training_state_id = Some(id.clone());
        stamped.training_state_present = Some(true);
        // A state that cannot be written is an error before anything is written.
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
        self.store.report(SaveStep::StateWritten);

        let counters = state.counters();
        let manifest = Manifest::new(
            self.generation,
            Some(&id),
            self.epoch.clone(),
            counters.as_ref(),
            &files,
        );
        self.publish(staged, &manifest)?;
        // Only early versions read the copy, so it need not survive a loss of power.
        replace(&compatibility_copy(self.path), Durability::None, archive)?;
        self.store.report(SaveStep::CopyWritten);
        for old in state_files(self.path)? {
            if old != state_path {
                remove(&old)?;
            }
        }
        self.store.report(SaveStep::OldStatesRemoved);
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
        self.store.report(SaveStep::OldStatesRemoved);
        Ok(manifest)
    }

    fn staged(&self, checkpoint: &NNCheckpoint) -> Result<Staged> {
        let staged = Staged::write(self.path, Durability::Flushed, |out| {
            Ok(checkpoint.write_to(out, CheckpointFormat::Pickle)?)
        })?;
        self.store.report(SaveStep::CheckpointStaged);
        Ok(staged)
    }

    /// Replaces the checkpoint and its manifest; see the steps 3 to 5 of the module.
    fn publish(&self, staged: Staged, manifest: &Manifest) -> Result<()> {
        manifest.write_staged(self.path)?;
        self.store.report(SaveStep::ManifestStaged);
        staged.publish()?;
        self.store.report(SaveStep::CheckpointPublished);
        manifest.write(self.path)?;
        self.store.report(SaveStep::ManifestPublished);
        remove(&manifest::staged(self.path))?;
        self.store.report(SaveStep::StagedManifestRemoved);
        if let Some(folder) = self.path.parent() {
            flush_folder(folder);
        }
        self.store.report(SaveStep::FolderFlushed);
        Ok(())
    }
}

/// One more than the larger ordinal of the two manifests; 1 if neither has an ordinal.
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
