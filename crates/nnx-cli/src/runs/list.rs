//! `nnx runs list`: lists all runs.

use nnx::run::{NNRun, RunSummary};
use serde::Serialize;

use super::metrics::number;
use super::monitor::{BestPart, best_text};
use super::{resolve_run, time, warnings};
use crate::arguments::runs::RunsDir;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;
use crate::outcome::{EXIT_ERROR, EXIT_OK, Outcome};
use crate::table::{Side, Table};
use crate::terminal::{Page, RED};
use crate::{path, size};

/// Marks the best run.
const STAR: &str = "* ";

#[derive(Debug, Serialize)]
struct List<'a> {
    #[serde(serialize_with = "path::lossy")]
    root: &'a std::path::Path,
    best: Option<String>,
    runs: Vec<ListedRun>,
    failed: Vec<FailedRun>,
}

#[derive(Debug, Serialize)]
struct ListedRun {
    id: String,
    folder: String,
    net: String,
    planned_epochs: usize,
    epochs: usize,
    records: usize,
    best: Option<BestPart>,
    last_change: Option<String>,
    warnings: Vec<Failure>,
}

#[derive(Debug, Serialize)]
struct FailedRun {
    folder: String,
    error: Failure,
}

pub(super) fn run(runs_dir: &RunsDir) -> Result<Outcome, Failure> {
    let root = &runs_dir.root;
    resolve_run::ids(root)?;
    let best = NNRun::best_id(root)?;
    let mut table = Table::new(&[
        ("  Run", Side::Left),
        ("Net", Side::Left),
        ("Epochs", Side::Right),
        ("Best metric", Side::Left),
        ("Epoch", Side::Right),
        ("Last change", Side::Left),
    ]);
    let page = Page::for_stdout();
    let (mut runs, mut failed) = (Vec::new(), Vec::new());
    for (folder, summary) in RunSummary::all(root)? {
        let star = if best.as_deref() == Some(&folder) {
            STAR
        } else {
            "  "
        };
        let name = format!("{star}{folder}");
        match summary {
            Ok(summary) => {
                let run = ListedRun::new(summary, folder, &mut table, name, &page);
                runs.push(run);
            }
            Err(error) => {
                let error = Failure::from(error);
                table.push([name]);
                let message = format!("cannot be read: {}", escaped(&error.message()));
                table.below(page.paint(RED, &message));
                failed.push(FailedRun { folder, error });
            }
        }
    }
    let status = if failed.is_empty() {
        EXIT_OK
    } else {
        EXIT_ERROR
    };
    let text = if runs_dir.json {
        json::object(&List {
            root,
            best,
            runs,
            failed,
        })
    } else if runs.is_empty() && failed.is_empty() {
        format!(
            "no runs in {}\n",
            escaped(&root.join("runs").to_string_lossy())
        )
    } else {
        let mut text = table.render(&page);
        let read = size::count(runs.len(), "run");
        text.push_str(&match failed.len() {
            0 => format!("\n{read}\n"),
            more => format!(
                "\n{read}, and {} that cannot be read\n",
                size::grouped(more as u128)
            ),
        });
        text
    };
    Ok(Outcome::new(text, status))
}

impl ListedRun {
    /// The run for JSON. Its row is added to the table.
    fn new(
        summary: RunSummary,
        folder: String,
        table: &mut Table,
        name: String,
        page: &Page,
    ) -> Self {
        let last_change = summary.last_change.and_then(time::utc);
        let best = summary.best.as_ref();
        table.push([
            name,
            summary.net.clone(),
            format!("{} of {}", summary.epochs, summary.planned_epochs),
            best.map_or_else(String::new, best_text),
            best.map_or_else(String::new, |best| number(best.epoch)),
            last_change.clone().unwrap_or_default(),
        ]);
        if summary.id != folder {
            table.below(format!("its id is {}", summary.id));
        }
        let warnings: Vec<Failure> = summary.warnings.iter().map(Failure::from).collect();
        for warning in &warnings {
            table.below(warnings::line(warning, page));
        }
        Self {
            id: summary.id,
            folder,
            net: summary.net,
            planned_epochs: summary.planned_epochs,
            epochs: summary.epochs,
            records: summary.records,
            best: summary.best.as_ref().map(BestPart::new),
            last_change,
            warnings,
        }
    }
}
