//! Tables of numbers in text files.

use candle_core::{Device, Tensor, WithDType};

use super::csv_header::{Header, HeaderNote, detect_header};
use crate::error::{Error, Result};

/// A CSV file, with its cells as text.
///
/// ```
/// use nnx_train::{CsvTable, Header};
///
/// let table = CsvTable::parse(b"width,species\n1.5,0\n2.5,1\n", Header::Auto)?;
/// let column = table.column("species")?;
/// assert_eq!(table.integers(&[column], &[])?.to_vec2::<i64>().unwrap(), [[0], [1]]);
/// # Ok::<(), nnx_train::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CsvTable {
    names: Option<Vec<String>>,
    rows: Vec<csv::StringRecord>,
    width: usize,
    note: Option<HeaderNote>,
}

impl CsvTable {
    /// Reads a table. With [`Header::Auto`] the first line names the columns if it has no number,
    /// or the numbers that pandas gives to columns without names.
    ///
    /// # Errors
    /// When the bytes are not UTF-8, a line has another number of cells than the first one, or no
    /// line has numbers.
    pub fn parse(bytes: &[u8], header: Header) -> Result<Self> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let rows: Result<Vec<_>, _> = reader.records().collect();
        let mut rows = rows.map_err(|error| Error::data(refused(&error)))?;
        let (is_header, note) = match header {
            Header::Yes => (!rows.is_empty(), None),
            Header::No => (false, None),
            Header::Auto => detect_header(&rows),
        };
        let names = is_header.then(|| rows.remove(0).iter().map(ToOwned::to_owned).collect());
        let Some(first) = rows.first() else {
            return Err(Error::data(
                "expected at least one line of numbers, found none",
            ));
        };
        Ok(Self {
            width: first.len(),
            names,
            rows,
            note,
        })
    }

    /// The table with its columns in the order of another one, by their names. If one of the two has no
    /// names, the columns stay in their order.
    ///
    /// ```
    /// use nnx_train::{CsvTable, Header};
    ///
    /// let train = CsvTable::parse(b"width,species\n1.5,0\n", Header::Auto)?;
    /// let val = CsvTable::parse(b"species,width\n1,2.5\n", Header::Auto)?.aligned(&train)?;
    /// assert_eq!(val.integers(&[1], &[])?.to_vec2::<i64>().unwrap(), [[1]]);
    /// # Ok::<(), nnx_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a name is in one of the two tables only, or is not unique.
    pub fn aligned(self, like: &Self) -> Result<Self> {
        let (Some(names), Some(wanted)) = (&self.names, &like.names) else {
            return Ok(self);
        };
        if names == wanted {
            return Ok(self);
        }
        let listed = |names: &[String]| format!("the columns `{}`", names.join("`, `"));
        let mut order = Vec::new();
        for name in wanted {
            let at = names.iter().position(|one| one == name).ok_or_else(|| {
                Error::data(format!(
                    "there is no column `{name}`, which the training data has; the file has {}",
                    listed(names)
                ))
            })?;
            order.push(at);
        }
        for (at, name) in names.iter().enumerate() {
            match order.iter().filter(|one| **one == at).count() {
                1 => {}
                0 if !wanted.contains(name) => {
                    return Err(Error::data(format!(
                        "column `{name}` is not in the training data, which has {}",
                        listed(wanted)
                    )));
                }
                _ => {
                    return Err(Error::data(format!(
                        "columns in another order than those of the training data need unique names, \
                         found `{name}` twice"
                    )));
                }
            }
        }
        let reordered = |row: csv::StringRecord| {
            let cells = order.iter().map(|at| row.get(*at).unwrap_or_default());
            let mut cells: csv::StringRecord = cells.collect();
            // Errors name the line.
            cells.set_position(row.position().cloned());
            cells
        };
        Ok(Self {
            names: like.names.clone(),
            width: order.len(),
            rows: self.rows.into_iter().map(reordered).collect(),
            note: self.note,
        })
    }

    /// A note about how the first line was read, if it has two readings.
    pub fn note(&self) -> Option<&HeaderNote> {
        self.note.as_ref()
    }

    /// The number of samples.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The names of the columns, where the file has them.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The numbers of all columns.
    pub fn all(&self) -> Vec<usize> {
        (0..self.width).collect()
    }

    /// The index of the column with that name or number.
    ///
    /// # Errors
    /// When the file has no such column.
    pub fn column(&self, name: &str) -> Result<usize> {
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
            Error::data(format!(
                "there is no column `{name}`, the file has {columns}"
            ))
        })
    }

    /// The indices of several columns.
    ///
    /// # Errors
    /// As for [`column`](Self::column).
    pub fn columns(&self, names: &[String]) -> Result<Vec<usize>> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// Columns as float32.
    ///
    /// # Errors
    /// When a cell is not a number; NaN is a number.
    pub fn numbers(&self, columns: &[usize]) -> Result<Tensor> {
        self.tensor(columns, self.cells(columns, "a number", number)?)
    }

    /// Columns as float32, all of them finite.
    ///
    /// # Errors
    /// When a cell is not a finite number, or not in float32.
    pub fn finite_numbers(&self, columns: &[usize]) -> Result<Tensor> {
        let finite = |text: &str| number(text).filter(|number| number.is_finite());
        self.tensor(columns, self.cells(columns, "a finite number", finite)?)
    }

    fn tensor<T: WithDType>(&self, columns: &[usize], values: Vec<T>) -> Result<Tensor> {
        let shape = (self.rows.len(), columns.len());
        Ok(Tensor::from_vec(values, shape, &Device::Cpu)?)
    }

    /// Columns as int64. A cell may be one of the names; its value is then the position of the
    /// name.
    ///
    /// # Errors
    /// When a cell is neither a whole number nor a name.
    pub fn integers(&self, columns: &[usize], names: &[String]) -> Result<Tensor> {
        let place = |text: &str| names.iter().position(|name| name == text);
        let integer = |text: &str| match place(text) {
            Some(place) => i64::try_from(place).ok(),
            None => whole(text),
        };
        self.tensor(columns, self.cells(columns, "a whole number", integer)?)
    }

    fn cells<T>(
        &self,
        columns: &[usize],
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>> {
        let cells = self
            .rows
            .iter()
            .flat_map(|row| columns.iter().map(move |&at| (row, at)));
        cells
            .map(|(row, at)| {
                let cell = row.get(at).unwrap_or_default();
                read(cell).ok_or_else(|| {
                    let line = row.position().map_or(0, csv::Position::line);
                    let hint = match (line, &self.names) {
                        (1, None) => "; if the line names the columns, give the header `yes`",
                        _ => "",
                    };
                    Error::data(format!(
                        "expected {expected}, found `{cell}` in line {line}, column `{}`{hint}",
                        self.name(at)
                    ))
                })
            })
            .collect()
    }

    /// The name of a column, or its number if the file has no names.
    pub fn name(&self, column: usize) -> String {
        let name = self.names.as_ref().and_then(|names| names.get(column));
        name.cloned().unwrap_or_else(|| column.to_string())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "numbers become float32, as an array of float64 does"
)]
fn number(text: &str) -> Option<f32> {
    text.parse::<f64>().ok().map(|number| number as f32)
}

