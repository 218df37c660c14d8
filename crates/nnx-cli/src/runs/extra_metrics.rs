//! The extra metrics of epochs, in addition to loss and error: the declared ones, and those that a
//! callback added.

use std::collections::{BTreeMap, BTreeSet};

use nnx::params::NNEvaluationDataPoint;
use nnx::run::EpochMetrics;
use serde::{Serialize, Serializer};

use crate::json::JsonFloat;
use crate::size;

/// The largest number of columns for them in a table.
const MOST_COLUMNS: usize = 6;

/// The extra metrics of an epoch by their names, such as `val.accuracy`. For the training, these
/// are the metrics of the whole epoch if they were recorded, else those of its last batch.
#[derive(Debug, Default)]
pub(super) struct ExtraMetrics(BTreeMap<String, f64>);

impl ExtraMetrics {
    pub(super) fn from_epoch(epoch: &EpochMetrics) -> Self {
        let mut metrics = BTreeMap::new();
        let records = [
            ("train", epoch.train_edp.as_ref()),
            // These replace those of the last batch.
            ("train", epoch.train_summary.as_ref()),
            ("val", epoch.val_edp.as_ref()),
        ];
        for (split, record) in records {
            metrics.extend(record.into_iter().flat_map(|record| named(split, record)));
        }
        Self(metrics)
    }

    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
}

/// The extra metrics of a record.
fn named(split: &str, record: &NNEvaluationDataPoint) -> Vec<(String, f64)> {
    let declared = record.metrics().iter();
    let declared = declared.map(|(name, value)| (format!("{split}.{name}"), value.as_f64()));
    let added = record.extra().iter().map(|(name, value)| {
        // A declared metric keeps its name, as in Python.
        let name = if record.metrics().contains_key(name) {
            format!("{split}.extra.{name}")
        } else {
            format!("{split}.{name}")
        };
        (name, value.as_f64())
    });
    declared.chain(added).collect()
}

impl Serialize for ExtraMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let floats = self.0.iter();
        serializer.collect_map(floats.map(|(name, value)| (name, JsonFloat(Some(*value)))))
    }
}

/// A run's epochs with their extra metrics.
pub(super) type Epochs<'a> = [(&'a EpochMetrics, &'a ExtraMetrics)];

/// The names that have a column in a table of one or two runs, in order, and the number of names
/// without one. A metric that the monitor's column shows has no other column.
pub(super) fn columns<'a>(runs: &[(Option<String>, &Epochs<'a>)]) -> (Vec<&'a str>, usize) {
    let mut names = BTreeSet::new();
    for (monitor, epochs) in runs {
        for (epoch, extra) in *epochs {
            let shown = extra.0.iter().filter(|(name, value)| {
                monitor.as_ref() != Some(*name) || epoch.monitor != Some(**value)
            });
            names.extend(shown.map(|(name, _)| name.as_str()));
        }
    }
    let count = names.len();
    let names = names.into_iter().take(MOST_COLUMNS / runs.len().max(1));
    let names: Vec<&str> = names.collect();
    let more = count - names.len();
    (names, more)
}

/// The line below a table that does not show all of them.
pub(super) fn note(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(
            "and {} of the epochs, which `--json` shows\n",
            size::count(more, "more metric")
        ),
    }
}
