//! A page with the chart: it stands alone, loads nothing and runs nothing.

use std::fmt::Write as _;

use super::data::{Chart, Drawn};
use super::legend::{self, SAMPLE};
use super::palette::{DARK, LIGHT};
use super::panel;
use super::scene::{Ink, Scene};
use super::svg::{self, escaped};
use crate::runs::metrics::{Metric, before_end, last, number, shown};

/// The panels beside one another, and below one another on a phone: there are pictures for both,
/// so that letters have their size on either.
const WIDE: (f64, f64) = (560.0, 380.0);
const NARROW: (f64, f64) = (358.0, 290.0);

/// The page.
pub(in crate::runs) fn page(chart: &Chart) -> String {
    let title = escaped(&chart.title());
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
        style()
    );
    legend(chart, &mut out);
    out.push_str("<div class=\"panels\">\n");
    for data in chart.shown_panels() {
        let label = format!("{} over epochs", data.title);
        out.push_str("<figure>\n");
        for (size, class) in [(WIDE, "wide"), (NARROW, "narrow")] {
            let scene = panel::scene(chart, data, size);
            out.push_str(&svg::part(&scene, &label, class));
        }
        out.push_str("</figure>\n");
    }
    out.push_str("</div>\n");
    if !chart.notes.is_empty() {
        out.push_str("<h2>Notes</h2>\n<ul class=\"notes\">\n");
        for note in &chart.notes {
            // A `String` takes whatever is written.
            let _ = writeln!(out, "<li>{}</li>", escaped(note));
        }
        out.push_str("</ul>\n");
    }
    table(chart, &mut out);
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

fn legend(chart: &Chart, out: &mut String) {
    out.push_str("<ul class=\"legend\">\n");
    for (index, run) in chart.runs.iter().enumerate() {
        let _ = write!(out, "<li><b>{}</b>", escaped(&run.label()));
        let kinds = legend::kinds(chart, index);
        if kinds.is_empty() {
            let _ = write!(out, "<small>{}</small>", legend::NOTHING);
        }
        for (name, is_training) in kinds {
            let size = (SAMPLE, 16.0);
            let scene = Scene {
                width: size.0,
                height: size.1,
                items: legend::sample(chart, index, is_training, (size.0 / 2.0, size.1 / 2.0)),
            };
            let label = format!("line of {name}");
            let _ = write!(out, "<span>{}{name}</span>", svg::part(&scene, &label, ""));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

/// The runs with the last and the lowest value of each metric.
fn table(chart: &Chart, out: &mut String) {
    out.push_str("<h2>Runs</h2>\n<div class=\"scroll\">\n<table>\n<tr><th>Run</th><th>Epochs</th>");
    let recorded = |metric: &Metric| {
        let mut epochs = chart.runs.iter().flat_map(|run| &run.epochs);
        epochs.any(|epoch| metric.of(epoch).is_some())
    };
    let metrics: Vec<Metric> = Metric::ALL.into_iter().filter(recorded).collect();
    for metric in &metrics {
        let title = metric.title();
        let _ = write!(out, "<th>{title}</th>");
    }
    out.push_str("</tr>\n");
    for run in &chart.runs {
        let epochs = run.epochs.len();
        let _ = write!(
            out,
            "<tr><td title=\"{}\">{}</td><td data-label=\"Epochs\">{epochs} of {}</td>",
            escaped(&run.id),
            escaped(&run.label()),
            run.planned_epochs
        );
        for metric in &metrics {
            let (title, cell) = (metric.title(), cell(run, *metric));
            let _ = write!(out, "<td data-label=\"{title}\">{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n</div>\n");
}

/// The last value that there is, with its epoch where that is not the run's last one, and below it
/// the lowest one with its epoch.
fn cell(run: &Drawn, metric: Metric) -> String {
    let values = run.epochs.iter();
    let values = values.filter_map(|epoch| Some((epoch.epoch, metric.of(epoch)?)));
    let values: Vec<(i64, f64)> = values.collect();
    let finite = values.iter().filter(|(_, value)| value.is_finite());
    let lowest = finite.min_by(|a, b| a.1.total_cmp(&b.1));
    let mut text = String::new();
    let (value, epoch) = last(&values);
    text.push_str(&shown(value.0));
    if let Some(epoch) = before_end(epoch, &run.epochs) {
        let _ = write!(text, " <small>at epoch {epoch}, then none</small>");
    }
    if let Some((epoch, value)) = lowest {
        let value = number(*value);
        let _ = write!(text, "<br> <small>lowest {value}, epoch {epoch}</small>");
    }
    text
}
