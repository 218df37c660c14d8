//! The chart as one picture, with its title, legend, axes and notes.

use crate::chart::Chart;
use crate::drawing::Drawing;
use crate::font_metrics::wrapped;
use crate::scene::{Anchor, Element, Ink, Scene};
use crate::{axes, legend};

const MARGIN: f64 = 20.0;
const TITLE: f64 = 17.0;
const NOTE: f64 = 11.5;
/// The distance between the baselines of two lines of notes.
const NOTE_LINE: f64 = 16.0;
/// Width and height of one pair of axes.
const AXES: (f64, f64) = (500.0, 340.0);
/// The same for a chart with one pair of axes.
const WIDE_AXES: (f64, f64) = (720.0, 380.0);
/// The largest number of lines of notes in the picture; the HTML page shows all of them.
const MOST_NOTE_LINES: usize = 12;

pub(crate) fn scene(chart: &Chart) -> Scene {
    let drawing = Drawing::new(chart);
    let size = match drawing.axes.len() {
        0 | 1 => WIDE_AXES,
        _ => AXES,
    };
    let inner = drawing.axes.len().max(1) as f64 * (size.0 + MARGIN) - MARGIN;
    let width = inner + 2.0 * MARGIN;
    let mut y = MARGIN + TITLE;
    let title = Element::text(MARGIN, y, &chart.title, TITLE, Anchor::Start, Ink::Text);
    let mut elements = vec![title.bold()];
    y += 12.0;
    let (legend, height) = legend::elements(&drawing, MARGIN, y, inner);
    elements.extend(legend);
    y += height + 10.0;
    for (index, drawn) in drawing.axes.iter().enumerate() {
        let x = MARGIN + index as f64 * (size.0 + MARGIN);
        let scene = axes::scene(&drawing, drawn, size);
        let moved = scene.elements.into_iter();
        elements.extend(moved.map(|element| element.moved((x, y))));
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
        elements.push(Element::text(
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
        elements,
    }
}
