//! One line of a list of runs.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use nnx_params::Checkpoints;

use crate::best_metric::BestMetric;
use crate::error::Result;
use crate::layout::RunFolder;
use crate::run::NNRun;
use crate::store::CheckpointStore;
use crate::warning::RunWarning;

/// One line of a list of runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// The net, such as `feed_fwd`.
    pub net: String,
    /// The number of epochs in the training's parameters.
    pub planned_epochs: usize,
    /// The number of epochs in the history.
    pub epochs: usize,
    /// The number of records in the history.
    pub records: usize,
    /// The metric by which the run chose its checkpoint `best`; `None` if there is no such checkpoint,
    /// or it has no finite metric.
    pub best: Option<BestMetric>,
    /// When the run, its history or a checkpoint of it was last written.
    pub last_change: Option<SystemTime>,
    /// The problems that did not prevent reading the run; [`NNRun::warnings`].
    pub warnings: Vec<RunWarning>,
}

impl RunSummary {
    /// The summary of every run in the order of their ids, each with the name of its folder, or the
    /// reason why there is none; empty if there is no folder of runs. [`NNRun::all`] gives the runs.
    ///
    /// # Errors
    /// When the folder of runs cannot be read.
    pub fn all(root: impl AsRef<Path>) -> Result<Vec<(String, Result<Self>)>> {
        let root = root.as_ref();
        let summaries = NNRun::each(root)?.map(|(folder, run)| {
            let summary = run.and_then(|run| Self::new(&run, &folder, root));
            (folder, summary)
        });
        Ok(summaries.collect())
    }

    /// The summary of a run that was loaded from the folder of that name, which is not the run's id
    /// if the folder was renamed by hand.
    ///
    /// # Errors
    /// When the checkpoint `best` or the journal exists and cannot be read.
    pub fn new(run: &NNRun, folder: &str, root: impl AsRef<Path>) -> Result<Self> {
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
            best: best.and_then(|best| BestMetric::from_record(&best.idp)),
            last_change: last_change(&RunFolder::new(folder, root)?),
            warnings: run.warnings().cloned().collect(),
        })
    }
}

fn last_change(folder: &RunFolder) -> Option<SystemTime> {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let checkpoints = fs::read_dir(folder.checkpoints());
    let checkpoints = checkpoints.into_iter().flatten().flatten();
    // Reading takes the locks, and hidden files are temporary.
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
