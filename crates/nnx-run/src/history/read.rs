//! From the text of `idps.csv` to records.

use nnx_params::{NNIterationDataPoint, State, Value};

use super::cell::{self, Column};
use crate::error::{Error, Result, shown};
use crate::limits::{MAX_HISTORY_BYTES, MAX_HISTORY_RECORDS};

/// The columns that every record has.
const REQUIRED: [&str; 4] = ["lr", "iter_idx", "epoch_idx", "batch_idx"];
/// The evaluation records of a record; all but the first can be absent.
const RECORDS: [&str; 3] = ["train_edp", "val_edp", "train_summary"];
const SCALARS: [&str; 9] = [
    "loss",
    "error",
    "accuracy",
    "f1",
    "recall",
    "precision",
    "kind",
    "count",
    "status",
];
const GROUPS: [&str; 2] = ["extra", "metrics"];
const MONITOR: [&str; 6] = [
    "metric",
    "split",
    "mode",
    "min_delta",
    "on_missing",
    "on_nonfinite",
];
const SELECTION: [&str; 3] = ["value", "status", "improved"];

/// Reads the records of an `idps.csv` as NNx 0.4.1 does, floats exactly.
///
/// An empty cell and NaN are read as `None`, so a recorded NaN is lost, as in Python. A column that
/// this version does not know is kept among the unknown keys of the records, under its full name.
///
/// # Errors
/// When the bytes are not UTF-8, have no header, a header with a name twice, or a row longer than the
/// header, lack a column that every record has, are larger than [`crate::limits`] allows, or a record
/// is not valid.
pub fn from_csv(bytes: &[u8]) -> Result<Vec<NNIterationDataPoint>> {
    if bytes.len() as u64 > MAX_HISTORY_BYTES {
        return Err(Error::limit("bytes of history", MAX_HISTORY_BYTES));
    }
    let names = header(bytes)?;
    let (columns, rows) = columns(bytes, names.len())?;
    if rows == 0 {
        return Ok(Vec::new());
    }
    if let Some(column) = REQUIRED
        .iter()
        .find(|name| !names.contains(&ColumnName::Required(name)))
    {
        return Err(Error::malformed(format!(
            "expected the column `{column}` in the history, found none"
        )));
    }
    let mut records = Vec::new();
    each_row(bytes, |index, row| {
        let cells = names.iter().zip(&columns).zip(row.iter());
        let cells = cells.map(|((name, column), cell)| (name, column.value(cell, rows)));
        records.push(record(cells).map_err(|error| {
            // One text makes its whole column texts, so the first row fails; the message must name
            // the row with the text.
            let stray = stray_text(bytes, &names, &columns);
            stray.unwrap_or_else(|| {
                Error::malformed(format!("row {index} of the history is not valid: {error}"))
            })
        })?);
        Ok(())
    })?;
    Ok(records)
}

/// The error of the first cell that is a text in a column of numbers.
fn stray_text(bytes: &[u8], names: &[ColumnName], columns: &[Column]) -> Option<Error> {
    let is_wrong = |(name, column): &(&ColumnName, &Column)| name.is_number() && column.is_text();
    let place = names.iter().zip(columns).position(|pair| is_wrong(&pair))?;
    let title = reader(bytes).headers().ok()?.get(place)?.to_owned();
    let mut found = None;
    each_row(bytes, |index, row| {
        let cell = row.get(place).unwrap_or_default();
        if found.is_none() && cell::is_text(cell) {
            found = Some(Error::malformed(format!(
                "expected a number in the column `{}` of the history, found `{}` in row {index}",
                shown(&title),
                shown(cell)
            )));
        }
        Ok(())
    })
    .ok()?;
    found
}

