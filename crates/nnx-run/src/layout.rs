//! The paths of a run's files, and reading them within bounds.

use std::fs;
use std::path::{Path, PathBuf};

use nnx_params::validate_run_id;

use crate::error::{Error, ErrorKind, Result};
use crate::lock::is_absence;

/// Marks a run whose history counts up to the epoch of its checkpoint `last`.
pub(crate) const COMMITTED_BY_LAST: &str = ".history-committed-by-last";
/// The pointer to the best run, in the folder of all runs.
pub(crate) const BEST: &str = "best";
/// The folder of a history's journal, in that of the run.
pub(crate) const HISTORY: &str = "history";

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
    pub(crate) id: String,
}

/// The folder of all runs.
pub(crate) fn runs_folder(root: &Path) -> PathBuf {
    root.join("runs")
}

impl RunFolder {
    /// The folder of the run with that id, which need not exist.
    pub(crate) fn new(id: &str, root: &Path) -> Result<Self> {
        validate_run_id(id)?;
        Ok(Self {
            path: runs_folder(root).join(id),
            id: id.to_owned(),
        })
    }

    pub(crate) fn run_yaml(&self) -> PathBuf {
        self.path.join("run.yaml")
    }

    pub(crate) fn metadata_yaml(&self) -> PathBuf {
        self.path.join("metadata.yaml")
    }

    pub(crate) fn idps_csv(&self) -> PathBuf {
        self.path.join("idps.csv")
    }

    pub(crate) fn run_lock(&self) -> PathBuf {
        self.path.join(".run.lock")
    }

    pub(crate) fn committed_by_last(&self) -> PathBuf {
        self.path.join(COMMITTED_BY_LAST)
    }

    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// The folder of the history's journal.
    pub(crate) fn history(&self) -> PathBuf {
        self.path.join(HISTORY)
    }

    /// The manifest of the journal. If it exists, the history is in the journal and not in `idps.csv`.
    pub(crate) fn journal(&self) -> PathBuf {
        self.history().join("journal.json")
    }

    /// Whether the history is in a journal and not in `idps.csv`.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal().is_file()
    }

    /// The error for a run that does not exist.
    #[cold]
    pub(crate) fn missing(&self) -> Error {
        let id = self.id.clone();
        Error::new(ErrorKind::NoSuchRun { id }).in_path(&self.path)
    }
}

/// Opens a file; `None` if it does not exist. A link is followed, as in Python. Anything else than a
/// file gives the error of `other`: opening a pipe, for example, could block forever.
pub(crate) fn open_file(path: &Path, other: impl FnOnce() -> Error) -> Result<Option<fs::File>> {
    let located = |error: std::io::Error| Error::from(error).in_path(path);
    match fs::metadata(path) {
        Ok(about) if about.is_file() => fs::File::open(path).map(Some).map_err(located),
        Ok(_) => Err(other().in_path(path)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(located(error)),
    }
}

/// The bytes of a file that is not larger than allowed; `None` if it does not exist.
pub(crate) fn read_bounded(path: &Path, what: &'static str, most: u64) -> Result<Option<Vec<u8>>> {
    use std::io::Read;

    let located = |error: std::io::Error| Error::from(error).in_path(path);
    let other = || Error::malformed("expected a file, found something else");
    let Some(file) = open_file(path, other)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(located)?;
    if bytes.len() as u64 > most {
        return Err(Error::limit(what, most).in_path(path));
    }
    Ok(Some(bytes))
}

/// The text of a file that is not larger than allowed; `None` if it does not exist.
pub(crate) fn read_text(path: &Path, what: &'static str, most: u64) -> Result<Option<String>> {
    read_bounded(path, what, most)?
        .map(|bytes| {
            String::from_utf8(bytes).map_err(|error| {
                let offset = error.utf8_error().valid_up_to();
                let what = format!("expected UTF-8, found another byte at offset {offset}");
                Error::malformed(what).in_path(path)
            })
        })
        .transpose()
}
