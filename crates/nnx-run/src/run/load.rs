//! Reading a run.

use std::path::Path;

use nnx_params::{
    NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NNTrainParams, NNTrainerParams,
    NetDescriptor, NetParams, State, Value,
};

use super::NNRun;
use crate::error::{Error, Result};
use crate::ids::{is_there, not_text, run_ids, run_names};
use crate::journal::reader::JournalReader;
use crate::layout::{RunFolder, read_text};
use crate::limits::MAX_YAML_BYTES;
use crate::metadata;
use crate::records::{committed_epoch, csv_records, is_committed};
use crate::warning::RunWarning;
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

impl NNRun {
    /// Reads a run. Its id is computed from its configuration; the id in `run.yaml` is ignored.
    ///
    /// If the folder is marked as one whose history is committed by its checkpoint `last`, records of
    /// later epochs are left out, because those epochs were not finished. Of a history in a journal
    /// only the last records are read, as many as the journal says.
    ///
    /// # Errors
    /// - [`ErrorKind::NoSuchRun`](crate::ErrorKind::NoSuchRun) when there is no `run.yaml`; nothing
    ///   is created.
    /// - When the id could lead out of the folder of runs, or a file is malformed.
    /// - [`ErrorKind::HistoryCorruption`](crate::ErrorKind::HistoryCorruption) when the run keeps its
    ///   history in a journal whose files do not belong together.
    pub fn load(id: &str, root: impl AsRef<Path>) -> Result<Self> {
        let (folder, committed) = Self::find(id, root.as_ref())?;
        let mut run = Self::read_configuration(&folder)?;
        if folder.has_journal() {
            let journal = JournalReader::open(&folder.history())?;
            run.read_journal(&journal, &folder, committed)?;
        } else {
            run.take_records(csv_records(&folder)?, &folder, committed);
        }
        run.take_metadata(&folder);
        Ok(run)
    }

    /// The run that the text of a `run.yaml` describes: its configuration, without records and
    /// metadata. Its id is computed; an id in the text is ignored.
    ///
    /// # Errors
    /// When the text is not YAML, or not the configuration of a run.
    pub fn from_yaml(text: &str) -> Result<Self> {
        match from_yaml(text)? {
            Value::Map(state) => Self::from_state(&state),
            other => {
                let found = other.type_name();
                let what = format!("expected a mapping, found a value of type {found}");
                Err(Error::malformed(what))
            }
        }
    }

