//! `nnx runs compare`: compares two runs.

mod cells;
mod epochs;
mod monitors;
mod tables;

use std::collections::BTreeMap;

use nnx::params::Value;
use nnx::run::{EpochMetrics, NNRun};
use serde::Serialize;

use self::monitors::{Chosen, Monitored};
use super::metrics::{EpochPart, Metric, last, lowest, values};
use super::{resolve_run, warnings};
use crate::arguments::runs::Compare;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json::JsonFloat;
use crate::outcome::Outcome;
use crate::table::Table;
use crate::terminal::{BOLD, Page};
use crate::{flatten, json};

#[derive(Debug, Serialize)]
struct Comparison {
    a: String,
    b: String,
    /// The fields that differ; null if a run does not have the field.
    configuration: Vec<Field>,
    /// The metric by which each run chose its checkpoint `best`; null without such a checkpoint.
    best: [Option<Chosen>; 2],
    metrics: Vec<MetricPart>,
    /// The values of the runs' monitors.
    monitors: Vec<Monitored>,
    epochs: Vec<EpochPair>,
    /// The warnings of each run.
    warnings: [Vec<Failure>; 2],
}

#[derive(Debug, Serialize)]
struct Field {
    field: String,
    a: Option<String>,
    b: Option<String>,
}

/// The last and the lowest value of a metric in the history of each run, if there are any.
#[derive(Debug, Serialize)]
struct MetricPart {
    metric: &'static str,
    last: [JsonFloat; 2],
    last_epoch: [Option<i64>; 2],
    lowest: [JsonFloat; 2],
    lowest_epoch: [Option<i64>; 2],
}

/// The same epoch of both runs; null if a run does not have it.
#[derive(Debug, Serialize)]
struct EpochPair {
    a: Option<EpochPart>,
    b: Option<EpochPart>,
}

pub(super) fn run(arguments: &Compare) -> Result<Outcome, Failure> {
    let root = &arguments.runs_dir.root;
    let [a, b] = [&arguments.a, &arguments.b].map(|typed| {
        let folder = resolve_run::folder(typed, root)?;
        let run = NNRun::load(&folder, root)?;
        Ok::<_, Failure>((folder, run))
    });
    let ((a, run_a), (b, run_b)) = (a?, b?);
    let configuration = differences(&run_a, &run_b)?;
    let epochs = [run_a.epochs(), run_b.epochs()];
    let metrics = Metric::ALL.map(|metric| MetricPart::new(metric, &epochs));
    let best = [
        Chosen::from_run(&run_a, &a, root),
        Chosen::from_run(&run_b, &b, root),
    ];
    let monitors = monitors::all([&run_a, &run_b], &epochs);
    let pairs = pairs(&epochs);
    let warnings = [warnings::all(&run_a), warnings::all(&run_b)];
    let text = if arguments.runs_dir.json {
        json::object(&Comparison {
            a,
            b,
            configuration,
            best,
            metrics: metrics.into(),
            monitors,
            epochs: pairs
                .into_values()
                .map(|[a, b]| EpochPair {
                    a: a.map(EpochPart::new),
                    b: b.map(EpochPart::new),
                })
                .collect(),
            warnings,
        })
    } else {
        let page = Page::for_stdout();
        let mut out = format!("A {}\nB {}\n", escaped(&a), escaped(&b));
        for (warnings, name) in warnings.iter().zip(["A: ", "B: "]) {
            out.push_str(&warnings::paragraphs(warnings, name, &page));
        }
        let mut section = |title: &str, table: &Table, empty: &str| {
            let body = table.render(&page);
            let body = if body.is_empty() { empty } else { &body };
            if !body.is_empty() {
                out.push_str(&format!("\n{}\n{body}", page.paint(BOLD, title)));
            }
        };
        section(
            "Configuration",
            &tables::fields_table(&configuration),
            "the same\n",
        );
        let table = tables::metrics_table(&best, &metrics, &monitors, &epochs);
        section("Metrics", &table, "none recorded\n");
        let (table, note) = epochs::table(&pairs, [&run_a, &run_b]);
        section("Epochs", &table, "");
        out.push_str(&note);
        out
    };
    Ok(Outcome::success(text))
}

/// The fields of the configurations that differ: first those of the first run in their order, then
/// those that only the second run has.
fn differences(a: &NNRun, b: &NNRun) -> Result<Vec<Field>, Failure> {
    let fields = |run: &NNRun| {
        let mut state = run.full_state()?;
        state.remove("id");
        Ok::<_, Failure>(flatten::fields("", &Value::Map(state)))
    };
    let (a, b) = (fields(a)?, fields(b)?);
    let of_a: BTreeMap<&str, &str> = a.iter().map(|(path, text)| (&**path, &**text)).collect();
    let of_b: BTreeMap<&str, &str> = b.iter().map(|(path, text)| (&**path, &**text)).collect();
    let only_b = b.iter().filter(|(path, _)| !of_a.contains_key(&**path));
    let paths = a.iter().chain(only_b).map(|(path, _)| &**path);
    let differing = paths.filter(|path| of_a.get(path) != of_b.get(path));
    let text = |of: &BTreeMap<&str, &str>, path: &str| of.get(path).map(|&text| text.to_owned());
    Ok(differing
        .map(|path| Field {
            field: path.to_owned(),
            a: text(&of_a, path),
            b: text(&of_b, path),
        })
        .collect())
}

impl MetricPart {
    fn new(metric: Metric, runs: &[Vec<EpochMetrics>; 2]) -> Self {
        let values = runs
            .each_ref()
            .map(|epochs| values(epochs, |epoch| metric.value_in(epoch)));
        let last = values.each_ref().map(|values| last(values));
        let lowest = values.each_ref().map(|values| lowest(values));
        Self {
            metric: metric.key(),
            last: last.map(|(value, _)| value),
            last_epoch: last.map(|(_, epoch)| epoch),
            lowest: lowest.map(|lowest| JsonFloat(lowest.map(|lowest| lowest.1))),
            lowest_epoch: lowest.map(|lowest| lowest.map(|lowest| lowest.0)),
        }
    }
}

/// The epochs of both runs, matched by their numbers.
fn pairs(runs: &[Vec<EpochMetrics>; 2]) -> BTreeMap<i64, [Option<&EpochMetrics>; 2]> {
    let [a, b] = runs;
    let mut pairs: BTreeMap<i64, [Option<&EpochMetrics>; 2]> = BTreeMap::new();
    for epoch in a {
        pairs.entry(epoch.epoch).or_default()[0] = Some(epoch);
    }
    for epoch in b {
        pairs.entry(epoch.epoch).or_default()[1] = Some(epoch);
    }
    pairs
}
