//! The values of the cells of a column, by the rules of pandas' `read_csv`.

use nnx_params::Value;

/// The texts that pandas reads as a missing value.
const MISSING: &[&str] = &[
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// The type of a column: the first of integer, float and bool that fits every cell, otherwise text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    ints: bool,
    floats: bool,
    bools: bool,
    /// The number of cells that are not missing.
    pub(super) present: usize,
}

impl Column {
    /// A column without cells.
    pub(super) fn new() -> Self {
        Self {
            ints: true,
            floats: true,
            bools: true,
            present: 0,
        }
    }

    /// Adds a cell.
    pub(super) fn add(&mut self, cell: &str) {
        if is_missing(cell) {
            return;
        }
        self.present = self.present.saturating_add(1);
        self.ints = self.ints && int(cell).is_some();
        self.floats = self.floats && float(cell).is_some();
        self.bools = self.bools && bool(cell).is_some();
    }

    /// Whether the cells are texts, because at least one of them is.
    pub(super) fn is_text(&self) -> bool {
        !(self.ints || self.floats || self.bools)
    }

    /// The value of a cell in a column with `rows` rows; `None` if it is missing.
    ///
    /// A column of integers with missing cells becomes one of floats, as in pandas.
    pub(super) fn value(&self, cell: &str, rows: usize) -> Option<Value> {
        if is_missing(cell) {
            return None;
        }
        if self.ints && self.present == rows {
            int(cell).map(Value::Int)
        } else if self.floats {
            float(cell).map(Value::Float)
        } else if self.bools {
            bool(cell).map(Value::Bool)
        } else {
            Some(Value::Str(cell.to_owned()))
        }
    }
}

/// Whether a cell is neither missing nor a number.
pub(super) fn is_text(cell: &str) -> bool {
    !is_missing(cell) && float(cell).is_none()
}

fn is_missing(cell: &str) -> bool {
    MISSING.contains(&cell)
}

fn int(cell: &str) -> Option<i128> {
    // pandas has integers of 64 bits, signed and unsigned.
    let int: i128 = cell.trim_matches(' ').parse().ok()?;
    (i128::from(i64::MIN)..=i128::from(u64::MAX))
        .contains(&int)
        .then_some(int)
}

fn float(cell: &str) -> Option<f64> {
    cell.trim_matches(' ').parse().ok()
}

fn bool(cell: &str) -> Option<bool> {
    match cell {
        "True" | "TRUE" | "true" => Some(true),
        "False" | "FALSE" | "false" => Some(false),
        _ => None,
    }
}