    /// The run that a file with the keys of `run.yaml` describes: [`from_yaml`](Self::from_yaml) of its
    /// text. The file may have any name, and be in any folder.
    ///
    /// # Errors
    /// When the file cannot be read, is too long, or is not the configuration of a run.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::read_file(path)?.ok_or_else(|| {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            Error::from(nnx_checkpoint::Error::from(missing)).in_path(path)
        })
    }

    /// The run that a file describes; `None` if there is no such file.
    fn read_file(path: &Path) -> Result<Option<Self>> {
        let text = read_text(path, "bytes of YAML", MAX_YAML_BYTES)?;
        let run = text.map(|text| Self::from_yaml(&text).map_err(|error| error.in_path(path)));
        run.transpose()
    }

    /// Every run in the order of their ids, each with the name of its folder, or the reason why it
    /// cannot be read; empty if there is no folder of runs. The name of the folder is the id unless
    /// the folder was renamed by hand.
    ///
    /// ```
    /// use nnx_run::NNRun;
    ///
    /// for (name, run) in NNRun::all(".")? {
    ///     match run {
    ///         Ok(run) => println!("{name}: {} records", run.idps().len()),
    ///         Err(error) => println!("{name} cannot be read: {error}"),
    ///     }
    /// }
    /// # Ok::<(), nnx_run::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the folder of runs cannot be read.
    pub fn all(root: impl AsRef<Path>) -> Result<Vec<(String, Result<Self>)>> {
        Ok(Self::each(root.as_ref())?.collect())
    }

    /// [`all`](Self::all), one after the other.
    pub(crate) fn each(root: &Path) -> Result<impl Iterator<Item = (String, Result<Self>)>> {
        let names = run_names(root)?.into_iter();
        Ok(names.map(move |name| match name.to_str() {
            Some(id) => (id.to_owned(), Self::load(id, root)),
            None => {
                let shown = name.to_string_lossy().into_owned();
                (shown, Err(not_text(&name, root)))
            }
        }))
    }

    /// The names of the folders that hold a run, in order; empty if there is no folder of runs. Such
    /// a name is the run's id, unless the folder was renamed by hand.
    ///
    /// A folder that cannot be searched is listed, because it may hold a run. A folder whose name is
    /// not UTF-8 is not listed; [`all`](Self::all) reports it.
    ///
    /// # Errors
    /// When the folder of runs cannot be read.
    pub fn ids(root: impl AsRef<Path>) -> Result<Vec<String>> {
        run_ids(root.as_ref())
    }

    /// Reads the `metadata.yaml` of a run alone; `None` if there is no such file.
    ///
    /// [`load`](Self::load) ignores a file that it cannot read, as Python does, and
    /// [`warnings`](Self::warnings) reports it; this call returns the error.
    ///
    /// # Errors
    /// When the id could lead out of the folder of runs; when the file cannot be read, is not YAML, or
    /// is not a mapping.
    pub fn read_metadata(id: &str, root: impl AsRef<Path>) -> Result<Option<State>> {
        metadata::read(&RunFolder::new(id, root.as_ref())?)
    }

    /// The folder of a run that exists, and the epoch up to which its history counts.
    pub(super) fn find(id: &str, root: &Path) -> Result<(RunFolder, Option<f64>)> {
        let folder = RunFolder::new(id, root)?;
        if !is_there(&folder.run_yaml())? {
            return Err(folder.missing());
        }
        let committed = committed_epoch(&folder, root)?;
        Ok((folder, committed))
    }

    /// Checks that a run can be read, the records of a CSV file included: NNx does not select a run
    /// as the best one if its records cannot be read.
    ///
    /// # Errors
    /// As for [`load`](Self::load); but of a journal only manifest and index are read.
    pub(crate) fn check(folder: &RunFolder) -> Result<()> {
        Self::read_configuration(folder)?;
        if folder.has_journal() {
            JournalReader::open(&folder.history())?;
        } else {
            csv_records(folder)?;
        }
        Ok(())
    }

    /// Reads `run.yaml`.
    pub(super) fn read_configuration(folder: &RunFolder) -> Result<Self> {
        Self::read_file(&folder.run_yaml())?.ok_or_else(|| folder.missing())
    }

    /// Takes the records of an `idps.csv`, as far as they count.
    pub(super) fn take_records(
        &mut self,
        records: Vec<NNIterationDataPoint>,
        folder: &RunFolder,
        committed: Option<f64>,
    ) {
        let path = folder.idps_csv();
        // Reported before any record is left out, so that the warning counts the rows of the file.
        let strays = RunWarning::stray_records(&records, Some(&path));
        let is_uncommitted = |record: &&NNIterationDataPoint| {
            record.epoch_idx().as_i64().is_some() && !is_committed(record, committed)
        };
        let count = records.iter().filter(is_uncommitted).count() as u64;
        let total = records.len() as u64;
        let uncommitted =
            committed.and_then(|epoch| RunWarning::uncommitted_records(count, total, epoch, &path));
        let records = records.into_iter();
        self.idps = records
            .filter(|record| is_committed(record, committed))
            .collect();
        self.history_warnings = strays.into_iter().chain(uncommitted).collect();
    }

    /// Takes the metadata, or a warning if they cannot be read.
    pub(super) fn take_metadata(&mut self, folder: &RunFolder) {
        match metadata::read(folder) {
            Ok(metadata) => self.metadata = metadata.unwrap_or_default(),
            Err(error) => {
                let warning = RunWarning::ignored(&error, "the metadata were ignored");
                self.metadata_warning = Some(warning);
            }
        }
    }

    /// The run that the content of a `run.yaml` describes.
    fn from_state(state: &State) -> Result<Self> {
        let model = NNModelParams::from_state(mapping(state, "model")?)?;
        let net = match model.net() {
            Some(NetDescriptor::Net(_)) => {
                Some(NetParams::resolve_from_state(mapping(state, "net")?)?)
            }
            _ => None,
        };
        let train = NNTrainParams::from_state(mapping(state, "train")?)?;
        let mut run = Self::builder(model, net, train);
        if state.get("trainer").is_some_and(|value| !value.is_none()) {
            let trainer = NNTrainerParams::from_state(mapping(state, "trainer")?)?;
            run = run.trainer(trainer);
        }
        match state.get("salt") {
            None | Some(Value::None) => {}
            Some(Value::Str(salt)) => run = run.salt(salt),
            // Python's error for a salt of another type.
            Some(other) => nnx_params::validate_salt(other)?,
        }
        if let Some(transforms) = state.get("transforms") {
            run = run.transforms(read_transforms(transforms)?);
        }
        let mut run = run.build()?;
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
