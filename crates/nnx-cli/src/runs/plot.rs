//! `nnx runs plot`: draws loss and error over epochs, as a picture or a page.

use std::collections::HashSet;
use std::path::Path;

use nnx::chart::{Chart, to_html, to_svg};
use nnx::checkpoint::{Error, save_atomic};
use nnx::run::NNRun;
use serde::Serialize;

use super::{chart, resolve_run};
use crate::arguments::runs::Plot;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::terminal::{Page, YELLOW};
use crate::wrap::wrapped;
use crate::{json, path, size};

/// The form of the chart, selected by the extension of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Svg,
    Png,
    Html,
}

#[derive(Debug, Serialize)]
struct Plotted<'a> {
    #[serde(serialize_with = "path::lossy")]
    output: &'a Path,
    format: Form,
    bytes: usize,
    log: bool,
    runs: Vec<String>,
    notes: Vec<String>,
}

pub(super) fn run(arguments: &Plot) -> Result<Outcome, Failure> {
    let (root, output) = (&arguments.runs_dir.root, arguments.output.as_path());
    let form = form(output)?;
    let mut seen = HashSet::new();
    let mut runs = Vec::new();
    for typed in &arguments.ids {
        let folder = resolve_run::folder(typed, root)?;
        if seen.insert(folder.clone()) {
            let run = NNRun::load(&folder, root)?;
            runs.push((folder, run));
        }
    }
    Failure::if_exists(output, arguments.overwrite)?;
    let chart = chart::chart(&runs, arguments.log);
    let bytes = bytes(&chart, form)?;
    save_atomic(output, |file| Ok(file.write_all(&bytes)?))
        .map_err(|error: Error| Failure::from(error).in_path(output))?;
    let text = if arguments.runs_dir.json {
        json::object(&Plotted {
            output,
            format: form,
            bytes: bytes.len(),
            log: arguments.log,
            runs: runs.into_iter().map(|(folder, _)| folder).collect(),
            notes: chart.notes,
        })
    } else {
        let page = Page::for_stdout();
        let mut text = format!(
            "{}: {}, {}\n",
            escaped(&output.to_string_lossy()),
            chart.title,
            size::bytes(bytes.len() as u64)
        );
        for note in &chart.notes {
            text.push_str(&page.paint(YELLOW, &wrapped(&escaped(note), 0, &page)));
        }
        text
    };
    Ok(Outcome::success(text))
}

fn form(output: &Path) -> Result<Form, Failure> {
    let extension = output
        .extension()
        .map(|extension| extension.to_string_lossy());
    match extension.as_deref().map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(Form::Svg),
        Some("png") => Ok(Form::Png),
        Some("html" | "htm") => Ok(Form::Html),
        _ => Err(Failure::usage(
            "expected a file that ends with `.svg`, `.png` or `.html` after `--output`",
        )),
    }
}

fn bytes(chart: &Chart, form: Form) -> Result<Vec<u8>, Failure> {
    match form {
        Form::Svg => Ok(to_svg(chart).into_bytes()),
        Form::Html => Ok(to_html(chart).into_bytes()),
        Form::Png => png(chart),
    }
}

#[cfg(feature = "png")]
fn png(chart: &Chart) -> Result<Vec<u8>, Failure> {
    nnx::chart::to_png(chart).map_err(|_| {
        let what = "expected a chart of fewer runs for a PNG file, found one that is too large";
        Failure::new("limit_exceeded", what)
    })
}

#[cfg(not(feature = "png"))]
fn png(_chart: &Chart) -> Result<Vec<u8>, Failure> {
    Err(Failure::new(
        "unsupported",
        "a PNG file needs the feature `png`: install the command with its default features, or \
         choose `.svg` or `.html`",
    ))
}
