//! Two runs side by side as tables.

use nnx::run::EpochMetrics;

use super::cells::{at_epochs, last_values};
use super::monitors::{Chosen, Monitored};
use super::{Field, MetricPart};
use crate::escape::escaped;
use crate::json::JsonFloat;
use crate::table::{Side, Table};

/// The text for a field that a run does not have.
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
