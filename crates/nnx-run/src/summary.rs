//! What a list of runs shows.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use nnx_params::Checkpoints;

use crate::best::BestMetric;
use crate::error::Result;
use crate::layout::RunFolder;
use crate::run::ids::{not_text, run_names};
use crate::run::{NNRun, RunWarning};
use crate::store::CheckpointStore;

/// One line of a list of runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// The net, as a person reads it: `feed_fwd`.
    pub net: String,
    /// Epochs that the training was to have.
    pub planned_epochs: usize,
    /// Epochs in the history.
    pub epochs: usize,
    /// Records in the history.
    pub records: usize,
    /// The metric by which the run chose its checkpoint `best`; none where there is no such
    /// checkpoint, or none of it is finite.
    pub best: Option<BestMetric>,
    /// When the run, its history or a checkpoint of it was last written.
    pub last_change: Option<SystemTime>,
    /// What is wrong with the run though it could be read; [`NNRun::warnings`].
    pub warnings: Vec<RunWarning>,
}

impl RunSummary {
    /// Every run, in the order of their ids, or why it cannot be read; none where the folder of
    /// runs is not there.
    ///
    /// # Errors
    /// When the folder of runs cannot be read.
    pub fn all(root: impl AsRef<Path>) -> Result<Vec<(String, Result<Self>)>> {
        let root = root.as_ref();
        let summary = |name: OsString| {
            let Some(id) = name.to_str() else {
                let shown = name.to_string_lossy().into_owned();
                return (shown, Err(not_text(&name, root)));
            };
            let summary = NNRun::load(id, root).and_then(|run| Self::of(&run, id, root));
            (id.to_owned(), summary)
        };
        Ok(run_names(root)?.into_iter().map(summary).collect())
    }

    /// The summary of a run that was loaded from a folder of that name; the folder of a run that
    /// was moved by hand may have another name than its id.
    ///
    /// # Errors
    /// When the checkpoint `best` is there and cannot be read, or the journal cannot.
    pub fn of(run: &NNRun, folder: &str, root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let best = CheckpointStore::new(folder, root)?.load(&Checkpoints::Best.into())?;
        let net = match run.model().net() {
            Some(net) => net.to_string(),
            None => String::new(),
        };
        Ok(Self {
            id: run.id().to_owned(),
            net,
            planned_epochs: run.train().n_epochs(),
            epochs: run.epochs().len(),
            records: usize::try_from(run.record_count()?).unwrap_or(usize::MAX),
            best: best.and_then(|best| BestMetric::of(&best.idp)),
            last_change: last_change(&RunFolder::new(folder, root)?),
            warnings: run.warnings().cloned().collect(),
        })
    }
}

fn last_change(folder: &RunFolder) -> Option<SystemTime> {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let checkpoints = fs::read_dir(folder.checkpoints());
    let checkpoints = checkpoints.into_iter().flatten().flatten();
    // Whoever only looks takes the locks.
    let checkpoints = checkpoints.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !name.starts_with('.') && !name.ends_with(".lock")
    });
    let files = [folder.run_yaml(), folder.idps_csv(), folder.journal()];
    files
        .into_iter()
        .chain(checkpoints.map(|entry| entry.path()))
        .filter_map(|path| modified(&path).ok())
        .max()
}
