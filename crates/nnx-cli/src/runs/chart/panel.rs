//! One pair of axes with its lines.

use super::data::{Chart, Line, PanelData};
use super::glyphs::width;
use super::palette;
use super::scale::Scale;
use super::scene::{Anchor, Ink, Item, Scene};
use super::thin::thinned;
use crate::runs::metrics::number;

/// Sizes of texts.
const LABEL: f64 = 12.0;
const TITLE: f64 = 12.5;
/// Between a text and what it names.
const GAP: f64 = 7.0;
/// From the axes to the first and the last epoch, so that marks do not lie on the axis.
const INSET: f64 = 8.0;
/// Lines of more points, or in the company of more lines, have marks at some of their points alone.
const MOST_MARKED_POINTS: usize = 40;
const MOST_MARKED_LINES: usize = 4;
/// So many, at other epochs than their neighbours.
const SOME_MARKS: usize = 12;

/// The axes and lines of a panel in a picture of that size.
pub(super) fn scene(chart: &Chart, panel: &PanelData, size: (f64, f64)) -> Scene {
    let (full_width, full_height) = size;
    let frame = Frame::new(chart, panel, size);
    let mut items = frame.axes(chart, panel);
    if panel.lines.is_empty() {
        let middle = (
            f64::midpoint(frame.left, frame.right),
            f64::midpoint(frame.top, frame.bottom),
        );
        let text = "No values to draw";
        items.push(Item::text(
            middle.0,
            middle.1,
            text,
            TITLE,
            Anchor::Middle,
            Ink::Muted,
        ));
    }
    // Validation is drawn over training, for it is what runs are judged by.
    let (training, validation): (Vec<&Line>, Vec<&Line>) =
        panel.lines.iter().partition(|line| line.is_training());
    let lines = training.into_iter().chain(validation);
    items.extend(lines.map(|line| frame.line(chart, line)));
    Scene {
        width: full_width,
        height: full_height,
        items: vec![Item::Group {
            class: "panel",
            data: vec![("panel", panel.key.to_owned())],
            items,
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
    fn new(chart: &Chart, panel: &PanelData, (full_width, full_height): (f64, f64)) -> Self {
        let top = 12.0;
        let bottom = full_height - 2.0 * (LABEL + GAP) - 4.0;
        let values = panel.lines.iter().flat_map(Line::points);
        let range = values.fold(None, |range, (_, value)| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high) = range.unwrap_or((if chart.log { 0.1 } else { 0.0 }, 1.0));
        let most_ticks = (((bottom - top) / 40.0) as usize).clamp(3, 8);
        let y = match chart.log {
            true => Scale::log(low, high, most_ticks),
            false => Scale::linear(low, high, most_ticks),
        };
        let labels = y.ticks.iter().map(|tick| width(&tick.label, LABEL));
        let left = TITLE + GAP + labels.fold(0.0, f64::max) + GAP + 4.0;
        let (first, last) = chart.epochs().unwrap_or((0, 1));
        let widest = width(&first.to_string(), LABEL).max(width(&last.to_string(), LABEL));
        let right = full_width - (widest / 2.0 - INSET).max(4.0) - 4.0;
        let room = (right - left) / (widest + 28.0);
        let x = Scale::epochs(first, last, (room as usize).clamp(1, 10));
        Self {
            left,
            right,
            top,
            bottom,
            x,
            y,
        }
    }

    fn place(&self, epoch: f64, value: f64) -> (f64, f64) {
        let (left, right) = (self.left + INSET, self.right - INSET);
        (
            left + (right - left) * self.x.share(epoch),
            self.bottom + (self.top - self.bottom) * self.y.share(value),
        )
    }

    fn axes(&self, chart: &Chart, panel: &PanelData) -> Vec<Item> {
        let tick = |items: Vec<Item>| Item::Group {
            class: "tick",
            data: Vec::new(),
            items,
        };
        let down = self.y.ticks.iter().map(|mark| {
            let (_, y) = self.place(0.0, mark.value);
            let label = (self.left - GAP, y + LABEL * 0.36);
            tick(vec![
                Item::line((self.left, y), (self.right, y), Ink::Grid),
                Item::text(
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
                Item::line((x, self.bottom), (x, self.bottom + 4.0), Ink::Axis),
                Item::text(x, label, &mark.label, LABEL, Anchor::Middle, Ink::Muted),
            ])
        });
        let across: Vec<Item> = across.collect();
        let title = match chart.log {
            true => format!("{} (log scale)", panel.title),
            false => panel.title.to_owned(),
        };
        let middle = f64::midpoint(self.top, self.bottom);
        let below = self.bottom + 2.0 * (GAP + LABEL);
        let centre = f64::midpoint(self.left, self.right);
        vec![
            Item::Group {
                class: "y-axis",
                data: Vec::new(),
                items: down.collect(),
            },
            Item::line(
                (self.left, self.bottom),
                (self.right, self.bottom),
                Ink::Axis,
            ),
            Item::Group {
                class: "x-axis",
                data: Vec::new(),
                items: across,
            },
            Item::text(TITLE, middle, &title, TITLE, Anchor::Middle, Ink::Text)
                .bold()
                .upwards(),
            Item::text(centre, below, "Epoch", TITLE, Anchor::Middle, Ink::Text).bold(),
        ]
    }

    fn line(&self, chart: &Chart, line: &Line) -> Item {
        let stroke = palette::stroke(line.run, chart.runs.len(), line.is_training());
        let place = |&(epoch, value): &(i64, f64)| self.place(epoch as f64, value);
        let paths = line.segments.iter().filter(|segment| segment.len() > 1);
        let paths = paths.map(|segment| Item::Path {
            points: thinned(segment.iter().map(place).collect()),
            stroke: stroke.clone(),
        });
        let mut items: Vec<Item> = paths.collect();
        let count = line.points().count();
        let lines = 2 * chart.runs.len();
        let (every, offset) = match count <= MOST_MARKED_POINTS && lines <= MOST_MARKED_LINES {
            true => (1, 0),
            false => {
                let every = count.div_ceil(SOME_MARKS).max(1);
                let number = 2 * line.run + usize::from(line.is_training());
                (every, number * every / lines.max(1))
            }
        };
        let label = chart.runs.get(line.run).map(|run| run.short_id.as_str());
        let label = label.unwrap_or_default();
        let mut index = 0_usize;
        for segment in &line.segments {
            for point in segment {
                // A point without neighbours has no line that would show it.
                if segment.len() == 1 || index % every == offset % every {
                    let (epoch, value) = point;
                    let words = if line.is_training() {
                        "training"
                    } else {
                        "validation"
                    };
                    let place = place(point);
                    let outline = palette::mark(line.run, line.is_training()).into_iter();
                    items.push(Item::Mark {
                        outline: outline.map(|(x, y)| (place.0 + x, place.1 + y)).collect(),
                        stroke: stroke.clone(),
                        filled: !line.is_training(),
                        title: format!("{label} {words}, epoch {epoch}: {}", number(*value)),
                    });
                }
                index += 1;
            }
        }
        let run = chart.runs.get(line.run).map(|run| run.id.clone());
        Item::Group {
            class: "line",
            data: vec![
                ("run", run.unwrap_or_default()),
                ("metric", line.metric.key().to_owned()),
            ],
            items,
        }
    }
}
