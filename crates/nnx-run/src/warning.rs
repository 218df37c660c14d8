//! Problems of a run that do not prevent reading it.

use std::fmt;
use std::path::{Path, PathBuf};

use nnx_params::{NNIterationDataPoint, Number};

use crate::error::Error;

/// How many records a message names.
const SHOWN_RECORDS: usize = 5;

/// A problem that does not prevent reading a run, and that nothing else would show.
///
/// It concerns a file that NNx ignores too when it cannot read it, records that are in no list by
/// epochs, or records of an epoch that was not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunWarning {
    /// For scripts: the [`ErrorKind::name`](crate::ErrorKind::name) of the error that the problem
    /// would be elsewhere, or `uncommitted` for records that do not count.
    pub kind: &'static str,
    /// The file at fault; `None` for records that were never in a file.
    pub path: Option<PathBuf>,
    /// The problem and its consequence.
    pub message: String,
    is_of_history: bool,
}

impl RunWarning {
    /// Whether the problem concerns the records of the history, so that tables and charts of them are
    /// incomplete.
    pub fn is_of_history(&self) -> bool {
        self.is_of_history
    }

    /// A file was ignored because of an error.
    pub(crate) fn ignored(error: &Error, what: &str) -> Self {
        Self {
            kind: error.kind().name(),
            path: error.path().map(Path::to_path_buf),
            message: format!("{what}: {}", error.kind()),
            is_of_history: false,
        }
    }

    /// The epochs of a journal cannot be read, so that only those of the last records are known.
    pub(crate) fn unreadable_epochs(error: &Error, records: usize) -> Self {
        let what = format!(
            "the epochs of the journal cannot be read; only the epochs of the last {records} records \
             are shown, and the first of them may be incomplete"
        );
        Self {
            is_of_history: true,
            ..Self::ignored(error, &what)
        }
    }

    /// Records are in no list by epochs; `None` if there are no such records.
    pub(crate) fn stray_records(
        records: &[NNIterationDataPoint],
        path: Option<&Path>,
    ) -> Option<Self> {
        let rows = records.iter().enumerate();
        let stray: Vec<(usize, &NNIterationDataPoint)> = rows
            .filter(|(_, record)| record.epoch_idx().as_i64().is_none())
            .collect();
        (!stray.is_empty()).then(|| Self {
            kind: "malformed",
            path: path.map(Path::to_path_buf),
            message: format!(
                "{} of the {} records {} no whole number as epoch, so tables and charts by epoch \
                 leave {} out: {}",
                stray.len(),
                records.len(),
                if stray.len() == 1 { "has" } else { "have" },
                if stray.len() == 1 { "it" } else { "them" },
                in_words(&stray)
            ),
            is_of_history: true,
        })
    }

    /// Records do not count, because the checkpoint `last` says that their epoch was not finished;
    /// `None` if all records count.
    pub(crate) fn uncommitted_records(
        count: u64,
        total: u64,
        committed: f64,
        path: &Path,
    ) -> Option<Self> {
        let why = if committed < 0.0 {
            "there is no checkpoint `last` to say up to which epoch the history counts".to_owned()
        } else {
            let epoch = Number::from(committed);
            let epoch = epoch
                .as_i64()
                .map_or_else(|| epoch.to_string(), |it| it.to_string());
            format!("the checkpoint `last` says that the history counts up to epoch {epoch}")
        };
        (count > 0).then(|| Self {
            kind: "uncommitted",
            path: Some(path.to_path_buf()),
            message: format!(
                "{count} of the {total} records {} left out: {why}",
                if count == 1 { "is" } else { "are" }
            ),
            is_of_history: true,
        })
    }
}

/// `row 3 has nan, row 5 has 0.5`.
fn in_words(records: &[(usize, &NNIterationDataPoint)]) -> String {
    let shown = records.iter().take(SHOWN_RECORDS);
    let mut words: Vec<String> = shown
        .map(|(row, record)| format!("row {row} has {}", record.epoch_idx()))
        .collect();
    if let Some(more @ 1..) = records.len().checked_sub(SHOWN_RECORDS) {
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

/// Writes the message, then the file.
impl fmt::Display for RunWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.path {
            Some(path) => write!(f, " (`{}`)", path.display()),
            None => Ok(()),
        }
    }
}
