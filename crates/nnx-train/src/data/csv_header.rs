//! Whether a CSV file names its columns.

use std::fmt;

/// Whether the first line of a CSV file names the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Header {
    /// Its cells decide: it does if no cell is a number, or if all of them are numbers of columns
    /// such as `0,1,2,3` while other lines have other numbers.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It is a sample.
    No,
}

/// How the first line of a CSV file was read, if its cells do not decide it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderNote {
    /// The line.
    pub line: String,
    /// Whether it was read as the names of the columns.
    pub is_header: bool,
}

impl fmt::Display for HeaderNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_header {
            write!(
                f,
                "the first line, `{}`, is read as the names of the columns",
                self.line
            )
        } else {
            write!(
                f,
                "the first line, `{}`, has only whole numbers, unlike the others, and is read as a \
                 sample",
                self.line
            )
        }
    }
}

/// Whether the first line is a header, with a note if its cells could also be a sample.
pub(super) fn detect_header(rows: &[csv::StringRecord]) -> (bool, Option<HeaderNote>) {
    let Some((first, samples)) = rows.split_first() else {
        return (false, None);
    };
    if first.iter().all(|cell| cell.parse::<f64>().is_err()) {
        return (true, None);
    }
    let note = |is_header| HeaderNote {
        line: first.iter().collect::<Vec<_>>().join(","),
        is_header,
    };
    if is_numbering(first) && samples.iter().any(|sample| !is_numbering(sample)) {
        return (true, Some(note(true)));
    }
    let is_whole = |row: &csv::StringRecord| row.iter().all(|cell| cell.parse::<u64>().is_ok());
    if is_whole(first) && !samples.is_empty() && !samples.iter().any(is_whole) {
        return (false, Some(note(false)));
    }
    (false, None)
}

/// Whether the cells look like numbers of columns: small whole numbers in ascending order. pandas
/// writes `0`, `1` and so on for columns without names, and leaves out the numbers of columns that
/// were dropped.
fn is_numbering(row: &csv::StringRecord) -> bool {
    let mut previous = None;
    row.iter().all(|cell| {
        let number = cell.parse::<usize>().ok();
        // `007` and `+1` are not numbers of columns.
        let number = number.filter(|number| number.to_string() == cell);
        let is_next = number.is_some_and(|number| number < 2 * row.len()) && number > previous;
        previous = number;
        is_next
    })
}
