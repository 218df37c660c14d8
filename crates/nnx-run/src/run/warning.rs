//! What is wrong with a run that can be read all the same.

use std::fmt;
use std::path::{Path, PathBuf};

use nnx_params::{NNIterationDataPoint, Number};

use crate::error::Error;

/// Records that a message names.
const SHOWN_RECORDS: usize = 5;

/// Something about a run that does not keep it from being read, and would else go unseen.
///
/// It is of a file that NNx passes over too, of records that are in no list by epochs, or of records
/// of an epoch that was not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunWarning {
    /// The kind of the error that it would be elsewhere, [`ErrorKind::name`](crate::ErrorKind::name),
    /// or `uncommitted` for records that do not count: for scripts.
    pub kind: &'static str,
    /// The file at fault; none where the records were never in one.
    pub path: Option<PathBuf>,
    /// What is wrong, and what follows from it.
    pub message: String,
    is_of_history: bool,
}

impl RunWarning {
    /// Whether it is of the records of the history, so that tables and charts of them lack some.
    pub fn is_of_history(&self) -> bool {
        self.is_of_history
    }

    /// A file that was passed over because of an error.
    pub(super) fn passed_over(error: &Error, what: &str) -> Self {
        Self {
            kind: error.kind().name(),
            path: error.path().map(Path::to_path_buf),
            message: format!("{what}: {}", error.kind()),
            is_of_history: false,
        }
    }

    /// The epochs of a journal that cannot be read, so that only those of the last records are known.
    pub(super) fn of_epochs(error: &Error, records: usize) -> Self {
        Self {
            is_of_history: true,
            ..Self::passed_over(
                error,
                &format!(
                    "the journal's epochs cannot be read, so that only those of the last {records} \
                     records are known, and the oldest of them may be cut"
                ),
            )
        }
    }

    /// Records that are in no list by epochs, if there are any.
    pub(super) fn of_records(
        records: &[NNIterationDataPoint],
        path: Option<&Path>,
    ) -> Option<Self> {
        let fit =
            |record: &&(usize, &NNIterationDataPoint)| record.1.epoch_idx().as_i64().is_none();
        let all: Vec<(usize, &NNIterationDataPoint)> = records.iter().enumerate().collect();
        let stray: Vec<&(usize, &NNIterationDataPoint)> = all.iter().filter(fit).collect();
        let path = path.map(Path::to_path_buf);
        (!stray.is_empty()).then(|| Self {
            kind: "malformed",
            path,
            message: format!(
                "{} of the {} records {} of no epoch, and so in no table and chart by epochs: {}",
                stray.len(),
                records.len(),
                is_or_are(stray.len() as u64),
                in_words(&stray)
            ),
            is_of_history: true,
        })
    }

    /// Records that do not count, since the checkpoint `last` says that their epoch was not finished;
    /// none where all count. Those of no epoch are told of elsewhere.
    pub(super) fn of_left_out(count: u64, total: u64, committed: f64, path: &Path) -> Option<Self> {
        let why = match committed < 0.0 {
            true => "there is no checkpoint `last` to say up to which epoch the history counts"
                .to_owned(),
            false => {
                let epoch = Number::from(committed);
                let epoch = epoch
                    .as_i64()
                    .map_or_else(|| epoch.to_string(), |it| it.to_string());
                format!("the checkpoint `last` says that the history counts up to epoch {epoch}")
            }
        };
        (count > 0).then(|| Self {
            kind: "uncommitted",
            path: Some(path.to_path_buf()),
            message: format!(
                "{count} of the {total} records {} left out: {why}",
                is_or_are(count)
            ),
            is_of_history: true,
        })
    }
}

fn is_or_are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// `row 3 says nan, row 5 says 0.5`.
fn in_words(records: &[&(usize, &NNIterationDataPoint)]) -> String {
    let shown = records.iter().take(SHOWN_RECORDS);
    let mut words: Vec<String> = shown
        .map(|(row, record)| format!("row {row} says {}", record.epoch_idx()))
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
