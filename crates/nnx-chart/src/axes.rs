//! One pair of axes with its lines.

use crate::downsample::downsampled;
use crate::drawing::{Drawing, DrawnAxes, DrawnLine};
use crate::font_metrics::width;
use crate::number::six_digits;
use crate::palette;
use crate::scale::Scale;
use crate::scene::{Anchor, Element, Ink, Scene};

/// Sizes of texts.
const LABEL: f64 = 12.0;
const TITLE: f64 = 12.5;
/// The distance between a text and the element that it names.
const GAP: f64 = 7.0;
/// The distance from the axes to the first and the last value, so that marks do not touch the axis.
const INSET: f64 = 8.0;
/// With more points, or with more lines, only some points of a line have marks.
const MOST_MARKED_POINTS: usize = 40;
const MOST_MARKED_LINES: usize = 4;
/// The same number of marks on each line, at other values than on the other lines.
const SOME_MARKS: usize = 12;

/// A pair of axes and its lines in a picture of that size.
pub(crate) fn scene(drawing: &Drawing<'_>, drawn: &DrawnAxes<'_>, size: (f64, f64)) -> Scene {
    let (full_width, full_height) = size;
    let frame = Frame::new(drawing, drawn, size);
    let mut elements = frame.axes(drawing, drawn);
    if drawn.lines.is_empty() {
        let middle = (
            f64::midpoint(frame.left, frame.right),
            f64::midpoint(frame.top, frame.bottom),
        );
        let text = "No values to draw";
        elements.push(Element::text(
            middle.0,
            middle.1,
            text,
            TITLE,
            Anchor::Middle,
            Ink::Muted,
        ));
    }
    let (dashed, solid): (Vec<&DrawnLine<'_>>, Vec<&DrawnLine<'_>>) =
        drawn.lines.iter().partition(|drawn| drawn.line.is_dashed);
    let lines = dashed.into_iter().chain(solid);
    elements.extend(lines.map(|line| frame.line(drawing, line)));
    Scene {
        width: full_width,
        height: full_height,
        elements: vec![Element::Group {
            class: "panel",
            data: drawn.axes.data.clone(),
            elements,
        }],
    }
}

