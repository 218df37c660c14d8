//! A picture as elements with positions, from which SVG, PNG and HTML are written.

/// The ink of an element; each theme has a colour for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Paper,
    Text,
    Muted,
    Grid,
    Axis,
    /// The colour of a series by its number; the colours repeat.
    Series(usize),
}

/// The part of a text that is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub(crate) x: f64,
    /// Of the baseline.
    pub(crate) y: f64,
    pub(crate) text: String,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) ink: Ink,
    pub(crate) bold: bool,
    /// Whether the text runs upwards.
    pub(crate) upwards: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) ink: Ink,
    pub(crate) width: f64,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub(crate) dash: &'static [f64],
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Element {
    Text(Text),
    /// A line through points.
    Path {
        points: Vec<(f64, f64)>,
        stroke: Stroke,
    },
    /// A closed shape around a value, with the text that a browser shows when the pointer is on it.
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
        elements: Vec<Element>,
    },
}

/// A picture of a given size; elements outside it are not shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) elements: Vec<Element>,
}

impl Element {
    pub(crate) fn text(x: f64, y: f64, text: &str, size: f64, anchor: Anchor, ink: Ink) -> Self {
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
    pub(crate) fn bold(mut self) -> Self {
        if let Self::Text(text) = &mut self {
            text.bold = true;
        }
        self
    }

    /// The same text upwards; anything else as it is.
    pub(crate) fn upwards(mut self) -> Self {
        if let Self::Text(text) = &mut self {
            text.upwards = true;
        }
        self
    }

    /// A solid line between two points.
    pub(crate) fn line(from: (f64, f64), to: (f64, f64), ink: Ink) -> Self {
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
    pub(crate) fn moved(self, by: (f64, f64)) -> Self {
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
            Self::Group {
                class,
                data,
                elements,
            } => Self::Group {
                class,
                data,
                elements: elements
                    .into_iter()
                    .map(|element| element.moved(by))
                    .collect(),
            },
        }
    }
}