/// The meaning of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ColumnName {
    Required(&'static str),
    /// A metric: the evaluation record, and the name in it.
    Scalar(&'static str, &'static str),
    /// A metric of a group: the evaluation record, the group, and the name in it.
    Grouped(&'static str, &'static str, String),
    Selection(&'static str),
    Monitor(&'static str),
    UpdateCount,
    /// The number of the row, or a column that is always empty.
    Nothing,
    /// A column of a later version.
    Unknown(String),
}

impl ColumnName {
    /// Whether all values are numbers.
    fn is_number(&self) -> bool {
        match self {
            Self::Required(_) | Self::UpdateCount => true,
            Self::Scalar(_, name) => !matches!(*name, "kind" | "status"),
            _ => false,
        }
    }

    fn parse(name: &str) -> Self {
        if name.is_empty() || RECORDS.contains(&name) || name == "selection" {
            return Self::Nothing;
        }
        if name == "update_count" {
            return Self::UpdateCount;
        }
        if let Some(name) = REQUIRED.iter().find(|required| **required == name) {
            return Self::Required(name);
        }
        let unknown = || Self::Unknown(name.to_owned());
        let Some((head, rest)) = name.split_once('.') else {
            return unknown();
        };
        if head == "selection" {
            let find = |names: &[&'static str], rest: &str| {
                names.iter().find(|name| **name == rest).copied()
            };
            return match rest.strip_prefix("monitor.") {
                Some(rest) => find(&MONITOR, rest).map(Self::Monitor),
                None => find(&SELECTION, rest).map(Self::Selection),
            }
            .unwrap_or_else(unknown);
        }
        let Some(record) = RECORDS.iter().find(|record| **record == head) else {
            return unknown();
        };
        if let Some(scalar) = SCALARS.iter().find(|scalar| **scalar == rest) {
            return Self::Scalar(record, scalar);
        }
        for group in GROUPS {
            if let Some(name) = rest
                .strip_prefix(group)
                .and_then(|name| name.strip_prefix('.'))
            {
                return Self::Grouped(record, group, name.to_owned());
            }
        }
        unknown()
    }
}

fn reader(bytes: &[u8]) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new().flexible(true).from_reader(bytes)
}

fn header(bytes: &[u8]) -> Result<Vec<ColumnName>> {
    let mut reader = reader(bytes);
    let header = reader.headers().map_err(unreadable)?;
    if header.is_empty() {
        return Err(Error::malformed(
            "expected a history with a header, found none",
        ));
    }
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = header.iter().find(|name| !seen.insert(*name)) {
        return Err(Error::malformed(format!(
            "expected each column of the history once, found `{}` twice",
            shown(twice)
        )));
    }
    Ok(header.iter().map(ColumnName::parse).collect())
}

/// The type of each column, and how many rows there are.
fn columns(bytes: &[u8], count: usize) -> Result<(Vec<Column>, usize)> {
    let mut columns = vec![Column::new(); count];
    let mut rows: usize = 0;
    each_row(bytes, |index, row| {
        if row.len() > count {
            return Err(Error::malformed(format!(
                "expected {count} cells in row {index} of the history, found {}",
                row.len()
            )));
        }
        if rows as u64 >= MAX_HISTORY_RECORDS {
            return Err(Error::limit("records of history", MAX_HISTORY_RECORDS));
        }
        rows = rows.saturating_add(1);
        for (column, cell) in columns.iter_mut().zip(row) {
            column.add(cell);
        }
        Ok(())
    })?;
    Ok((columns, rows))
}

/// Calls a function for each row after the header.
fn each_row(
    bytes: &[u8],
    mut take: impl FnMut(usize, &csv::StringRecord) -> Result<()>,
) -> Result<()> {
    let mut reader = reader(bytes);
    let mut row = csv::StringRecord::new();
    let mut index: usize = 0;
    while reader.read_record(&mut row).map_err(unreadable)? {
        take(index, &row)?;
        index = index.saturating_add(1);
    }
    Ok(())
}

#[cold]
fn unreadable(error: csv::Error) -> Error {
    Error::malformed(format!("expected a history of UTF-8 cells: {error}"))
}

/// The record of a row's cells.
fn record<'a>(
    cells: impl Iterator<Item = (&'a ColumnName, Option<Value>)>,
) -> Result<NNIterationDataPoint, nnx_params::Error> {
    let missing = Value::Float(f64::NAN);
    let mut state = State::from_iter(REQUIRED.map(|name| (name, missing.clone())));
    let mut edps = RECORDS.map(|name| (name, Edp::default()));
    let (mut monitor, mut selection) = (State::new(), State::new());
    let mut unknown = State::new();
    for (name, value) in cells {
        let Some(value) = value else {
            continue;
        };
        match name {
            ColumnName::Required(name) => {
                state.insert(*name, value);
            }
            ColumnName::Scalar(record, name) => {
                if let Some(edp) = edp_of(&mut edps, record) {
                    edp.is_present = true;
                    edp.state.insert(*name, value);
                }
            }
            ColumnName::Grouped(record, group, name) => {
                if let Some(edp) = edp_of(&mut edps, record) {
                    edp.is_present |= *group == "metrics";
                    let members = match *group {
                        "metrics" => &mut edp.metrics,
                        _ => &mut edp.extra,
                    };
                    members.insert(name, value);
                }
            }
            ColumnName::Selection(name) => {
                selection.insert(*name, value);
            }
            ColumnName::Monitor(name) => {
                monitor.insert(*name, value);
            }
            ColumnName::UpdateCount => {
                state.insert("update_count", whole(value));
            }
            ColumnName::Nothing => {}
            ColumnName::Unknown(name) => {
                unknown.insert(name, value);
            }
        }
    }
    for (name, edp) in edps {
        if edp.is_present || name == "train_edp" {
            state.insert(name, edp.into_state());
        }
    }
    if let Some(selection) = decision(selection, monitor) {
        state.insert("selection", selection);
    }
    state.extend(unknown);
    NNIterationDataPoint::from_state(&state)
}

fn edp_of<'a>(edps: &'a mut [(&'static str, Edp)], record: &str) -> Option<&'a mut Edp> {
    let found = edps.iter_mut().find(|(name, _)| *name == record);
    found.map(|(_, edp)| edp)
}

/// The metrics of one evaluation read so far.
#[derive(Debug, Default)]
struct Edp {
    state: State,
    extra: State,
    metrics: State,
    /// Whether a scalar or a metric has a value; values in `extra` do not count.
    is_present: bool,
}

impl Edp {
    fn into_state(mut self) -> State {
        self.state.insert("extra", self.extra);
        self.state.insert("metrics", self.metrics);
        self.state
    }
}

/// The decision of a monitor, if there was one.
fn decision(selection: State, monitor: State) -> Option<State> {
    let status = selection.get("status")?.clone();
    let value = match selection.get("value") {
        _ if status.as_str() == Some("missing") => Value::None,
        Some(Value::Int(int)) => Value::Float(*int as f64),
        Some(value) => value.clone(),
        // A value that was not finite is read as missing.
        None => Value::Float(f64::NAN),
    };
    let improved = match selection.get("improved") {
        Some(Value::Str(text)) if matches!(text.as_str(), "True" | "true" | "1") => {
            Value::Bool(true)
        }
        Some(Value::Str(text)) if matches!(text.as_str(), "False" | "false" | "0") => {
            Value::Bool(false)
        }
        Some(Value::Float(float)) => Value::Bool(*float != 0.0),
        Some(Value::Int(int)) => Value::Bool(*int != 0),
        Some(value) => value.clone(),
        None => Value::Bool(false),
    };
    let mut state = State::from_iter([("monitor", monitor)]);
    state.insert("value", value);
    state.insert("status", status);
    state.insert("improved", improved);
    Some(state)
}

/// Turns a whole float into an integer: in a column with missing cells integers are floats.
fn whole(value: Value) -> Value {
    match value {
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
            Value::Int(float as i128)
        }
        value => value,
    }
}