/// Where the axes are.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn new(
        drawing: &Drawing<'_>,
        drawn: &DrawnAxes<'_>,
        (full_width, full_height): (f64, f64),
    ) -> Self {
        let log = drawing.chart.log;
        let top = 12.0;
        let bottom = full_height - 2.0 * (LABEL + GAP) - 4.0;
        let values = drawn.lines.iter().flat_map(DrawnLine::points);
        let range = values.fold(None, |range, (_, value)| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high) = range.unwrap_or((if log { 0.1 } else { 0.0 }, 1.0));
        let most_ticks = (((bottom - top) / 40.0) as usize).clamp(3, 8);
        let y = if log {
            Scale::log(low, high, most_ticks)
        } else {
            Scale::linear(low, high, most_ticks)
        };
        let labels = y.ticks.iter().map(|tick| width(&tick.label, LABEL));
        let left = TITLE + GAP + labels.fold(0.0, f64::max) + GAP + 4.0;
        let (first, last) = drawing.x_range().unwrap_or((0, 1));
        let widest = width(&first.to_string(), LABEL).max(width(&last.to_string(), LABEL));
        let right = full_width - (widest / 2.0 - INSET).max(4.0) - 4.0;
        let room = (right - left) / (widest + 28.0);
        let x = Scale::integers(first, last, (room as usize).clamp(1, 10));
        Self {
            left,
            right,
            top,
            bottom,
            x,
            y,
        }
    }

    fn place(&self, x: f64, value: f64) -> (f64, f64) {
        let (left, right) = (self.left + INSET, self.right - INSET);
        (
            left + (right - left) * self.x.share(x),
            self.bottom + (self.top - self.bottom) * self.y.share(value),
        )
    }

    fn axes(&self, drawing: &Drawing<'_>, drawn: &DrawnAxes<'_>) -> Vec<Element> {
        let tick = |elements: Vec<Element>| Element::Group {
            class: "tick",
            data: Vec::new(),
            elements,
        };
        let down = self.y.ticks.iter().map(|mark| {
            let (_, y) = self.place(0.0, mark.value);
            let label = (self.left - GAP, y + LABEL * 0.36);
            tick(vec![
                Element::line((self.left, y), (self.right, y), Ink::Grid),
                Element::text(
                    label.0,
                    label.1,
                    &mark.label,
                    LABEL,
                    Anchor::End,
                    Ink::Muted,
                ),
            ])
        });
        let across = self.x.ticks.iter().map(|mark| {
            let (x, _) = self.place(mark.value, 0.0);
            let label = self.bottom + GAP + LABEL;
            tick(vec![
                Element::line((x, self.bottom), (x, self.bottom + 4.0), Ink::Axis),
                Element::text(x, label, &mark.label, LABEL, Anchor::Middle, Ink::Muted),
            ])
        });
        let across: Vec<Element> = across.collect();
        let title = if drawing.chart.log {
            format!("{} (log scale)", drawn.axes.title)
        } else {
            drawn.axes.title.clone()
        };
        let x_title = &drawing.chart.x_title;
        let middle = f64::midpoint(self.top, self.bottom);
        let below = self.bottom + 2.0 * (GAP + LABEL);
        let centre = f64::midpoint(self.left, self.right);
        vec![
            Element::Group {
                class: "y-axis",
                data: Vec::new(),
                elements: down.collect(),
            },
            Element::line(
                (self.left, self.bottom),
                (self.right, self.bottom),
                Ink::Axis,
            ),
            Element::Group {
                class: "x-axis",
                data: Vec::new(),
                elements: across,
            },
            Element::text(TITLE, middle, &title, TITLE, Anchor::Middle, Ink::Text)
                .bold()
                .upwards(),
            Element::text(centre, below, x_title, TITLE, Anchor::Middle, Ink::Text).bold(),
        ]
    }

    fn line(&self, drawing: &Drawing<'_>, drawn: &DrawnLine<'_>) -> Element {
        let (line, series) = (drawn.line, &drawing.chart.series);
        let stroke = palette::stroke(line.series, series.len(), line.is_dashed);
        let place = |&(x, value): &(i64, f64)| self.place(x as f64, value);
        let paths = drawn.segments.iter().filter(|segment| segment.len() > 1);
        let paths = paths.map(|segment| Element::Path {
            points: downsampled(segment.iter().map(place).collect()),
            stroke: stroke.clone(),
        });
        let mut elements: Vec<Element> = paths.collect();
        let count = drawn.points().count();
        let lines = 2 * series.len();
        let (every, offset) = if count <= MOST_MARKED_POINTS && lines <= MOST_MARKED_LINES {
            (1, 0)
        } else {
            let every = count.div_ceil(SOME_MARKS).max(1);
            let number = line.series.saturating_mul(2) + usize::from(line.is_dashed);
            (every, number % lines.max(1) * every / lines.max(1))
        };
        let label = series
            .get(line.series)
            .map(|series| series.short_label.as_str());
        let label = label.unwrap_or_default();
        let counted = drawing.chart.x_title.to_lowercase();
        let mut index = 0_usize;
        for segment in &drawn.segments {
            for point in segment {
                // A point without neighbours is not part of any line, so it has a mark.
                if segment.len() == 1 || index % every == offset % every {
                    let (x, value) = point;
                    let place = place(point);
                    let outline = palette::mark(line.series, line.is_dashed).into_iter();
                    elements.push(Element::Mark {
                        outline: outline.map(|(x, y)| (place.0 + x, place.1 + y)).collect(),
                        stroke: stroke.clone(),
                        filled: !line.is_dashed,
                        title: format!(
                            "{label} {}, {counted} {x}: {}",
                            line.name,
                            six_digits(*value)
                        ),
                    });
                }
                index += 1;
            }
        }
        Element::Group {
            class: "line",
            data: line.data.clone(),
            elements,
        }
    }
}
