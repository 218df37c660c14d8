//! Tables of numbers as text.

use nnx::net::candle_core::{Device, Tensor};

use super::array::computing;
use super::failures::malformed;
use crate::failure::Failure;

/// A CSV file, its cells as text. Its first line names the columns unless it has a number.
#[derive(Debug)]
pub(super) struct CsvFile {
    names: Option<Vec<String>>,
    rows: Vec<csv::StringRecord>,
    width: usize,
}

impl CsvFile {
    /// # Errors
    /// When the bytes are no UTF-8, a line has another number of cells than the first one, or there
    /// is no line of numbers.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Failure> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let rows: Result<Vec<_>, _> = reader.records().collect();
        let mut rows = rows.map_err(|error| malformed(refused(&error)))?;
        let is_header = rows
            .first()
            .is_some_and(|row| row.iter().all(|cell| cell.parse::<f64>().is_err()));
        let names = is_header.then(|| rows.remove(0).iter().map(ToOwned::to_owned).collect());
        let Some(first) = rows.first() else {
            return Err(malformed(
                "expected at least one line of numbers, found none",
            ));
        };
        Ok(Self {
            width: first.len(),
            names,
            rows,
        })
    }

    /// The numbers of all columns.
    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.width).collect()
    }

    /// The place of a column that is called so, or has that number.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn column(&self, name: &str) -> Result<usize, Failure> {
        let names = self.names.as_deref().unwrap_or_default();
        let number = || {
            name.parse()
                .ok()
                .filter(|&number: &usize| number < self.width)
        };
        let found = names.iter().position(|one| one == name).or_else(number);
        found.ok_or_else(|| {
            let columns = if names.is_empty() {
                format!("columns `0` to `{}`, which have no names", self.width - 1)
            } else {
                format!("the columns `{}`", names.join("`, `"))
            };
            malformed(format!(
                "there is no column `{name}`, the file has {columns}"
            ))
        })
    }

    /// Columns as float32.
    ///
    /// # Errors
    /// When a cell is no number; NaN is one.
    pub(super) fn numbers(&self, columns: &[usize]) -> Result<Tensor, Failure> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "numbers become float32, as an array of float64 does"
        )]
        let number = |text: &str| text.parse::<f64>().ok().map(|number| number as f32);
        let values = self.cells(columns, "a number", number)?;
        Tensor::from_vec(values, (self.rows.len(), columns.len()), &Device::Cpu).map_err(computing)
    }

    /// Columns as int64; a cell may be one of the names, which stands for its place among them.
    ///
    /// # Errors
    /// When a cell is neither a whole number nor a name.
    pub(super) fn integers(&self, columns: &[usize], names: &[String]) -> Result<Tensor, Failure> {
        let place = |text: &str| names.iter().position(|name| name == text);
        let integer = |text: &str| match place(text) {
            Some(place) => i64::try_from(place).ok(),
            None => whole(text),
        };
        let values = self.cells(columns, "a whole number", integer)?;
        Tensor::from_vec(values, (self.rows.len(), columns.len()), &Device::Cpu).map_err(computing)
    }

    fn cells<T>(
        &self,
        columns: &[usize],
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, Failure> {
        let cells = self
            .rows
            .iter()
            .flat_map(|row| columns.iter().map(move |&at| (row, at)));
        cells
            .map(|(row, at)| {
                let cell = row.get(at).unwrap_or_default();
                read(cell).ok_or_else(|| {
                    let line = row.position().map_or(0, csv::Position::line);
                    malformed(format!(
                        "expected {expected}, found `{cell}` in line {line}, column `{}`",
                        self.name(at)
                    ))
                })
            })
            .collect()
    }

    fn name(&self, column: usize) -> String {
        let name = self.names.as_ref().and_then(|names| names.get(column));
        name.cloned().unwrap_or_else(|| column.to_string())
    }
}

/// A whole number, also one that is written as a float.
fn whole(text: &str) -> Option<i64> {
    if let Ok(integer) = text.parse() {
        return Some(integer);
    }
    let digits = text
        .strip_suffix('0')
        .map(|text| text.trim_end_matches('0'));
    digits?.strip_suffix('.')?.parse().ok()
}

fn refused(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!(
                "expected {expected_len} cells as in the first line, found {len} in line {line}"
            )
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("expected UTF-8, found other bytes in line {line}")
        }
        _ => error.to_string(),
    }
}
