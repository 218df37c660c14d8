//! Two runs side by side as tables.

use std::collections::BTreeMap;

use nnx::run::{EpochMetrics, NNRun};

use super::monitors::{Chosen, Monitored};
use super::{Field, MetricPart};
use crate::escape::escaped;
use crate::runs::metrics::{JsonFloat, Metric, before_end, shown};
use crate::runs::monitor::monitor_text;
use crate::table::{Side, Table};

/// Stands where a run does not have a field.
const ABSENT: &str = "–";

pub(super) fn fields_table(fields: &[Field]) -> Table {
    let mut table = Table::new(&[("Field", Side::Left), ("A", Side::Left), ("B", Side::Left)]);
    let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| ABSENT.to_owned());
    for field in fields {
        table.push([field.field.clone(), cell(&field.a), cell(&field.b)]);
    }
    table
}

pub(super) fn metrics_table(
    best: &[Option<Chosen>; 2],
    metrics: &[MetricPart],
    monitors: &[Monitored],
    epochs: &[Vec<EpochMetrics>; 2],
) -> Table {
    let mut table = Table::new(&[("Metric", Side::Left), ("A", Side::Left), ("B", Side::Left)]);
    if best.iter().any(Option::is_some) {
        let [a, b] = best
            .each_ref()
            .map(|best| best.as_ref().map_or_else(String::new, Chosen::text));
        table.push(["best checkpoint".to_owned(), a, b]);
        for (best, name) in best.iter().zip(["A", "B"]) {
            if let Some(failure) = best.as_ref().and_then(Chosen::failure) {
                table.below(escaped(&format!("{name}: {}", failure.message())).into_owned());
            }
        }
    }
    for part in metrics {
        let has = |value: &JsonFloat| value.0.is_some();
        if !part.last.iter().any(has) {
            continue;
        }
        let [a, b] = last_values(&part.last, &part.last_epoch, epochs);
        table.push([format!("{} last", part.metric), a, b]);
        let [a, b] = at_epochs(&part.lowest, &part.lowest_epoch);
        table.push([format!("{} lowest", part.metric), a, b]);
    }
    for monitored in monitors {
        monitored.add_to(&mut table, epochs);
    }
    table
}

/// Last values; with their epochs where these are not the last ones of the runs.
pub(super) fn last_values(
    values: &[JsonFloat; 2],
    epochs: &[Option<i64>; 2],
    runs: &[Vec<EpochMetrics>; 2],
) -> [String; 2] {
    [0, 1].map(|index| {
        let value = shown(values[index].0);
        match before_end(epochs[index], &runs[index]) {
            Some(epoch) => format!("{value} at epoch {epoch}, then none"),
            None => value,
        }
    })
}

/// Values with the epochs that they are of.
pub(super) fn at_epochs(values: &[JsonFloat; 2], epochs: &[Option<i64>; 2]) -> [String; 2] {
    [0, 1].map(|index| match (values[index].0, epochs[index]) {
        (Some(value), Some(epoch)) => format!("{} at epoch {epoch}", shown(Some(value))),
        _ => String::new(),
    })
}

/// The epochs of both runs, with two columns for each metric. Columns without a value are left out,
/// so the first one that is not names the metric.
pub(super) fn epochs_table(
    pairs: &BTreeMap<i64, [Option<&EpochMetrics>; 2]>,
    runs: [&NNRun; 2],
) -> Table {
    let metrics = Metric::ALL.map(|metric| {
        let cells = cells(pairs, |epoch| metric.of(epoch));
        let is_empty = cells.iter().all(|[a, _]| a.is_empty());
        (titles([metric.title(); 2], is_empty), cells)
    });
    let monitors = cells(pairs, |epoch| epoch.monitor);
    let is_empty = monitors.iter().all(|[a, _]| a.is_empty());
    let names = runs.map(|run| run.monitor().map(monitor_text));
    let names = names.each_ref().map(|name| name.as_deref());
    let monitors = (
        titles(names.map(|name| name.unwrap_or("Monitor")), is_empty),
        monitors,
    );
    let pairs_of_columns: Vec<_> = metrics.into_iter().chain([monitors]).collect();
    let mut columns = vec![("Epoch", Side::Right)];
    let all_titles = pairs_of_columns.iter().flat_map(|(titles, _)| titles);
    columns.extend(all_titles.map(|title| (title.as_str(), Side::Right)));
    let mut table = Table::new(&columns);
    for (row, epoch) in pairs.keys().enumerate() {
        let mut line = vec![epoch.to_string()];
        let values = pairs_of_columns
            .iter()
            .filter_map(|(_, cells)| cells.get(row));
        line.extend(values.flatten().cloned());
        table.push(line);
    }
    table
}

/// The cells of two columns, those of the one run beside those of the other.
fn cells(
    pairs: &BTreeMap<i64, [Option<&EpochMetrics>; 2]>,
    of: impl Fn(&EpochMetrics) -> Option<f64>,
) -> Vec<[String; 2]> {
    let rows = pairs.values();
    rows.map(|runs| runs.map(|run| shown(run.and_then(&of))))
        .collect()
}

/// The titles of two columns: a name that both have stands on the first one that is shown.
fn titles(names: [&str; 2], is_first_empty: bool) -> [String; 2] {
    let [a, b] = names;
    match a == b && !is_first_empty {
        true => [format!("{a} A"), "B".to_owned()],
        false => [format!("{a} A"), format!("{b} B")],
    }
}
