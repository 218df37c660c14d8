//! The chart as one picture, with its title, legend and notes.

use super::data::Chart;
use super::glyphs::wrapped;
use super::scene::{Anchor, Ink, Item, Scene};
use super::{legend, panel};

const MARGIN: f64 = 20.0;
const TITLE: f64 = 17.0;
const NOTE: f64 = 11.5;
/// From the baseline of a note's line to that of the next.
const NOTE_LINE: f64 = 16.0;
const PANEL: (f64, f64) = (500.0, 340.0);
/// Of a chart with one panel.
const WIDE_PANEL: (f64, f64) = (720.0, 380.0);
/// Lines of notes; the page shows all of them.
const MOST_NOTE_LINES: usize = 12;

pub(super) fn scene(chart: &Chart) -> Scene {
    let panels = chart.shown_panels();
    let size = match panels.len() {
        1 => WIDE_PANEL,
        _ => PANEL,
    };
    let inner = panels.len() as f64 * (size.0 + MARGIN) - MARGIN;
    let width = inner + 2.0 * MARGIN;
    let mut y = MARGIN + TITLE;
    let title = Item::text(MARGIN, y, &chart.title(), TITLE, Anchor::Start, Ink::Text);
    let mut items = vec![title.bold()];
    y += 12.0;
    let (legend, height) = legend::items(chart, MARGIN, y, inner);
    items.extend(legend);
    y += height + 10.0;
    for (index, data) in panels.iter().enumerate() {
        let x = MARGIN + index as f64 * (size.0 + MARGIN);
        let scene = panel::scene(chart, data, size);
        items.extend(scene.items.into_iter().map(|item| item.moved((x, y))));
    }
    y += size.1 + 8.0;
    let notes = chart.notes.iter();
    let mut lines: Vec<String> = notes.flat_map(|note| wrapped(note, NOTE, inner)).collect();
    if lines.len() > MOST_NOTE_LINES {
        lines.truncate(MOST_NOTE_LINES - 1);
        lines.push("… and more that is not drawn.".to_owned());
    }
    for line in lines {
        y += NOTE_LINE;
        items.push(Item::text(
            MARGIN,
            y,
            &line,
            NOTE,
            Anchor::Start,
            Ink::Muted,
        ));
    }
    Scene {
        width,
        height: y + MARGIN,
        items,
    }
}
