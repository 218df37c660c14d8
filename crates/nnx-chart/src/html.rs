//! A page with the chart: one file that loads no other file and runs no script.

use std::fmt::Write as _;

use crate::axes;
use crate::chart::Chart;
use crate::drawing::Drawing;
use crate::legend::{self, SAMPLE};
use crate::palette::{DARK, LIGHT};
use crate::scene::{Ink, Scene};
use crate::svg::{self, escaped};
use crate::table::{Cell, Table};

/// The sizes of a pair of axes beside other axes, and below other axes on a phone. The page
/// contains both pictures, so that letters have the same size in each.
const WIDE: (f64, f64) = (560.0, 380.0);
const NARROW: (f64, f64) = (358.0, 290.0);

/// The chart as an HTML page, with its notes and its table. The page loads no other file, runs no
/// script, and follows the reader's light or dark theme.
pub fn to_html(chart: &Chart) -> String {
    let drawing = Drawing::new(chart);
    let title = escaped(&chart.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
        style()
    );
    legend(&drawing, &mut out);
    out.push_str("<div class=\"panels\">\n");
    for drawn in &drawing.axes {
        let label = format!("{} by {}", drawn.axes.title, chart.x_title.to_lowercase());
        out.push_str("<figure>\n");
        for (size, class) in [(WIDE, "wide"), (NARROW, "narrow")] {
            let scene = axes::scene(&drawing, drawn, size);
            out.push_str(&svg::part(&scene, &label, class));
        }
        out.push_str("</figure>\n");
    }
    out.push_str("</div>\n");
    if !chart.notes.is_empty() {
        out.push_str("<h2>Notes</h2>\n<ul class=\"notes\">\n");
        for note in &chart.notes {
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "<li>{}</li>", escaped(note));
        }
        out.push_str("</ul>\n");
    }
    if let Some(data) = &chart.table {
        table(data, &mut out);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn style() -> String {
    let ink = |ink: Ink| (LIGHT.colour(ink), DARK.colour(ink));
    let (paper, text, muted, grid) = (
        ink(Ink::Paper),
        ink(Ink::Text),
        ink(Ink::Muted),
        ink(Ink::Grid),
    );
    format!(
        "body {{ margin: 0; background: {}; color: {}; font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }}\n\
         main {{ max-width: 1200px; margin: 0 auto; padding: 16px }}\n\
         h1 {{ font-size: 1.35rem; line-height: 1.25; margin: 0 0 12px }}\n\
         h2 {{ font-size: 1.05rem; margin: 24px 0 6px }}\n\
         .legend {{ list-style: none; margin: 0 0 12px; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 36px }}\n\
         .legend li {{ display: flex; flex-wrap: wrap; gap: 0 16px; align-items: center }}\n\
         .legend span {{ display: inline-flex; gap: 7px; align-items: center; white-space: nowrap }}\n\
         .panels {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 12px 20px }}\n\
         figure {{ margin: 0; max-width: 760px }}\n\
         figure svg {{ display: block; width: 100%; height: auto }}\n\
         .narrow {{ display: none }}\n\
         .notes {{ margin: 0; padding-left: 20px; color: {muted_light} }}\n\
         .scroll {{ overflow-x: auto }}\n\
         table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}\n\
         th, td {{ text-align: right; padding: 5px 18px 5px 0; border-bottom: 1px solid {grid_light}; white-space: nowrap; vertical-align: top }}\n\
         th:first-child, td:first-child {{ text-align: left }}\n\
         th {{ font-weight: 600 }}\n\
         small {{ color: {muted_light} }}\n\
         @media (max-width: 519px) {{ figure .wide {{ display: none }} figure .narrow {{ display: block }} \
         .legend b {{ flex-basis: 100% }} .legend {{ gap: 6px }} }}\n\
         @media (max-width: 1023px) {{ table, tbody, tr, td {{ display: block }} tr:first-child {{ display: none }} \
         tr {{ padding: 6px 0; border-bottom: 1px solid {grid_light} }} \
         td, td:first-child {{ border: 0; padding: 0; text-align: left; white-space: normal; overflow-wrap: anywhere }} \
         td small {{ display: inline-block }} td:empty {{ display: none }} \
         td:first-child {{ font-weight: 600 }} td br {{ display: none }} \
         td::before {{ content: attr(data-label) ' ' }} }}\n\
         @media (prefers-color-scheme: dark) {{ body {{ background: {}; color: {} }} .notes, small {{ color: {muted_dark} }} th, td, tr {{ border-color: {grid_dark} }} {} }}\n",
        paper.0,
        text.0,
        paper.1,
        text.1,
        svg::dark_rules(),
        muted_light = muted.0,
        muted_dark = muted.1,
        grid_light = grid.0,
        grid_dark = grid.1,
    )
}

fn legend(drawing: &Drawing<'_>, out: &mut String) {
    out.push_str("<ul class=\"legend\">\n");
    for (index, series) in drawing.chart.series.iter().enumerate() {
        let _ = write!(out, "<li><b>{}</b>", escaped(&series.label));
        let names = legend::names(drawing, Some(index));
        if names.is_empty() {
            let _ = write!(out, "<small>{}</small>", legend::NOTHING);
        }
        for (name, is_dashed) in names {
            let size = (SAMPLE, 16.0);
            let middle = (size.0 / 2.0, size.1 / 2.0);
            let scene = Scene {
                width: size.0,
                height: size.1,
                elements: legend::sample(drawing, index, is_dashed, middle),
            };
            let sample = svg::part(&scene, &format!("line of {name}"), "");
            let _ = write!(out, "<span>{sample}{}</span>", escaped(name));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

fn table(table: &Table, out: &mut String) {
    let _ = write!(
        out,
        "<h2>{}</h2>\n<div class=\"scroll\">\n<table>\n<tr>",
        escaped(&table.title)
    );
    for title in &table.columns {
        let _ = write!(out, "<th>{}</th>", escaped(title));
    }
    out.push_str("</tr>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let title = table.columns.get(index).map_or("", String::as_str);
            self::cell(cell, if index == 0 { "" } else { title }, out);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n</div>\n");
}

/// A cell; `title` is shown before its text if the row is shown as a list.
fn cell(cell: &Cell, title: &str, out: &mut String) {
    out.push_str("<td");
    if let Some(hint) = &cell.hint {
        let _ = write!(out, " title=\"{}\"", escaped(hint));
    }
    if !title.is_empty() {
        let _ = write!(out, " data-label=\"{}\"", escaped(title));
    }
    let _ = write!(out, ">{}", escaped(&cell.text));
    if let Some(aside) = &cell.aside {
        let _ = write!(out, " <small>{}</small>", escaped(aside));
    }
    if let Some(below) = &cell.below {
        let _ = write!(out, "<br> <small>{}</small>", escaped(below));
    }
    out.push_str("</td>");
}
