//! Writing a run.

use std::fs;
use std::path::Path;

use crate::best_run::update_pointer;
use crate::error::{Error, Result};
use crate::history::to_csv;
use crate::layout::{RunFolder, runs_folder};
use crate::lock::FileLock;
use crate::metadata;
use crate::run::NNRun;
use crate::stage::replace_text;
use crate::yaml::to_yaml;

impl NNRun {
    /// Writes `idps.csv`, `metadata.yaml` and `run.yaml`, in this order, and updates the pointer
    /// `best`. Each file is replaced as a whole or not at all. A run that keeps its history in a
    /// [journal](Self::history) has no `idps.csv`; its journal is not changed.
    ///
    /// A run without metadata gets the metadata of this program. The pointer moves only to a run
    /// whose checkpoint `best` is committed and has a strictly smaller score than that of the run
    /// that the pointer names.
    ///
    /// # Errors
    /// - [`ErrorKind::JournalElsewhere`](crate::ErrorKind::JournalElsewhere) when the run's journal
    ///   is under another root.
    /// - When the folder has a journal that the run does not have, or writing fails.
    pub fn save(&self, root: impl AsRef<Path>) -> Result<()> {
        self.save_history(&root)?;
        update_pointer(self.id(), root.as_ref())
    }

    /// [`save`](Self::save) without updating the pointer `best`.
    ///
    /// # Errors
    /// As for [`save`](Self::save).
    pub fn save_history(&self, root: impl AsRef<Path>) -> Result<()> {
        self.save_files(root.as_ref(), &to_csv(self.idps())?)
    }

    /// [`save_history`](Self::save_history) of a training in progress, whose `idps.csv` gets this text in
    /// place of that of [`idps`](Self::idps): a [`CsvHistory`](crate::history::CsvHistory) makes it
    /// without writing all records anew.
    ///
    /// # Errors
    /// As for [`save`](Self::save).
    pub fn save_history_text(&self, root: impl AsRef<Path>, history: &str) -> Result<()> {
        self.save_files(root.as_ref(), history)
    }

    fn save_files(&self, root: &Path, history: &str) -> Result<()> {
        let folder = RunFolder::new(self.id(), root)?;
        self.check_journal(&folder)?;
        // All texts are made before anything is written, so that a text that cannot be made leaves
        // the old files.
        let run = to_yaml(&self.full_state()?);
        let metadata = if self.metadata().is_empty() {
            to_yaml(&metadata::program_metadata())
        } else {
            to_yaml(self.metadata())
        };
        fs::create_dir_all(&folder.path)
            .map_err(|error| Error::from(error).in_path(&runs_folder(root)))?;
        let lock = folder.run_lock();
        let _lock =
            FileLock::exclusive(&lock).map_err(|error| Error::from(error).in_path(&lock))?;
        if self.history().is_none() {
            replace_text(&folder.idps_csv(), history)?;
        }
        replace_text(&folder.metadata_yaml(), &metadata)?;
        // Last, because a folder with this file is a run: one whose first save is interrupted is none.
        replace_text(&folder.run_yaml(), &run)
    }
}
