//! A history as a table.

use std::path::Path;

use super::history::iter_history;
use super::lineage::Lineage;
use crate::error::{Error, Result};
use crate::history::to_csv;
use crate::limits::MAX_HISTORY_RECORDS;
use crate::stage::replace_text;

/// Writes the committed history of a run in the layout of `idps.csv`, byte for byte as Python does,
/// and returns the number of records. The file is replaced as a whole or not at all.
///
/// All records are in memory at once; [`iter_history`] is for histories that do not fit.
///
/// # Errors
/// As for [`iter_history`]; when a record cannot be read, there are more than
/// [`MAX_HISTORY_RECORDS`], or writing fails.
pub fn export_history_csv(
    id: &str,
    path: impl AsRef<Path>,
    root: impl AsRef<Path>,
    lineage: Lineage,
) -> Result<usize> {
    let mut records = Vec::new();
    for record in iter_history(id, root, lineage)? {
        if records.len() as u64 >= MAX_HISTORY_RECORDS {
            return Err(Error::limit("records of history", MAX_HISTORY_RECORDS));
        }
        records.push(record?);
    }
    let path = path.as_ref();
    let target = std::path::absolute(path).map_err(|error| Error::from(error).in_path(path))?;
    replace_text(&target, &to_csv(&records)?)?;
    Ok(records.len())
}
