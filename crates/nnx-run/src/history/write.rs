//! From records to the text of `idps.csv`.

use std::collections::HashMap;

use nnx_params::python_text::{float_repr, repr};
use nnx_params::{NNIterationDataPoint, State, Value};

use super::flatten::flatten;
use crate::error::{Error, Result};

/// The text that pandas writes for records: one row for each, which starts with its number; nested
/// states as dotted columns; floats as Python's `repr`; an empty cell for a missing value. Without
/// records the text is `""` and a line feed.
///
/// A column of integers is written as floats if values are missing or others are floats, because
/// pandas stores such a column as floats.
///
/// ```
/// use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint};
/// use nnx_run::history::{from_csv, to_csv};
///
/// let edp = NNEvaluationDataPoint::builder().loss(0.5).build()?;
/// let records = [NNIterationDataPoint::new(0.01, 0, 0, 0, edp)];
/// assert_eq!(from_csv(to_csv(&records)?.as_bytes())?, records);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the CSV writer fails; writing to memory does not.
pub fn to_csv(records: &[NNIterationDataPoint]) -> Result<String> {
    let mut columns = Columns::default();
    for record in records {
        columns.add(&record.full_state());
    }
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let names = columns.columns.iter().map(|(name, _)| name.as_str());
    let written = writer.write_record(std::iter::once("").chain(names));
    written.map_err(unwritten)?;
    for (index, record) in records.iter().enumerate() {
        let row = columns.row(&record.full_state(), index, records.len());
        writer.write_record(row).map_err(unwritten)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| Error::from(error.into_error()))?;
    String::from_utf8(bytes).map_err(|_| Error::malformed("expected a history of UTF-8"))
}

fn unwritten(error: csv::Error) -> Error {
    Error::malformed(format!("expected a history that can be written: {error}"))
}

/// The types of the values in a column.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnTypes {
    floats: bool,
    ints: bool,
    others: bool,
    /// The number of rows with a value other than `None` and NaN.
    present: usize,
}

/// The columns in the order of their first values.
#[derive(Debug, Default)]
struct Columns {
    columns: Vec<(String, ColumnTypes)>,
    by_name: HashMap<String, usize>,
}

impl Columns {
    fn add(&mut self, state: &State) {
        for (name, value) in flatten(state) {
            let index = match self.by_name.get(&name) {
                Some(&index) => index,
                None => {
                    let index = self.columns.len();
                    self.by_name.insert(name.clone(), index);
                    self.columns.push((name, ColumnTypes::default()));
                    index
                }
            };
            let Some((_, types)) = self.columns.get_mut(index) else {
                continue;
            };
            if is_missing(value) {
                continue;
            }
            types.present = types.present.saturating_add(1);
            match value {
                Value::Int(_) => types.ints = true,
                Value::Float(_) => types.floats = true,
                _ => types.others = true,
            }
        }
    }

    fn row(&self, state: &State, index: usize, rows: usize) -> Vec<String> {
        let mut row = vec![String::new(); self.columns.len().saturating_add(1)];
        if let Some(first) = row.first_mut() {
            *first = index.to_string();
        }
        for (name, value) in flatten(state) {
            let Some(&column) = self.by_name.get(&name) else {
                continue;
            };
            let Some((_, types)) = self.columns.get(column) else {
                continue;
            };
            if let Some(cell) = row.get_mut(column.saturating_add(1)) {
                *cell = text(value, *types, rows);
            }
        }
        row
    }
}

fn is_missing(value: &Value) -> bool {
    value.is_none() || value.as_float().is_some_and(f64::is_nan)
}

fn text(value: &Value, types: ColumnTypes, rows: usize) -> String {
    match value {
        _ if is_missing(value) => String::new(),
        // pandas has no column of integers with missing values.
        Value::Int(int) if !types.others && (types.floats || types.present < rows) => {
            float_repr(*int as f64)
        }
        Value::Str(text) => text.clone(),
        value => repr(value),
    }
}
