//! A picture as parts with places: what the forms of a chart have in common.

/// What a part is drawn with; each theme has its colour for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Paper,
    Text,
    Muted,
    Grid,
    Axis,
    /// That of a line, by its number; there are [`SERIES`](super::palette::SERIES) of them.
    Series(usize),
}

/// Where a text stands from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) x: f64,
    /// Of the baseline.
    pub(super) y: f64,
    pub(super) text: String,
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) ink: Ink,
    pub(super) bold: bool,
    /// Whether it runs upwards.
    pub(super) upwards: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stroke {
    pub(super) ink: Ink,
    pub(super) width: f64,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub(super) dash: &'static [f64],
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Text(Text),
    /// A line through points.
    Path {
        points: Vec<(f64, f64)>,
        stroke: Stroke,
    },
    /// A closed shape around a value, with the text that a browser shows when it is pointed to.
    Mark {
        outline: Vec<(f64, f64)>,
        stroke: Stroke,
        filled: bool,
        title: String,
    },
    /// Parts that belong together, with a class and data for scripts.
    Group {
        class: &'static str,
        data: Vec<(&'static str, String)>,
        items: Vec<Item>,
    },
}

/// A picture of a size; what lies beyond it is not shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) items: Vec<Item>,
}

impl Item {
    pub(super) fn text(x: f64, y: f64, text: &str, size: f64, anchor: Anchor, ink: Ink) -> Self {
        Self::Text(Text {
            x,
            y,
            text: text.to_owned(),
            size,
            anchor,
            ink,
            bold: false,
            upwards: false,
        })
    }

    /// The same text in bold type; anything else as it is.
    pub(super) fn bold(mut self) -> Self {
        if let Self::Text(text) = &mut self {
            text.bold = true;
        }
        self
    }

    /// The same text upwards; anything else as it is.
    pub(super) fn upwards(mut self) -> Self {
        if let Self::Text(text) = &mut self {
            text.upwards = true;
        }
        self
    }

    /// A solid line between two points.
    pub(super) fn line(from: (f64, f64), to: (f64, f64), ink: Ink) -> Self {
        Self::Path {
            points: vec![from, to],
            stroke: Stroke {
                ink,
                width: 1.0,
                dash: &[],
            },
        }
    }

    /// The same part elsewhere.
    pub(super) fn moved(self, by: (f64, f64)) -> Self {
        let place = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            let points = points.into_iter();
            points.map(|(x, y)| (x + by.0, y + by.1)).collect()
        };
        match self {
            Self::Text(text) => Self::Text(Text {
                x: text.x + by.0,
                y: text.y + by.1,
                ..text
            }),
            Self::Path { points, stroke } => Self::Path {
                points: place(points),
                stroke,
            },
            Self::Mark {
                outline,
                stroke,
                filled,
                title,
            } => Self::Mark {
                outline: place(outline),
                stroke,
                filled,
                title,
            },
            Self::Group { class, data, items } => Self::Group {
                class,
                data,
                items: items.into_iter().map(|item| item.moved(by)).collect(),
            },
        }
    }
}
