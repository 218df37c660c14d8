//! A table below a chart.

/// A table; on a narrow screen each row becomes a list of its cells, with the columns' titles.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// The heading above the table.
    pub title: String,
    /// The titles of the columns.
    pub columns: Vec<String>,
    /// The rows, each with a cell for every column; the first cell names the row.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.rows.push(cells.into_iter().collect());
        self
    }
}

/// A cell of a [`Table`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Cell {
    /// The text.
    pub text: String,
    /// The text that a browser shows when the pointer is on the cell.
    pub hint: Option<String>,
    /// Smaller text after the text.
    pub aside: Option<String>,
    /// Smaller text below the text.
    pub below: Option<String>,
}

impl Cell {
    /// A cell that contains only a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Sets the text that a browser shows when the pointer is on the cell.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the smaller text after the text.
    #[must_use]
    pub fn aside(mut self, aside: impl Into<String>) -> Self {
        self.aside = Some(aside.into());
        self
    }

    /// Sets the smaller text below the text.
    #[must_use]
    pub fn below(mut self, below: impl Into<String>) -> Self {
        self.below = Some(below.into());
        self
    }
}
