//! Draws a chart from numbers, as SVG, HTML or PNG:
//!
//! `cargo run -p nnx-chart --example draw -- /tmp/chart.svg`

use std::error::Error;
use std::path::Path;

use nnx_chart::{Axes, Chart, Line, Series, to_html, to_svg};

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::args().nth(1);
    let target = target.ok_or("expected a file to write, such as chart.svg")?;
    let chart = chart();
    match Path::new(&target)
        .extension()
        .and_then(|extension| extension.to_str())
    {
        Some("svg") => std::fs::write(&target, to_svg(&chart))?,
        Some("html") => std::fs::write(&target, to_html(&chart))?,
        #[cfg(feature = "png")]
        Some("png") => std::fs::write(&target, nnx_chart::to_png(&chart)?)?,
        _ => {
            return Err(format!(
                "expected a name that ends with .svg, .html or .png, found {target}"
            )
            .into());
        }
    }
    Ok(())
}

/// Two trainings: how the loss falls, and how often the answer is wrong.
fn chart() -> Chart {
    let mut loss = Axes::new("Loss");
    let mut error = Axes::new("Error");
    for (series, rate) in [(0, 0.12), (1, 0.2)] {
        let falling = |from: f64, to: f64| {
            (0..30).map(move |epoch| (epoch, to + (from - to) * (-rate * epoch as f64).exp()))
        };
        loss = loss
            .line(Line::solid(series, "validation", falling(2.4, 0.7)))
            .line(Line::dashed(series, "training", falling(2.3, 0.4)));
        // The error was measured in every fifth epoch: marks without a line between them.
        error = error.line(Line::solid(
            series,
            "validation",
            falling(0.9, 0.2).step_by(5),
        ));
    }
    Chart::new("Two learning rates")
        .series(Series::new("learning rate 0.001"))
        .series(Series::new("learning rate 0.01"))
        .axes(loss)
        .axes(error)
        .note("The numbers are made up.")
}