/// A whole number, which may be written as a float.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the first line of a table is read as a header, and whether there is a note.
    fn judged(text: &str) -> (bool, bool) {
        let file = CsvTable::parse(text.as_bytes(), Header::Auto).unwrap();
        (file.names.is_some(), file.note().is_some())
    }

    #[test]
    fn columns_are_aligned_by_unique_names() {
        let table = |text: &str| CsvTable::parse(text.as_bytes(), Header::Yes).unwrap();
        let train = table("a,b,c\n1,2,3\n");
        let cells = |table: &CsvTable| {
            let all = table.integers(&table.all(), &[]).unwrap();
            all.to_vec2::<i64>().unwrap()
        };
        let val = table("c,a,b\n3,1,2\n6,4,5\n").aligned(&train).unwrap();
        assert_eq!(cells(&val), [[1, 2, 3], [4, 5, 6]]);
        assert_eq!(val.names().unwrap(), ["a", "b", "c"]);
        // The line of an error is that of the file.
        let val = table("c,a,b\n3,1,2\n6,x,5\n").aligned(&train).unwrap();
        let error = val.numbers(&[0]).unwrap_err().to_string();
        assert!(error.contains("`x` in line 3, column `a`"), "{error}");
        // Without names on one side the order counts.
        let plain = CsvTable::parse(b"3,1,2\n", Header::No).unwrap();
        assert_eq!(cells(&plain.aligned(&train).unwrap()), [[3, 1, 2]]);
        for (text, said) in [
            ("a,c\n1,3\n", "no column `b`"),
            ("c,a,d\n3,1,2\n", "no column `b`"),
            (
                "d,c,a,b\n0,3,1,2\n",
                "column `d` is not in the training data",
            ),
            ("c,a,b,a\n3,1,2,1\n", "found `a` twice"),
        ] {
            let error = table(text).aligned(&train).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        // Equal names need no order, even if they are not unique.
        let twice = table("a,a,b\n1,2,3\n");
        assert_eq!(cells(&twice.clone().aligned(&twice).unwrap()), [[1, 2, 3]]);
        let error = table("a,b,a\n1,2,3\n").aligned(&twice).unwrap_err();
        assert!(error.to_string().contains("found `a` twice"), "{error}");
    }

    #[test]
    fn numbers_of_columns_are_a_header() {
        // pandas: `DataFrame(values).to_csv(index=False)`, also with columns left out.
        assert_eq!(judged("0,1,2,3\n1.0,1.5,-1.5,0.5\n"), (true, true));
        assert_eq!(judged("0,2,5\n1.0,1.5,-1.5\n"), (true, true));
        assert_eq!(judged("1,2,3\n1,1,1\n"), (true, true));
        assert_eq!(judged("0\n1.5\n"), (true, true));
        assert_eq!(judged("a,b\n1,2\n"), (true, false));
    }

    #[test]
    fn other_numbers_are_a_sample() {
        // The numbers may also be a sample.
        assert_eq!(judged("5,17,230\n1.5,2.5,3.5\n"), (false, true));
        assert_eq!(judged("1,0\n1.5,2.5\n"), (false, true));
        assert_eq!(judged("0,0\n1.5,2.5\n"), (false, true));
        // Every line is of that kind, for example tokens.
        assert_eq!(judged("0,1,2\n1,2,3\n0,2,3\n"), (false, false));
        assert_eq!(judged("5,17,230\n4,2,9\n"), (false, false));
        assert_eq!(judged("0.0,1.0\n1.5,2.5\n"), (false, false));
        // The file has only this line.
        assert_eq!(judged("0,1,2,3\n"), (false, false));
    }
}
