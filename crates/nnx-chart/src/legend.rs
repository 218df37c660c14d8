//! The legend.

use crate::drawing::Drawing;
use crate::font_metrics::{bold_width, width};
use crate::palette;
use crate::scene::{Anchor, Element, Ink, Stroke};

const TEXT: f64 = 12.5;
/// The length of a sample of a line.
pub(crate) const SAMPLE: f64 = 34.0;
const GAP: f64 = 7.0;
/// The text after a series without lines.
pub(crate) const NOTHING: &str = "no values";
/// The distance between two entries.
const APART: f64 = 20.0;
const ROW: f64 = 21.0;

/// The names of a series' lines and whether they are dashed, solid ones first; for `None`, those of
/// all series.
pub(crate) fn names<'a>(drawing: &Drawing<'a>, series: Option<usize>) -> Vec<(&'a str, bool)> {
    let mut names = Vec::new();
    for is_dashed in [false, true] {
        let lines = drawing.lines().map(|drawn| drawn.line);
        let lines = lines.filter(|line| line.is_dashed == is_dashed);
        for line in lines.filter(|line| series.is_none_or(|series| line.series == series)) {
            let name = (line.name.as_str(), is_dashed);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// A sample of a series' line, centred at that position.
pub(crate) fn sample(
    drawing: &Drawing<'_>,
    series: usize,
    is_dashed: bool,
    (x, y): (f64, f64),
) -> Vec<Element> {
    let stroke: Stroke = palette::stroke(series, drawing.chart.series.len(), is_dashed);
    let outline = palette::mark(series, is_dashed).into_iter();
    let outline = outline.map(|(dx, dy)| (x + dx, y + dy)).collect();
    vec![
        Element::Path {
            points: vec![(x - SAMPLE / 2.0, y), (x + SAMPLE / 2.0, y)],
            stroke: stroke.clone(),
        },
        Element::Mark {
            outline,
            stroke,
            filled: !is_dashed,
            title: String::new(),
        },
    ]
}

/// The legend from that position to the right, with one series in each row, or several series if
/// they are short. Also returns its height.
pub(crate) fn elements(
    drawing: &Drawing<'_>,
    left: f64,
    top: f64,
    most: f64,
) -> (Vec<Element>, f64) {
    let mut elements = Vec::new();
    let series = &drawing.chart.series;
    let labels = series.iter().map(|series| bold_width(&series.label, TEXT));
    let label_width = labels.fold(0.0, f64::max);
    let name_width = |name: &str| SAMPLE + GAP + width(name, TEXT) + APART;
    let names_width = names(drawing, None)
        .iter()
        .map(|(name, _)| name_width(name))
        .sum::<f64>();
    let entry = label_width + APART + names_width + APART;
    let columns = ((most / entry).floor() as usize).clamp(1, 3);
    let text =
        |x: f64, y: f64, text: &str, ink: Ink| Element::text(x, y, text, TEXT, Anchor::Start, ink);
    for (index, series) in series.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let mut x = left + column as f64 * entry;
        let middle = top + (row as f64 + 0.5) * ROW;
        let baseline = middle + TEXT * 0.36;
        elements.push(text(x, baseline, &series.label, Ink::Text).bold());
        x += label_width + GAP;
        let names = names(drawing, Some(index));
        if names.is_empty() {
            elements.push(text(x, baseline, NOTHING, Ink::Muted));
        }
        for (name, is_dashed) in names {
            let centre = (x + SAMPLE / 2.0, middle);
            elements.extend(sample(drawing, index, is_dashed, centre));
            elements.push(text(x + SAMPLE + GAP, baseline, name, Ink::Text));
            x += name_width(name);
        }
    }
    let rows = series.len().div_ceil(columns);
    (elements, rows as f64 * ROW)
}
