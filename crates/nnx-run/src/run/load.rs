//! Reading a run.

use std::path::Path;

use nnx_params::{
    Checkpoints, NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NNTrainParams,
    NNTrainerParams, NetDescriptor, NetParams, State, Value,
};

use super::{NNRun, RunWarning, ids, metadata, verify};
use crate::error::{Error, Result};
use crate::history::from_csv;
use crate::journal::JournalReader;
use crate::layout::{RunFolder, read_bounded, read_text};
use crate::limits::{MAX_HISTORY_BYTES, MAX_YAML_BYTES};
use crate::store::CheckpointStore;
use crate::yaml::from_yaml;

/// The keys of `run.yaml` that this version knows.
const KNOWN: [&str; 7] = [
    "id",
    "model",
    "net",
    "train",
    "trainer",
    "salt",
    "transforms",
];

/// Whether the records of a run are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// They are read.
    Read,
    /// They are not, but those in a CSV file are checked, as the reference does when it elects.
    Checked,
}

impl NNRun {
    /// Reads a run. The id in its `run.yaml` is not believed but computed again.
    ///
    /// Where the folder is marked as one whose history is committed by its checkpoint `last`,
    /// records of a later epoch are left out: they are of an epoch that was not finished. Of a
    /// history in a journal only the last records are read, as many as the journal says.
    ///
    /// # Errors
    /// - [`ErrorKind::NoSuchRun`](crate::ErrorKind::NoSuchRun) when there is no `run.yaml`; nothing
    ///   is created.
    /// - When the id could lead out of the folder of runs, or a file is malformed.
    /// - [`ErrorKind::HistoryCorruption`](crate::ErrorKind::HistoryCorruption) when the run keeps its
    ///   history in a journal whose files do not belong together.
    pub fn load(id: &str, root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let folder = RunFolder::new(id, root)?;
        if !ids::is_there(&folder.run_yaml())? {
            return Err(folder.missing());
        }
        let committed = committed_epoch(&folder, root)?;
        Self::read(&folder, Records::Read, committed)
    }

    /// Reads a run as [`load`](Self::load) does and checks that nothing of its history is lost: each
    /// record is of an epoch, counted from 0, and where the checkpoint `last` commits the history, it
    /// is there and the history reaches its epoch. A run whose first epoch was not finished has no
    /// such checkpoint yet, nor any other: that is sound. A journal is read as a whole, each chunk compared
    /// with its digest.
    ///
    /// The checkpoints are checked by [`CheckpointStore::verify`], the metadata by
    /// [`read_metadata`](Self::read_metadata), the id by whoever knows it.
    ///
    /// # Errors
    /// As for [`load`](Self::load); [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) when the
    /// history ends too early, or a record or the checkpoint `last` is of no epoch.
    pub fn verify(id: &str, root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let run = Self::load(id, root)?;
        let folder = RunFolder::new(id, root)?;
        match folder.has_journal() {
            true => JournalReader::open(&folder.history())?.verify()?,
            false => verify::epochs(&idps(&folder, None)?, &folder.idps_csv())?,
        }
        let Some(committed) = committed_epoch(&folder, root)? else {
            return Ok(run);
        };
        verify::committed(committed, &folder)?;
        if committed < 0.0 {
            let all = Self::read(&folder, Records::Read, None)?;
            let recorded = all.record_count()?;
            return match verify::is_before_the_first_checkpoint(&all, &folder, root)? {
                true => Ok(run),
                false => Err(Error::malformed(format!(
                    "the history has {recorded} records, but the checkpoint `last`, which says how \
                     many of them count, is not there"
                ))
                .in_path(&folder.path)),
            };
        }
        let epochs = run.idps.iter().map(|idp| idp.epoch_idx().as_f64());
        let last = epochs.fold(-1.0, f64::max);
        if last < committed {
            let found = match last < 0.0 {
                true => "none".to_owned(),
                false => format!("epoch {last} as its last one"),
            };
            return Err(Error::malformed(format!(
                "expected a history up to epoch {committed}, which the checkpoint `last` says was \
                 finished, found {found}"
            ))
            .in_path(&folder.path));
        }
        Ok(run)
    }

    /// Every run, in the order of their ids; none where the folder of runs is not there.
    ///
    /// # Errors
    /// When one cannot be read; [`RunSummary::all`](crate::RunSummary::all) goes on then.
    pub fn all(root: impl AsRef<Path>) -> Result<Vec<Self>> {
        let root = root.as_ref();
        let ids = ids::run_ids(root)?;
        ids.iter().map(|id| Self::load(id, root)).collect()
    }

    /// The names of the folders that hold a run, in order; none where the folder of runs is not
    /// there. Such a name is the run's id, unless somebody renamed the folder.
    ///
    /// A folder that cannot be looked into is among them, since it may hold a run; one whose name is
    /// not UTF-8 is not, and [`RunSummary::all`](crate::RunSummary::all) tells of it.
    ///
    /// # Errors
    /// When the folder of runs cannot be read.
    pub fn ids(root: impl AsRef<Path>) -> Result<Vec<String>> {
        ids::run_ids(root.as_ref())
    }

