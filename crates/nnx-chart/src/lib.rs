//! Charts of values over epochs or steps, drawn as SVG, PNG and HTML.
//!
//! A [`Chart`] has [`Series`], which the legend names, and [`Axes`], each with the [`Line`]s of
//! these series. It is laid out once, as lines, marks and texts at fixed positions; [`to_svg`],
//! `to_png` and [`to_html`] write that layout. The same chart gives the same bytes on every machine.
//!
//! ```
//! use nnx_chart::{Axes, Chart, Line, Series, to_svg};
//!
//! let chart = Chart::new("Loss of my model")
//!     .series(Series::new("my model"))
//!     .axes(Axes::new("Loss").line(Line::solid(0, "validation", [(0, 1.1), (1, 0.9), (2, 0.8)])));
//! let picture = to_svg(&chart);
//! assert!(picture.starts_with("<svg ") && picture.contains("Loss of my model"));
//! ```
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `png` | yes | `to_png` |

mod axes;
mod chart;
mod downsample;
mod drawing;
mod figure;
mod font_metrics;
mod html;
mod legend;
mod number;
mod palette;
#[cfg(feature = "png")]
mod png;
mod scale;
mod scene;
mod svg;
mod table;

pub use chart::{Axes, Chart, Line, Series};
pub use html::to_html;
pub use number::six_digits;
#[cfg(feature = "png")]
pub use png::{TooLarge, to_png};
pub use svg::to_svg;
pub use table::{Cell, Table};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
