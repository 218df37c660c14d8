//! The warnings of a run that was read.

use nnx::run::{NNRun, RunWarning};

use crate::escape::escaped;
use crate::failure::Failure;
use crate::terminal::{Page, YELLOW};
use crate::wrap::wrapped;

impl From<&RunWarning> for Failure {
    fn from(warning: &RunWarning) -> Self {
        let failure = Self::new(warning.kind, warning.message.clone());
        match &warning.path {
            Some(path) => failure.in_path(path),
            None => failure,
        }
    }
}

/// The warnings of a run for JSON.
pub(super) fn all(run: &NNRun) -> Vec<Failure> {
    run.warnings().map(Failure::from).collect()
}

/// A warning as one line, below a row of a table.
pub(super) fn line(warning: &Failure, page: &Page) -> String {
    page.paint(YELLOW, &escaped(&text(warning, "")))
}

/// The warnings as paragraphs; `of` names the run if several runs are shown.
pub(super) fn paragraphs(warnings: &[Failure], of: &str, page: &Page) -> String {
    let paragraphs = warnings.iter().map(|warning| {
        let text = wrapped(&escaped(&text(warning, of)), 0, page);
        page.paint(YELLOW, &text)
    });
    paragraphs.collect()
}

fn text(warning: &Failure, of: &str) -> String {
    format!("{of}warning: {}", warning.message())
}
