//! `nnx runs show`: shows the configuration, metrics and checkpoints of a run.

use nnx::params::{MonitorSpec, Value};
use nnx::run::{CheckpointStore, EpochMetrics, NNRun, RunSummary};
use serde::Serialize;

use super::checkpoints::{self, CheckpointPart};
use super::extra_metrics::{self, ExtraMetrics};
use super::metrics::{EpochPart, Metric, shown};
use super::monitor::{BestPart, MonitorPart, monitor_text};
use super::{resolve_run, time, warnings};
use crate::arguments::runs::One;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::python::JsonState;
use crate::table::{Side, Table};
use crate::terminal::{BOLD, Page};
use crate::{flatten, json, size};

#[derive(Debug, Serialize)]
struct Shown {
    id: String,
    folder: String,
    net: String,
    planned_epochs: usize,
    records: usize,
    best: Option<BestPart>,
    last_change: Option<String>,
    /// The monitor that chooses the best epoch; null if the run has none.
    monitor: Option<MonitorPart>,
    parent: Option<Parent>,
    state: JsonState,
    metadata: JsonState,
    epochs: Vec<EpochPart>,
    checkpoints: Vec<CheckpointPart>,
    /// The warnings of the run.
    warnings: Vec<Failure>,
}

/// The run and the checkpoint from which the training was resumed.
#[derive(Debug, Serialize)]
struct Parent {
    id: String,
    checkpoint: Option<String>,
}

pub(super) fn run(arguments: &One) -> Result<Outcome, Failure> {
    let root = &arguments.runs_dir.root;
    let folder = resolve_run::folder(&arguments.id, root)?;
    let run = NNRun::load(&folder, root)?;
    // If the checkpoint `best` cannot be read, the list of the checkpoints reports it.
    let summary = RunSummary::new(&run, &folder, root).ok();
    let net = run
        .model()
        .net()
        .map_or_else(String::new, ToString::to_string);
    let checkpoints = checkpoints::all(&CheckpointStore::new(&folder, root)?)?;
    let epochs = run.epochs();
    let shown = Shown {
        id: run.id().to_owned(),
        net,
        planned_epochs: run.train().n_epochs(),
        records: usize::try_from(run.record_count()?).unwrap_or(usize::MAX),
        best: summary
            .as_ref()
            .and_then(|summary| summary.best.as_ref())
            .map(BestPart::new),
        last_change: summary
            .and_then(|summary| summary.last_change)
            .and_then(time::utc),
        monitor: MonitorPart::from_run(&run),
        parent: run.parent().map(|(id, checkpoint)| Parent {
            id: id.to_owned(),
            checkpoint: checkpoint.map(ToOwned::to_owned),
        }),
        state: JsonState(run.full_state()?),
        metadata: JsonState(run.metadata().clone()),
        epochs: epochs.iter().map(EpochPart::new).collect(),
        checkpoints,
        warnings: warnings::all(&run),
        folder,
    };
    let text = if arguments.runs_dir.json {
        json::object(&shown)
    } else {
        text(&shown, (&run, &epochs), &Page::for_stdout())
    };
    Ok(Outcome::success(text))
}

fn text(shown: &Shown, (run, epochs): (&NNRun, &[EpochMetrics]), page: &Page) -> String {
    let count = format!(
        "{} of {}",
        size::grouped(shown.epochs.len() as u128),
        size::count(shown.planned_epochs, "epoch")
    );
    let mut out = format!(
        "{}: {}, {count}, {}\n",
        page.paint(BOLD, &escaped(&shown.folder)),
        escaped(&shown.net),
        size::count(shown.records, "record")
    );
    if shown.folder != shown.id {
        out.push_str(&format!("its id is {}\n", shown.id));
    }
    if let Some(parent) = &shown.parent {
        let checkpoint = parent.checkpoint.as_deref();
        let checkpoint = checkpoint.map_or_else(String::new, |tag| format!(", checkpoint {tag}"));
        let parent = format!("{}{checkpoint}", parent.id);
        out.push_str(&format!("continues {}\n", escaped(&parent)));
    }
    if let Some(last_change) = &shown.last_change {
        out.push_str(&format!("last change {last_change}\n"));
    }
    out.push_str(&warnings::paragraphs(&shown.warnings, "", page));
    let mut section = |title: &str, table: &Table, below: &str| {
        let body = table.render(page);
        if !body.is_empty() {
            out.push_str(&format!("\n{}\n{body}{below}", page.paint(BOLD, title)));
        }
    };
    section("Configuration", &fields(&shown.state.as_value()), "");
    section("Metadata", &fields(&shown.metadata.as_value()), "");
    let (epochs, note) = epochs_table(run, epochs);
    section("Epochs", &epochs, &note);
    section("Checkpoints", &checkpoints::table(&shown.checkpoints), "");
    section("Files", &checkpoints::files_table(&shown.checkpoints), "");
    out
}

fn fields(value: &Value) -> Table {
    let mut table = Table::new(&[("Field", Side::Left), ("Value", Side::Left)]);
    for (path, text) in flatten::fields("", value) {
        // An empty mapping has no field.
        if !path.is_empty() {
            table.push([path, text]);
        }
    }
    table
}

/// The epochs, and the notes below them.
fn epochs_table(run: &NNRun, epochs: &[EpochMetrics]) -> (Table, String) {
    let extra: Vec<ExtraMetrics> = epochs.iter().map(ExtraMetrics::from_epoch).collect();
    let with_extra: Vec<_> = epochs.iter().zip(&extra).collect();
    let key = run.monitor().map(MonitorSpec::key);
    let (names, more) = extra_metrics::columns(&[(key, &with_extra)]);
    let mut columns = vec![("Epoch", Side::Right), ("Learning rate", Side::Right)];
    columns.extend(Metric::ALL.map(|metric| (metric.title(), Side::Right)));
    let monitor = run.monitor().map(monitor_text);
    let monitor = monitor.as_deref().unwrap_or("Monitor");
    columns.extend([(monitor, Side::Right), ("Improved", Side::Left)]);
    columns.extend(names.iter().map(|name| (*name, Side::Right)));
    let mut table = Table::new(&columns);
    for (epoch, extra) in with_extra {
        let lr = Some(epoch.lr).filter(|lr| !lr.is_nan());
        let mut cells = vec![epoch.epoch.to_string(), shown(lr)];
        cells.extend(Metric::ALL.map(|metric| shown(metric.value_in(epoch))));
        let improved = if epoch.improved { "yes" } else { "" };
        cells.extend([shown(epoch.monitor), improved.to_owned()]);
        cells.extend(names.iter().map(|name| shown(extra.value(name))));
        table.push(cells);
    }
    (table, extra_metrics::note(more))
}
