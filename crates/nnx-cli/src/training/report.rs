//! The report at the end of a training.

use std::path::Path;

use nnx::params::{NNEvaluationDataPoint, Value, python_text};
use nnx::run::RunSummary;
use nnx::train::Trained;
use serde::Serialize;

use crate::arguments::training::Train;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::interrupt::STATUS;
use crate::json;
use crate::outcome::{EXIT_OK, Outcome};
use crate::path::PathText;
use crate::python::JsonState;
use crate::runs::monitor::{BestPart, best_text};
use crate::size;
use crate::terminal::{BOLD, Page};

#[derive(Serialize)]
struct Object<'a> {
    id: &'a str,
    #[serde(flatten)]
    path: PathText,
    /// The number of epochs that were saved.
    epochs: usize,
    best: Option<BestPart>,
    last: Option<JsonState>,
    interrupted: bool,
    /// Whether the training ended before its last epoch because nothing improved.
    stopped: bool,
    /// The number of updates, those of a resumed run included where its plan is gone on with.
    updates: i64,
    /// The evaluation on the part of the data that was kept for a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<JsonState>,
    warnings: &'a [String],
    notes: &'a [String],
}

/// The parts of the report on a training that ended.
#[derive(Debug)]
pub(super) struct End<'a> {
    pub(super) trained: &'a Trained,
    pub(super) test: Option<NNEvaluationDataPoint>,
    pub(super) notes: &'a [String],
    /// The number of epochs that were to be trained.
    pub(super) planned: usize,
    /// Whether that number is the one of all sessions of a resumed training.
    pub(super) is_plan: bool,
}

impl End<'_> {
    /// The outcome of the command.
    ///
    /// # Errors
    /// When the checkpoint `best` cannot be read.
    pub(super) fn outcome(&self, arguments: &Train) -> Result<Outcome, Failure> {
        let (run, root) = (&self.trained.run, &arguments.root);
        let runs = Path::new("runs").join(run.id());
        let folder = if root == Path::new(".") {
            runs
        } else {
            root.join(runs)
        };
        let epochs = run.epochs().len();
        // Where no epoch was saved, the folder may still have the run that was to be overwritten.
        let best = match epochs {
            0 => None,
            _ => RunSummary::new(run, run.id(), root)?.best,
        };
        let stdout = if arguments.json {
            json::object(&Object {
                id: run.id(),
                path: PathText::new(&folder),
                epochs,
                best: best.as_ref().map(BestPart::new),
                last: run.idps().last().map(|record| JsonState(record.state())),
                interrupted: self.trained.interrupted,
                stopped: self.trained.stopped && !self.trained.interrupted,
                updates: self.trained.updates,
                test: self.test.as_ref().map(|point| JsonState(point.state())),
                warnings: &self.trained.warnings,
                notes: self.notes,
            })
        } else {
            let best = best.as_ref();
            let best = best.map(|best| format!("best epoch {}: {}", best.epoch, best_text(best)));
            self.text(epochs, best.as_deref(), &folder, &Page::for_stdout())
        };
        let status = if self.trained.interrupted {
            STATUS
        } else {
            EXIT_OK
        };
        let outcome = Outcome::new(stdout, status).with_notes(self.notes);
        let warnings = self.trained.warnings.iter();
        let outcome = warnings.fold(outcome, |outcome, warning| {
            outcome.with_error(&format!("warning: {warning}"))
        });
        if !self.trained.interrupted {
            return Ok(outcome);
        }
        Ok(outcome.with_error(&self.how_to_go_on(epochs)))
    }

    fn text(&self, epochs: usize, best: Option<&str>, folder: &Path, page: &Page) -> String {
        let id = page.paint(BOLD, &escaped(self.trained.run.id()));
        let updates = usize::try_from(self.trained.updates).unwrap_or_default();
        let mut out = format!(
            "run {id}: {}, {}\n",
            size::count(epochs, "epoch"),
            size::count(updates, "update")
        );
        if self.trained.stopped && !self.trained.interrupted {
            out.push_str("stopped early, as nothing improved\n");
        }
        if let Some(best) = best {
            out.push_str(&format!("{best}\n"));
        }
        if let Some(test) = &self.test {
            out.push_str(&format!("test: {}\n", numbers(test)));
        }
        let folder = folder.to_string_lossy();
        out.push_str(&format!("files in {}\n", escaped(&folder)));
        out
    }

    /// How an interrupted training goes on.
    fn how_to_go_on(&self, epochs: usize) -> String {
        if epochs == 0 {
            return "interrupted in the first epoch, before anything was saved: start again, with \
                    `--overwrite`"
                .to_owned();
        }
        let completed = match self.trained.last_epoch {
            Some(epoch) if self.is_plan => usize::try_from(epoch).unwrap_or_default() + 1,
            _ => epochs,
        };
        let left = self.planned.saturating_sub(completed);
        if left == 0 {
            return "interrupted after the last epoch; nothing is left to train".to_owned();
        }
        let epochs = (!self.is_plan).then_some(left);
        let command = super::go_on::command(std::env::args_os(), self.trained.run.id(), epochs);
        format!("interrupted; the checkpoint `last` is whole, go on with: {command}")
    }
}

/// The numbers of a record in one line.
fn numbers(point: &NNEvaluationDataPoint) -> String {
    let state = point.state();
    let shown = state.iter().filter_map(|(name, value)| match value {
        Value::Float(number) => Some(format!("{name} {number:.6}")),
        Value::Int(_) => Some(format!("{name} {}", python_text::repr(value))),
        _ => None,
    });
    shown.collect::<Vec<_>>().join(", ")
}
