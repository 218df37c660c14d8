//! `epochs.jsonl`, one line per epoch: the metrics that a chart shows.

use std::path::{Path, PathBuf};

use nnx_params::{State, Value};

use super::file::{amount, committed, mapping};
use super::manifest::JournalManifest;
use super::text::{is_blank, lines};
use crate::epochs::EpochMetrics;
use crate::error::{Error, Result};
use crate::limits::MAX_EPOCH_ROWS_BYTES;

/// Where the epochs of a journal are.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("epochs.jsonl")
}

/// Checks that all rows can be read, and are as many as the manifest says.
pub(super) fn check(folder: &Path, manifest: &JournalManifest) -> Result<()> {
    let found = read(folder, manifest, f64::INFINITY)?.len() as u64;
    if found != manifest.epochs {
        return Err(Error::history_corruption(format!(
            "expected the rows of {} epochs that the manifest of the history journal counts, found \
             {found}",
            manifest.epochs
        ))
        .in_path(&path(folder)));
    }
    Ok(())
}

/// The metrics of the epochs up to one, in the order of the file. The rows have no learning rate,
/// which is NaN here, and no evaluation records.
pub(super) fn read(
    folder: &Path,
    manifest: &JournalManifest,
    until: f64,
) -> Result<Vec<EpochMetrics>> {
    let path = path(folder);
    let bytes = committed(
        &path,
        manifest.epochs_bytes,
        "bytes of a history's epochs",
        MAX_EPOCH_ROWS_BYTES,
    )?;
    let mut rows = Vec::new();
    for (number, line) in (1_u64..).zip(lines(&bytes)) {
        if !is_blank(line) {
            let row = row(number, line, until).map_err(|error| error.in_path(&path))?;
            rows.extend(row);
        }
    }
    Ok(rows)
}

/// The epoch of a line; `None` for an epoch after `until`, whose values are not checked.
fn row(number: u64, line: &[u8], until: f64) -> Result<Option<EpochMetrics>> {
    let what = || format!("line {number} of the history's epochs");
    let state = mapping(line, what)?;
    let wrong = |key: &str, expected: &str| {
        Error::history_corruption(format!("expected {expected} as `{key}` of {}", what()))
    };
    let whole = "a whole number";
    let epoch = state.get("epoch").and_then(amount);
    let epoch = epoch.ok_or_else(|| wrong("epoch", whole))?;
    if epoch > until {
        return Ok(None);
    }
    let value = |key: &str| -> Result<Option<f64>> {
        match state.get(key) {
            Some(Value::None) => Ok(None),
            value => {
                let value = value.and_then(amount);
                let value = value.ok_or_else(|| wrong(key, "a number or null"))?;
                Ok((!value.is_nan()).then_some(value))
            }
        }
    };
    Ok(Some(EpochMetrics {
        epoch: whole_number(epoch).ok_or_else(|| wrong("epoch", whole))?,
        lr: f64::NAN,
        train_loss: value("train_loss")?,
        train_error: value("train_err")?,
        val_loss: value("val_loss")?,
        val_error: value("val_err")?,
        train_edp: None,
        train_summary: None,
        val_edp: None,
        monitor: value("monitor")?,
        improved: truth(&state).ok_or_else(|| wrong("improved", "a truth value"))?,
    }))
}

fn whole_number(number: f64) -> Option<i64> {
    nnx_params::Number::Float(number).as_i64()
}

/// Whether Python treats the value of `improved` as true.
fn truth(row: &State) -> Option<bool> {
    Some(match row.get("improved")? {
        Value::None => false,
        Value::Str(text) => !text.is_empty(),
        Value::List(items) | Value::Tuple(items) => !items.is_empty(),
        Value::Map(state) => !state.is_empty(),
        number => amount(number)? != 0.0,
    })
}
