//! The contents of a chart.

use crate::table::Table;

/// A chart: series of values over whole numbers such as epochs, in one or more pairs of axes.
///
/// Texts may contain any characters; control characters are shown as `�`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chart {
    /// The title of the chart.
    pub title: String,
    /// The name of the horizontal axis. Default: `Epoch`.
    pub x_title: String,
    /// Whether the vertical axes are logarithmic; values of 0 and below are then left out.
    /// Default: false.
    pub log: bool,
    /// The entries of the legend.
    pub series: Vec<Series>,
    /// Pairs of axes, drawn beside each other. Pairs without a value to draw are left out, unless
    /// all of them are without.
    pub axes: Vec<Axes>,
    /// Sentences below the picture, for example about values that are not drawn.
    pub notes: Vec<String>,
    /// A table below the notes; only [`to_html`](crate::to_html) writes it.
    pub table: Option<Table>,
}

impl Chart {
    /// A chart with a title and nothing to draw.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            x_title: "Epoch".to_owned(),
            log: false,
            series: Vec::new(),
            axes: Vec::new(),
            notes: Vec::new(),
            table: None,
        }
    }

    /// Sets the name of the horizontal axis.
    #[must_use]
    pub fn x_title(mut self, title: impl Into<String>) -> Self {
        self.x_title = title.into();
        self
    }

    /// Sets whether the vertical axes are logarithmic.
    #[must_use]
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// Adds a series; the first one has the number 0.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds a pair of axes.
    #[must_use]
    pub fn axes(mut self, axes: Axes) -> Self {
        self.axes.push(axes);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Sets the table of the HTML page.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }
}

/// A series, such as a training run. Its lines have the same colour and the same shape of marks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Series {
    /// The name in the legend.
    pub label: String,
    /// The name in the text that a browser shows for a mark. Default: the label.
    pub short_label: String,
}

impl Series {
    /// A series with its name in the legend.
    pub fn new(label: impl Into<String>) -> Self {
        let label = label.into();
        Self {
            short_label: label.clone(),
            label,
        }
    }

    /// Sets the name in the text that a browser shows for a mark.
    #[must_use]
    pub fn short_label(mut self, label: impl Into<String>) -> Self {
        self.short_label = label.into();
        self
    }
}

/// A pair of axes with the lines in it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Axes {
    /// The name of the vertical axis.
    pub title: String,
    /// The lines; each belongs to one series.
    pub lines: Vec<Line>,
    /// `data-…` attributes of the group in SVG and HTML, for scripts: names without `data-`, and
    /// values.
    pub data: Vec<(&'static str, String)>,
}

impl Axes {
    /// Empty axes.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            lines: Vec::new(),
            data: Vec::new(),
        }
    }

    /// Adds a line.
    #[must_use]
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// Adds an attribute `data-NAME`, for scripts.
    #[must_use]
    pub fn data(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.data.push((name, value.into()));
        self
    }
}

/// A line of a series, solid with filled marks or dashed with hollow ones.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// The number of the series in [`Chart::series`].
    pub series: usize,
    /// The name of the line within its series, such as `validation`; it is in the legend.
    pub name: String,
    /// Whether the line is dashed. Solid lines are drawn over dashed ones.
    pub is_dashed: bool,
    /// Whole numbers such as epochs, in ascending order, with their values. Neighbours are joined.
    /// If a number is missing, or its value is missing or not finite, the line has a gap.
    pub points: Vec<(i64, f64)>,
    /// `data-…` attributes of the group in SVG and HTML, for scripts: names without `data-`, and
    /// values.
    pub data: Vec<(&'static str, String)>,
}

impl Line {
    /// A solid line with filled marks.
    pub fn solid(
        series: usize,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (i64, f64)>,
    ) -> Self {
        Self {
            series,
            name: name.into(),
            is_dashed: false,
            points: points.into_iter().collect(),
            data: Vec::new(),
        }
    }

    /// A dashed line with hollow marks.
    pub fn dashed(
        series: usize,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (i64, f64)>,
    ) -> Self {
        Self {
            is_dashed: true,
            ..Self::solid(series, name, points)
        }
    }

    /// Adds an attribute `data-NAME`, for scripts.
    #[must_use]
    pub fn data(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.data.push((name, value.into()));
        self
    }
}
