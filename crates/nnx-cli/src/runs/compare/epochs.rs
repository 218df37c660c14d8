//! The epochs of two runs side by side.

use std::collections::BTreeMap;

use nnx::params::MonitorSpec;
use nnx::run::{EpochMetrics, NNRun};

use crate::runs::extra_metrics::{self, ExtraMetrics};
use crate::runs::metrics::{Metric, shown};
use crate::runs::monitor::monitor_text;
use crate::table::{Side, Table};

/// An epoch of a run with its extra metrics.
type Epoch<'a> = (&'a EpochMetrics, ExtraMetrics);
/// The epochs of both runs.
type Rows<'a> = [[Option<Epoch<'a>>; 2]];

/// The epochs of both runs, with two columns for each metric, and the notes below them. Columns
/// without a value are left out; the first of the remaining ones names the metric.
pub(super) fn table(
    pairs: &BTreeMap<i64, [Option<&EpochMetrics>; 2]>,
    runs: [&NNRun; 2],
) -> (Table, String) {
    let rows = pairs
        .values()
        .map(|runs| runs.map(|run| run.map(|epoch| (epoch, ExtraMetrics::from_epoch(epoch)))));
    let rows: Vec<[Option<Epoch<'_>>; 2]> = rows.collect();
    let mut columns: Vec<([String; 2], Vec<[String; 2]>)> = Vec::new();
    let mut add = |names: [&str; 2], cells: Vec<[String; 2]>| {
        let is_first_empty = cells.iter().all(|[a, _]| a.is_empty());
        columns.push((titles(names, is_first_empty), cells));
    };
    for metric in Metric::ALL {
        add(
            [metric.title(); 2],
            cells(&rows, |(epoch, _)| metric.value_in(epoch)),
        );
    }
    let monitors = runs.map(|run| run.monitor().map(monitor_text));
    let names = monitors.each_ref().map(|name| name.as_deref());
    let names = names.map(|name| name.unwrap_or("Monitor"));
    add(names, cells(&rows, |(epoch, _)| epoch.monitor));
    let epochs = [0, 1].map(|index| {
        let own = rows.iter().filter_map(|row| row[index].as_ref());
        own.map(|(epoch, extra)| (*epoch, extra))
            .collect::<Vec<_>>()
    });
    let keys = runs.map(|run| run.monitor().map(MonitorSpec::key));
    let [a, b] = keys;
    let (names, more) = extra_metrics::columns(&[(a, &epochs[0]), (b, &epochs[1])]);
    for name in names {
        add([name; 2], cells(&rows, |(_, extra)| extra.value(name)));
    }
    let all_titles = columns.iter().flat_map(|(titles, _)| titles);
    let all_titles = all_titles.map(|title| (title.as_str(), Side::Right));
    let first = [("Epoch", Side::Right)].into_iter();
    let mut table = Table::new(&first.chain(all_titles).collect::<Vec<_>>());
    for (row, epoch) in pairs.keys().enumerate() {
        let mut line = vec![epoch.to_string()];
        let values = columns.iter().filter_map(|(_, cells)| cells.get(row));
        line.extend(values.flatten().cloned());
        table.push(line);
    }
    (table, extra_metrics::note(more))
}

/// The cells of two columns, those of one run beside those of the other.
fn cells(rows: &Rows<'_>, of: impl Fn(&Epoch<'_>) -> Option<f64>) -> Vec<[String; 2]> {
    let rows = rows.iter();
    rows.map(|runs| runs.each_ref().map(|run| shown(run.as_ref().and_then(&of))))
        .collect()
}

/// The titles of two columns. A name that both have is in the title of the first one that is shown.
fn titles(names: [&str; 2], is_first_empty: bool) -> [String; 2] {
    let [a, b] = names;
    if a == b && !is_first_empty {
        [format!("{a} A"), "B".to_owned()]
    } else {
        [format!("{a} A"), format!("{b} B")]
    }
}
