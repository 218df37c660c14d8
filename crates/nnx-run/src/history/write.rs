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
    let mut history = CsvHistory::new();
    history.text(records)?;
    history.into_text()
}

/// The text of a history that grows, such as that of a training: the text of the first records is
/// kept while others are added.
///
/// ```
/// use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint};
/// use nnx_run::history::{CsvHistory, to_csv};
///
/// let edp = NNEvaluationDataPoint::builder().loss(0.5).build()?;
/// let records = [0, 1].map(|batch| NNIterationDataPoint::new(0.01, batch, 0, batch, edp.clone()));
/// let mut history = CsvHistory::new();
/// history.text(&records[..1])?;
/// assert_eq!(history.text(&records)?, to_csv(&records)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CsvHistory {
    columns: Columns,
    rows: usize,
    /// The forms of the columns in the text.
    forms: Vec<Form>,
    text: Vec<u8>,
}

impl CsvHistory {
    /// The history without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of [`to_csv`] for all records, of which those of the call before are the first. Only the
    /// new rows are written, unless they change the columns. With fewer records than before, all are
    /// written anew.
    ///
    /// # Errors
    /// As for [`to_csv`].
    pub fn text(&mut self, records: &[NNIterationDataPoint]) -> Result<&str> {
        if records.len() < self.rows {
            *self = Self::new();
        }
        for record in records.iter().skip(self.rows) {
            self.columns.add(&record.full_state());
        }
        let forms = self.columns.forms(records.len());
        if forms != self.forms || self.text.is_empty() {
            self.text.clear();
            self.rows = 0;
        }
        self.forms = forms;
        let mut writer = csv::WriterBuilder::new().from_writer(&mut self.text);
        if self.rows == 0 {
            let names = self.columns.columns.iter().map(|(name, _)| name.as_str());
            let written = writer.write_record(std::iter::once("").chain(names));
            written.map_err(unwritten)?;
        }
        for (index, record) in records.iter().enumerate().skip(self.rows) {
            let row = self.columns.row(&record.full_state(), index, &self.forms);
            writer.write_record(row).map_err(unwritten)?;
        }
        writer.flush()?;
        drop(writer);
        self.rows = records.len();
        std::str::from_utf8(&self.text).map_err(|_| not_text())
    }

    fn into_text(self) -> Result<String> {
        String::from_utf8(self.text).map_err(|_| not_text())
    }
}

#[cold]
fn not_text() -> Error {
    Error::malformed("expected a history of UTF-8")
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

/// How the integers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Integers,
    Floats,
}

/// The columns in the order of their first values.
#[derive(Clone, Debug, Default)]
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

    /// The form of each column in a history of so many rows.
    fn forms(&self, rows: usize) -> Vec<Form> {
        let types = self.columns.iter().map(|(_, types)| types);
        // pandas has no column of integers with missing values.
        let are_floats =
            |types: &ColumnTypes| !types.others && (types.floats || types.present < rows);
        let forms = types.map(|types| {
            if are_floats(types) {
                Form::Floats
            } else {
                Form::Integers
            }
        });
        forms.collect()
    }

    fn row(&self, state: &State, index: usize, forms: &[Form]) -> Vec<String> {
        let mut row = vec![String::new(); self.columns.len().saturating_add(1)];
        if let Some(first) = row.first_mut() {
            *first = index.to_string();
        }
        for (name, value) in flatten(state) {
            let Some(&column) = self.by_name.get(&name) else {
                continue;
            };
            let cell = row.get_mut(column.saturating_add(1));
            if let (Some(cell), Some(form)) = (cell, forms.get(column)) {
                *cell = text(value, *form);
            }
        }
        row
    }
}

fn is_missing(value: &Value) -> bool {
    value.is_none() || value.as_float().is_some_and(f64::is_nan)
}

fn text(value: &Value, form: Form) -> String {
    match value {
        _ if is_missing(value) => String::new(),
        Value::Int(int) if form == Form::Floats => float_repr(*int as f64),
        Value::Str(text) => text.clone(),
        value => repr(value),
    }
}

#[cfg(test)]
mod tests {
    use nnx_params::NNEvaluationDataPoint;

    use super::*;

    fn record(batch: i64, loss: Option<f64>, count: Option<u64>) -> NNIterationDataPoint {
        let mut edp = NNEvaluationDataPoint::builder();
        if let Some(loss) = loss {
            edp = edp.loss(loss);
        }
        if let Some(count) = count {
            edp = edp.task_record("categorical", count);
        }
        NNIterationDataPoint::new(0.5, batch, 0, batch, edp.build().unwrap())
    }

    /// Columns appear, and a column of integers becomes one of floats, which changes earlier rows.
    #[test]
    fn a_history_that_grows_has_the_text_of_all_its_records() {
        let records = [
            record(0, None, Some(3)),
            record(1, None, Some(4)),
            record(2, Some(0.25), Some(5)),
            record(3, Some(0.5), None),
            record(4, Some(0.5), None),
        ];
        for step in 1..=records.len() {
            let mut history = CsvHistory::new();
            for end in (0..records.len())
                .step_by(step)
                .chain([records.len(), 2, 5])
            {
                let found = history.text(&records[..end]).unwrap().to_owned();
                assert_eq!(found, to_csv(&records[..end]).unwrap(), "{end} by {step}");
            }
        }
        let text = to_csv(&records).unwrap();
        assert!(text.contains(",3.0"), "{text}");
        assert!(to_csv(&records[..3]).unwrap().contains(",3,ok\n"), "{text}");
    }
}
