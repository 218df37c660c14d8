//! Histories in journals, judged against what the real library says of them.

mod damaged;
mod hostile;
mod lineage;
mod migrated;
mod read;
mod saved;
mod steps;
mod written;

use std::fs;
use std::path::{Path, PathBuf};

use nnx_params::{NNIterationDataPoint, State, Value};
use nnx_run::journal::{Lineage, iter_history};
use nnx_tests::{Json, copy_folder, sha256};
use tempfile::TempDir;

use super::support::link;

fn folder() -> PathBuf {
    super::support::folder("0.4.1").join("journal")
}

fn read(name: &str) -> Json {
    Json::read(&folder().join(name))
}

/// A copy of all runs that may be written to.
fn copy_of_all() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    copy_folder(&folder().join("runs"), &root.path().join("runs"));
    let best = root.path().join("runs/best");
    let id = fs::read_to_string(&best).unwrap();
    fs::remove_file(&best).unwrap();
    link(&id, &best);
    root
}

/// A copy of one run.
fn copy_of(id: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path().join("runs");
    copy_folder(&folder().join("runs").join(id), &runs.join(id));
    root
}

fn id_of(name: &str) -> String {
    read("expected.json").get("ids").get(name).text().to_owned()
}

/// The line of a record, as the journal writes it.
fn line(state: &State) -> String {
    let mut text = String::new();
    write(&Value::Map(state.clone()), &mut text);
    text.push('\n');
    text
}

/// JSON without spaces, written here once more: the writer is not judged by itself.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Map(state) => {
            text.push('{');
            for (index, (key, value)) in state.iter().enumerate() {
                text.push_str(if index == 0 { "\"" } else { ",\"" });
                text.push_str(key);
                text.push_str("\":");
                write(value, text);
            }
            text.push('}');
        }
        scalar => text.push_str(&nnx_params::python_text::json_dumps(scalar)),
    }
}

/// How many records there are, and the digest of their lines.
fn digest(records: &[NNIterationDataPoint]) -> (usize, String) {
    let lines = records.iter().map(|record| line(&record.state()));
    let lines: String = lines.collect();
    (records.len(), sha256(lines.as_bytes()))
}

#[track_caller]
fn check_digest(records: &[NNIterationDataPoint], expected: &Json, at: &str) {
    let (count, sha256) = digest(records);
    assert_eq!(count, expected.get("count").size(), "{at}");
    assert_eq!(sha256, expected.get("sha256").text(), "{at}");
}

fn all_of(id: &str, root: &Path, lineage: Lineage) -> nnx_run::Result<Vec<NNIterationDataPoint>> {
    iter_history(id, root, lineage)?.collect()
}

/// The metrics of epochs as the library's chart has them.
#[track_caller]
fn check_series(epochs: &[nnx_run::EpochMetrics], expected: &Json, at: &str) {
    let column = |of: fn(&nnx_run::EpochMetrics) -> Option<f64>| -> Vec<u64> {
        let values = epochs.iter().map(|epoch| of(epoch).unwrap_or(f64::NAN));
        values.map(bits).collect()
    };
    let wanted = |key: &str| -> Vec<u64> {
        let values = expected.get(key).items();
        values.iter().map(|value| bits(value.float())).collect()
    };
    let numbers: Vec<_> = epochs.iter().map(|epoch| epoch.epoch as usize).collect();
    let expected_numbers: Vec<_> = expected
        .get("epochs")
        .items()
        .iter()
        .map(Json::size)
        .collect();
    assert_eq!(numbers, expected_numbers, "{at}");
    assert_eq!(column(|it| it.train_loss), wanted("train_loss"), "{at}");
    assert_eq!(column(|it| it.train_error), wanted("train_err"), "{at}");
    assert_eq!(column(|it| it.val_loss), wanted("val_loss"), "{at}");
    assert_eq!(column(|it| it.val_error), wanted("val_err"), "{at}");
    assert_eq!(column(|it| it.monitor), wanted("monitor"), "{at}");
    let improved: Vec<_> = epochs
        .iter()
        .map(|epoch| Value::Bool(epoch.improved))
        .collect();
    let wanted: Vec<_> = expected
        .get("improved")
        .items()
        .into_iter()
        .map(|it| it.0)
        .collect();
    assert_eq!(improved, wanted, "{at}");
}

/// All not-a-numbers are one.
fn bits(value: f64) -> u64 {
    if value.is_nan() {
        u64::MAX
    } else {
        value.to_bits()
    }
}
