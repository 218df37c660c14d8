//! Writing a run.

use std::fs;
use std::path::Path;

use super::{NNRun, metadata};
use crate::best;
use crate::error::{Error, Result};
use crate::history::to_csv;
use crate::layout::{RunFolder, runs_folder};
use crate::lock::FileLock;
use crate::stage::replace_text;
use crate::yaml::to_yaml;

impl NNRun {
    /// Writes `run.yaml`, `metadata.yaml` and `idps.csv`, each whole or not at all, and points
    /// `best` to the run where that is due. A run that keeps its history in a
    /// [journal](Self::history) has no `idps.csv`, and the journal is left as it is.
    ///
    /// A run without metadata gets those of this program. The pointer moves only to a run whose
    /// checkpoint `best` is committed and has a strictly smaller score than the present one's.
    ///
    /// # Errors
    /// - [`ErrorKind::JournalElsewhere`](crate::ErrorKind::JournalElsewhere) when the run's journal
    ///   is under another root.
    /// - When the folder has a journal and the run knows of none, or writing fails.
    pub fn save(&self, root: impl AsRef<Path>) -> Result<()> {
        self.save_files(root.as_ref())?;
        best::update(&self.id, root.as_ref())
    }

    /// [`save`](Self::save) without a look at which run is the best one.
    ///
    /// # Errors
    /// As for [`save`](Self::save).
    pub fn save_history(&self, root: impl AsRef<Path>) -> Result<()> {
        self.save_files(root.as_ref())
    }

    fn save_files(&self, root: &Path) -> Result<()> {
        let folder = RunFolder::new(&self.id, root)?;
        self.check_journal(&folder)?;
        // All texts are made before anything is written.
        let run = to_yaml(&self.full_state()?);
        let history = to_csv(&self.idps)?;
        let metadata = match self.metadata.is_empty() {
            true => to_yaml(&metadata::of_this_program()),
            false => to_yaml(&self.metadata),
        };
        fs::create_dir_all(&folder.path)
            .map_err(|error| Error::from(error).in_path(&runs_folder(root)))?;
        let lock = folder.run_lock();
        let _lock =
            FileLock::exclusive(&lock).map_err(|error| Error::from(error).in_path(&lock))?;
        replace_text(&folder.run_yaml(), &run)?;
        replace_text(&folder.metadata_yaml(), &metadata)?;
        // The records of a journal are in their place already.
        match self.history {
            None => replace_text(&folder.idps_csv(), &history),
            Some(_) => Ok(()),
        }
    }
}
