//! Which line is whose.

use super::data::Chart;
use super::glyphs::{bold_width, width};
use super::palette;
use super::scene::{Anchor, Ink, Item, Stroke};

const TEXT: f64 = 12.5;
/// The length of a sample of a line.
pub(super) const SAMPLE: f64 = 34.0;
const GAP: f64 = 7.0;
/// Stands behind a run without lines.
pub(super) const NOTHING: &str = "no values";
/// Between two entries.
const APART: f64 = 20.0;
pub(super) const ROW: f64 = 21.0;

/// What a run has lines of, validation first.
pub(super) fn kinds(chart: &Chart, run: usize) -> Vec<(&'static str, bool)> {
    let has = |is_training: bool| {
        let lines = chart.panels.iter().flat_map(|panel| &panel.lines);
        let mut own = lines.filter(|line| line.run == run);
        own.any(|line| line.is_training() == is_training)
    };
    let kinds = [("validation", false), ("training", true)];
    kinds.into_iter().filter(|kind| has(kind.1)).collect()
}

/// A sample of a run's line, whose middle is at that place.
pub(super) fn sample(
    chart: &Chart,
    run: usize,
    is_training: bool,
    (x, y): (f64, f64),
) -> Vec<Item> {
    let stroke: Stroke = palette::stroke(run, chart.runs.len(), is_training);
    let outline = palette::mark(run, is_training).into_iter();
    let outline = outline.map(|(dx, dy)| (x + dx, y + dy)).collect();
    vec![
        Item::Path {
            points: vec![(x - SAMPLE / 2.0, y), (x + SAMPLE / 2.0, y)],
            stroke: stroke.clone(),
        },
        Item::Mark {
            outline,
            stroke,
            filled: !is_training,
            title: String::new(),
        },
    ]
}

/// The legend from that place to the right, a row a run; where the rows are short, several beside
/// one another. Returns its height as well.
pub(super) fn items(chart: &Chart, left: f64, top: f64, most: f64) -> (Vec<Item>, f64) {
    let mut items = Vec::new();
    let names = chart.runs.iter().map(|run| bold_width(&run.label(), TEXT));
    let name_width = names.fold(0.0, f64::max);
    let kind_width = |name: &str| SAMPLE + GAP + width(name, TEXT) + APART;
    let entry = name_width + APART + kind_width("validation") + kind_width("training") + APART;
    let columns = ((most / entry).floor() as usize).clamp(1, 3);
    for (index, run) in chart.runs.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let mut x = left + column as f64 * entry;
        let middle = top + (row as f64 + 0.5) * ROW;
        let baseline = middle + TEXT * 0.36;
        items.push(Item::text(x, baseline, &run.label(), TEXT, Anchor::Start, Ink::Text).bold());
        x += name_width + GAP;
        let kinds = kinds(chart, index);
        if kinds.is_empty() {
            items.push(Item::text(
                x,
                baseline,
                NOTHING,
                TEXT,
                Anchor::Start,
                Ink::Muted,
            ));
        }
        for (name, is_training) in kinds {
            items.extend(sample(
                chart,
                index,
                is_training,
                (x + SAMPLE / 2.0, middle),
            ));
            let text = x + SAMPLE + GAP;
            items.push(Item::text(
                text,
                baseline,
                name,
                TEXT,
                Anchor::Start,
                Ink::Text,
            ));
            x += kind_width(name);
        }
    }
    let rows = chart.runs.len().div_ceil(columns);
    (items, rows as f64 * ROW)
}