    pub(crate) fn read(
        folder: &RunFolder,
        records: Records,
        committed: Option<f64>,
    ) -> Result<Self> {
        let path = folder.run_yaml();
        let text = read_text(&path, "bytes of YAML", MAX_YAML_BYTES)?;
        let text = text.ok_or_else(|| folder.missing())?;
        let value = from_yaml(&text).map_err(|error| error.in_path(&path))?;
        let Value::Map(state) = value else {
            let found = value.type_name();
            let what = format!("expected a mapping, found a value of type {found}");
            return Err(Error::malformed(what).in_path(&path));
        };
        let mut run = Self::from_state(&state).map_err(|error| error.in_path(&path))?;
        if folder.has_journal() {
            run.read_journal(folder, committed, records == Records::Read)?;
        } else {
            let records = idps(folder, None)?;
            // Those of no epoch are told of before any is left out.
            let path = folder.idps_csv();
            let strays = RunWarning::of_records(&records, Some(&path));
            let counts = |idp: &NNIterationDataPoint| {
                committed.is_none_or(|epoch| idp.epoch_idx().as_f64() <= epoch)
            };
            let is_left_out =
                |idp: &&NNIterationDataPoint| idp.epoch_idx().as_i64().is_some() && !counts(idp);
            let left_out = records.iter().filter(is_left_out).count() as u64;
            let left_out = committed.and_then(|epoch| {
                RunWarning::of_left_out(left_out, records.len() as u64, epoch, &path)
            });
            run.idps = records.into_iter().filter(counts).collect();
            run.history_warnings = strays.into_iter().chain(left_out).collect();
        }
        if records == Records::Checked {
            run.idps = Vec::new();
            return Ok(run);
        }
        match metadata::read(folder) {
            Ok(metadata) => run.metadata = metadata.unwrap_or_default(),
            Err(error) => {
                let what = "the metadata were passed over";
                run.metadata_warning = Some(RunWarning::passed_over(&error, what));
            }
        }
        Ok(run)
    }

    /// A run of what `run.yaml` holds.
    fn from_state(state: &State) -> Result<Self> {
        let model = NNModelParams::from_state(mapping(state, "model")?)?;
        let net = match model.net() {
            Some(NetDescriptor::Net(_)) => {
                Some(NetParams::resolve_from_state(mapping(state, "net")?)?)
            }
            _ => None,
        };
        let train = NNTrainParams::from_state(mapping(state, "train")?)?;
        let mut run = Self::new(model, net, train)?;
        if state.get("trainer").is_some_and(|value| !value.is_none()) {
            let trainer = NNTrainerParams::from_state(mapping(state, "trainer")?)?;
            run = run.with_trainer(trainer)?;
        }
        match state.get("salt") {
            None | Some(Value::None) => {}
            Some(Value::Str(salt)) => run = run.with_salt(salt)?,
            // The reference's own error for a salt of another type.
            Some(other) => nnx_params::validate_salt(other)?,
        }
        if let Some(transforms) = state.get("transforms") {
            run = run.with_transforms(read_transforms(transforms)?)?;
        }
        let unknown = state.iter().filter(|(key, _)| !KNOWN.contains(key));
        run.unknown = unknown.map(|(key, value)| (key, value.clone())).collect();
        Ok(run)
    }
}

fn mapping<'a>(state: &'a State, key: &str) -> Result<&'a State> {
    match state.get(key) {
        Some(Value::Map(state)) => Ok(state),
        Some(other) => Err(Error::malformed(format!(
            "expected a mapping as `{key}` of the run, found a value of type {}",
            other.type_name()
        ))),
        None => Err(Error::malformed(format!(
            "expected the key `{key}` in the run, found none"
        ))),
    }
}

fn read_transforms(value: &Value) -> Result<Vec<NNCheckpointTransform>> {
    let items = match value {
        Value::None => &[],
        Value::List(items) => items.as_slice(),
        other => {
            return Err(Error::malformed(format!(
                "expected a list as `transforms` of the run, found a value of type {}",
                other.type_name()
            )));
        }
    };
    let transforms = items.iter().map(|item| match item {
        Value::Map(state) => Ok(NNCheckpointTransform::from_state(state)?),
        other => Err(Error::malformed(format!(
            "expected a mapping as a transform of the run, found a value of type {}",
            other.type_name()
        ))),
    });
    transforms.collect()
}

/// The records of a run, those up to an epoch where one is given.
pub(crate) fn idps(
    folder: &RunFolder,
    committed: Option<f64>,
) -> Result<Vec<NNIterationDataPoint>> {
    let path = folder.idps_csv();
    let bytes = read_bounded(&path, "bytes of history", MAX_HISTORY_BYTES)?;
    let bytes = bytes.ok_or_else(|| {
        Error::malformed("expected the history beside `run.yaml`, found none").in_path(&path)
    })?;
    let mut idps = from_csv(&bytes).map_err(|error| error.in_path(&path))?;
    if let Some(epoch) = committed {
        idps.retain(|idp| idp.epoch_idx().as_f64() <= epoch);
    }
    Ok(idps)
}

/// The epoch up to which a run's history counts, which its checkpoint `last` says: below every
/// epoch where there is no such checkpoint, none where the run is not marked.
pub(crate) fn committed_epoch(folder: &RunFolder, root: &Path) -> Result<Option<f64>> {
    if !folder.committed_by_last().is_file() {
        return Ok(None);
    }
    let last = CheckpointStore::new(&folder.id, root)?.load(&Checkpoints::Last.into())?;
    Ok(Some(
        last.map_or(-1.0, |last| last.idp.epoch_idx().as_f64()),
    ))
}
