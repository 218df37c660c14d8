//! The mean of several evaluations, rounded as NumPy rounds it.

use std::collections::BTreeMap;

use super::NNEvaluationDataPoint;
use crate::{Error, Number, Result, State};

impl NNEvaluationDataPoint {
    /// The plain mean of each metric over the points that have it, whatever their sizes.
    ///
    /// A task's kind, count and status are left out, because the result is no record of a task.
    ///
    /// # Errors
    ///
    /// There is no point.
    pub fn mean_of(points: &[Self]) -> Result<Self> {
        if points.is_empty() {
            let domain = "at least one evaluation data point";
            return Err(Error::inconsistent(Self::CLASS, "mean_of", domain, "none"));
        }
        let mean = |get: fn(&Self) -> Option<Number>| {
            let values: Vec<f64> = points.iter().filter_map(get).map(Number::as_f64).collect();
            mean(&values)
        };
        Ok(Self {
            f1: mean(Self::f1),
            recall: mean(Self::recall),
            accuracy: mean(Self::accuracy),
            precision: mean(Self::precision),
            loss: mean(Self::loss),
            error: mean(Self::error),
            extra: named_means(points, Self::extra),
            record: None,
            metrics: named_means(points, Self::metrics),
            unknown: State::new(),
        })
    }
}

fn named_means(
    points: &[NNEvaluationDataPoint],
    get: fn(&NNEvaluationDataPoint) -> &BTreeMap<String, Number>,
) -> BTreeMap<String, Number> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in points.iter().flat_map(get) {
        values.entry(name).or_default().push(value.as_f64());
    }
    values
        .into_iter()
        .filter_map(|(name, values)| Some((name.to_owned(), mean(&values)?)))
        .collect()
}

fn mean(values: &[f64]) -> Option<Number> {
    let total = pairwise_sum(values);
    (!values.is_empty()).then(|| Number::Float(total / values.len() as f64))
}

/// The lanes that NumPy adds up side by side.
const LANES: usize = 8;
/// The most values that NumPy adds up without splitting them in two.
const BLOCK: usize = 128;

/// Sums in NumPy's order, so that the result is the same bit for bit.
fn pairwise_sum(values: &[f64]) -> f64 {
    if values.len() > BLOCK {
        let half = values.len() / 2;
        let (left, right) = values.split_at(half - half % LANES);
        return pairwise_sum(left) + pairwise_sum(right);
    }
    let (lanes, rest) = values.as_chunks::<LANES>();
    let sum = match lanes.split_first() {
        None => 0.0,
        Some((first, others)) => {
            let mut lanes = *first;
            for other in others {
                for (lane, value) in lanes.iter_mut().zip(other) {
                    *lane += value;
                }
            }
            let [a, b, c, d, e, f, g, h] = lanes;
            ((a + b) + (c + d)) + ((e + f) + (g + h))
        }
    };
    rest.iter().fold(sum, |sum, value| sum + value)
}
