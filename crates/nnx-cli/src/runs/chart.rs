//! Charts of loss and error over epochs: what is drawn, and the forms in which it is written.
//!
//! A chart is laid out once, as lines, marks and texts with a place ([`scene`]); from there it
//! becomes SVG, PNG or a part of an HTML page. The same runs give the same bytes.

mod data;
mod glyphs;
mod html;
mod legend;
mod palette;
mod panel;
#[cfg(feature = "png")]
mod png;
mod scale;
mod scene;
mod svg;
mod thin;
mod whole;

pub(super) use data::Chart;
pub(super) use html::page;
#[cfg(feature = "png")]
pub(super) use png::image;

/// The chart as an SVG file.
pub(super) fn drawing(chart: &Chart) -> String {
    svg::file(&whole::scene(chart), &chart.title())
}
