//! The mean of several evaluations, rounded as NumPy rounds it.

use std::collections::BTreeMap;

use super::NNEvaluationDataPoint;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::value::State;

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
            kind: None,
            count: None,
            status: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: u32, mean: f64) {
        let points: Vec<_> = (0..count)
            .map(|i| NNEvaluationDataPoint::default().with_loss(1.0 / f64::from(i + 3)))
            .collect();
        let of_all = NNEvaluationDataPoint::mean_of(&points).unwrap();
        assert_eq!(of_all.loss(), Some(Number::Float(mean)));
        assert_eq!(of_all.error(), None);
    }

    /// The means are NumPy's of `[1 / (i + 3) for i in range(n)]`; from 9 values on, adding them up
    /// one by one gives others.
    #[test]
    fn rounds_as_numpy_does() {
        check(7, 0.18985260770975057);
        check(9, 0.16887526054192717);
        check(31, 0.08350962018514678);
        check(130, 0.030490774489446103);
        check(300, 0.01596432465904621);
        check(1000, 0.0059874678655413615);
        assert!(NNEvaluationDataPoint::mean_of(&[]).is_err());
    }
}
