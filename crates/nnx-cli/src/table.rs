//! Tables that never shorten a name.

use unicode_width::UnicodeWidthStr;

use crate::escape::escaped;
use crate::terminal::{BOLD, Page};

/// Spaces between two columns, and before the cells of a row whose name has a separate line.
const GAP: usize = 2;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table whose first column is a name. If a name is too wide for the terminal, the cells of its
/// row are on the next line.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Side)>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    cells: Vec<String>,
    below: Vec<String>,
}

impl Table {
    pub(crate) fn new(columns: &[(&str, Side)]) -> Self {
        let columns = columns.iter();
        Self {
            columns: columns
                .map(|(title, side)| (escaped(title).into_owned(), *side))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Characters that a terminal would interpret are escaped.
    pub(crate) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| escaped(&cell).into_owned());
        self.rows.push(Row {
            cells: cells.collect(),
            below: Vec::new(),
        });
    }

    /// Adds a line below the last row and its other lines; an empty text adds nothing.
    pub(crate) fn below(&mut self, line: String) {
        if let Some(row) = self.rows.last_mut().filter(|_| !line.is_empty()) {
            row.below.push(line);
        }
    }

    /// The table as lines; empty if it has no rows. Columns without text are left out.
    pub(crate) fn render(&self, page: &Page) -> String {
        let mut out = String::new();
        if self.rows.is_empty() {
            return out;
        }
        let widths = self.widths();
        let titles: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.0.to_owned())
            .collect();
        let name_width = widths.first().copied().unwrap_or_default();
        let rest = widths.iter().skip(1).filter(|width| **width > 0);
        let rest: usize = rest.map(|width| width + GAP).sum();
        // If the cells do not fit either, the line is longer than the terminal.
        let name_width = match page.width {
            Some(width) => name_width.min(width.saturating_sub(rest)),
            None => name_width,
        };
        let line = |cells: &[String]| self.line(cells, &widths, name_width);
        for title in line(&titles).lines() {
            out.push_str(&page.paint(BOLD, title));
            out.push('\n');
        }
        for row in &self.rows {
            out.push_str(&line(&row.cells));
            for below in &row.below {
                out.push_str(&format!("{:GAP$}{below}\n", ""));
            }
        }
        out
    }

    /// The width of each column; 0 for a column without text.
    fn widths(&self) -> Vec<usize> {
        let widths = self.columns.iter().enumerate().map(|(index, (title, _))| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(index));
            match cells.map(|cell| cell.width()).max().unwrap_or_default() {
                0 if index > 0 => 0,
                widest => widest.max(title.width()),
            }
        });
        widths.collect()
    }

    /// The line of a row, or two lines if the name is too wide.
    fn line(&self, cells: &[String], widths: &[usize], name_width: usize) -> String {
        let mut out = String::new();
        let name = cells.first().map(String::as_str).unwrap_or_default();
        out.push_str(name);
        let mut filled = name.width();
        let cells = cells.iter().zip(&self.columns).zip(widths).skip(1);
        let mut cells = cells.filter(|(_, width)| **width > 0).peekable();
        if filled > name_width && cells.peek().is_some() {
            out.push('\n');
            filled = 0;
        }
        // The current column of the text, and the column at which the next cell begins.
        let mut column = name_width;
        for ((cell, (_, side)), width) in cells {
            column += GAP;
            let before = match side {
                Side::Left => 0,
                Side::Right => width.saturating_sub(cell.width()),
            };
            if !cell.is_empty() {
                out.extend(std::iter::repeat_n(
                    ' ',
                    (column + before).saturating_sub(filled),
                ));
                out.push_str(cell);
                filled = column + before + cell.width();
            }
            column += width;
        }
        out.push('\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 3]]) -> Table {
        let mut table = Table::new(&[
            ("Name", Side::Left),
            ("Size", Side::Right),
            ("Note", Side::Left),
        ]);
        for row in rows {
            table.push(row.map(ToOwned::to_owned));
        }
        table
    }

    #[track_caller]
    fn check(rows: &[[&str; 3]], width: Option<usize>, expected: &str) {
        assert_eq!(table(rows).render(&Page::plain(width)), expected);
    }

    #[test]
    fn columns_are_aligned_and_lines_end_with_text() {
        check(
            &[["layer.weight", "4 B", "x"], ["b", "128 B", ""]],
            None,
            "Name           Size  Note\n\
             layer.weight    4 B  x\n\
             b             128 B\n",
        );
    }

    #[test]
    fn a_column_without_text_is_left_out() {
        check(&[["a", "4 B", ""]], None, "Name  Size\na      4 B\n");
    }

    #[test]
    fn a_name_too_wide_has_a_line_of_its_own() {
        check(
            &[["layer.weight", "4 B", ""], ["b", "128 B", ""]],
            Some(14),
            "Name      Size\n\
             layer.weight\n           4 B\n\
             b        128 B\n",
        );
    }

    #[test]
    fn wide_characters_and_escapes_count_as_they_show() {
        check(
            &[["模型", "1 B", ""], ["a\nb", "22 B", ""]],
            None,
            "Name  Size\n模型   1 B\na\\nb  22 B\n",
        );
    }
}
