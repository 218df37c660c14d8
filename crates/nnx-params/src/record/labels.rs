//! Labels of samples, and how well predicted ones match true ones.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The true or the predicted labels of samples.
///
/// ```
/// use nnx_params::Labels;
///
/// let topics = Labels::indicators(2, [true, false, false, true])?;
/// assert_eq!(topics.len(), 2);
/// // A single column is a class, as it is for scikit-learn.
/// assert_eq!(Labels::indicators(1, [true, false])?, Labels::Classes(vec![1, 0]));
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Labels {
    /// One class a sample.
    Classes(Vec<i64>),
    /// Several outputs a sample, each of which holds or does not.
    Indicators(Indicators),
}

/// Rows of outputs that hold or do not; see [`Labels::indicators`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indicators {
    columns: usize,
    values: Vec<bool>,
}

/// How the scores of classes become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Average {
    /// Every class counts alike.
    #[default]
    Macro,
    /// Every decision counts alike.
    Micro,
    /// Every class counts by how often it is true.
    Weighted,
}

/// How often the decisions about one class were right and wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfusionCounts {
    /// Predicted and true.
    pub true_positives: u64,
    /// Predicted, but not true.
    pub false_positives: u64,
    /// True, but not predicted.
    pub false_negatives: u64,
}

/// How well a classification did, each number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Of the predicted, the share that is true; 0 where nothing was predicted.
    pub precision: f64,
    /// Of the true, the share that was predicted; 0 where nothing is true.
    pub recall: f64,
    /// The harmonic mean of the two, class by class.
    pub f1: f64,
}

const CLASS: &str = "Labels";

impl Labels {
    /// Rows of `columns` outputs, one behind the other.
    ///
    /// # Errors
    /// When there is no column, or the last row is not complete.
    pub fn indicators(columns: usize, values: impl IntoIterator<Item = bool>) -> Result<Self> {
        let values: Vec<bool> = values.into_iter().collect();
        if columns == 0 || !values.len().is_multiple_of(columns) {
            let domain = format!("complete rows of `{columns}` > 0 columns");
            let found = format!("{} values", values.len());
            return Err(Error::inconsistent(CLASS, "indicators", domain, found));
        }
        Ok(match columns {
            1 => Self::Classes(values.into_iter().map(i64::from).collect()),
            _ => Self::Indicators(Indicators { columns, values }),
        })
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Indicators(rows) => rows.rows().len(),
        }
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the samples of another batch.
    ///
    /// # Errors
    /// When the one has classes and the other indicators, or their columns differ.
    pub fn extend(&mut self, other: Self) -> Result<()> {
        match (self, other) {
            (Self::Classes(all), Self::Classes(more)) => all.extend(more),
            (Self::Indicators(all), Self::Indicators(more)) if all.columns == more.columns => {
                all.values.extend(more.values);
            }
            (all, more) => return Err(unlike(all, &more)),
        }
        Ok(())
    }

    /// The share of the samples for which every prediction is right, and the counts of each class
    /// that is true or predicted somewhere; of each column for indicators.
    ///
    /// # Errors
    /// When there is no sample, or the two are not labels of the same samples.
    pub fn confusion(&self, predicted: &Self) -> Result<(f64, Vec<ConfusionCounts>)> {
        if self.len() != predicted.len() || self.is_empty() {
            return Err(unlike(self, predicted));
        }
        let (right, counts): (usize, Vec<_>) = match (self, predicted) {
            (Self::Classes(truth), Self::Classes(predicted)) => {
                let pairs = || truth.iter().zip(predicted);
                let mut counts = BTreeMap::<i64, ConfusionCounts>::new();
                for (truth, predicted) in pairs() {
                    if truth == predicted {
                        counts.entry(*truth).or_default().true_positives += 1;
                    } else {
                        counts.entry(*truth).or_default().false_negatives += 1;
                        counts.entry(*predicted).or_default().false_positives += 1;
                    }
                }
                let right = pairs().filter(|(truth, predicted)| truth == predicted);
                (right.count(), counts.into_values().collect())
            }
            (Self::Indicators(truth), Self::Indicators(predicted))
                if truth.columns == predicted.columns =>
            {
                let mut counts = vec![ConfusionCounts::default(); truth.columns];
                for (truth, predicted) in truth.rows().zip(predicted.rows()) {
                    for (counts, pair) in counts.iter_mut().zip(truth.iter().zip(predicted)) {
                        match pair {
                            (true, true) => counts.true_positives += 1,
                            (false, true) => counts.false_positives += 1,
                            (true, false) => counts.false_negatives += 1,
                            (false, false) => {}
                        }
                    }
                }
                let rows = truth.rows().zip(predicted.rows());
                let right = rows.filter(|(truth, predicted)| truth == predicted);
                (right.count(), counts)
            }
            (truth, predicted) => return Err(unlike(truth, predicted)),
        };
        Ok((right as f64 / self.len() as f64, counts))
    }
}

impl Indicators {
    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[bool]> {
        self.values.chunks(self.columns)
    }

    /// The number of outputs in each row.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

impl Scores {
    /// The scores of classes with those counts, by scikit-learn's rules with `zero_division=0`.
    pub fn from_counts(counts: &[ConfusionCounts], average: Average) -> Self {
        match average {
            Average::Micro => {
                let all =
                    counts
                        .iter()
                        .fold(ConfusionCounts::default(), |sum, one| ConfusionCounts {
                            true_positives: sum.true_positives + one.true_positives,
                            false_positives: sum.false_positives + one.false_positives,
                            false_negatives: sum.false_negatives + one.false_negatives,
                        });
                all.scores()
            }
            Average::Macro => Self::mean(counts, |_| 1.0),
            Average::Weighted => {
                let is_true = |one: &ConfusionCounts| one.true_positives + one.false_negatives;
                if counts.iter().all(|one| is_true(one) == 0) {
                    return Self::mean(counts, |_| 1.0);
                }
                Self::mean(counts, |one| is_true(one) as f64)
            }
        }
    }

    fn mean(counts: &[ConfusionCounts], weight: impl Fn(&ConfusionCounts) -> f64) -> Self {
        let total: f64 = counts.iter().map(&weight).sum();
        let mean = |get: fn(Self) -> f64| {
            let terms = counts.iter().map(|one| get(one.scores()) * weight(one));
            terms.sum::<f64>() / total
        };
        Self {
            precision: mean(|scores| scores.precision),
            recall: mean(|scores| scores.recall),
            f1: mean(|scores| scores.f1),
        }
    }
}

impl ConfusionCounts {
    fn scores(self) -> Scores {
        let Self {
            true_positives: right,
            false_positives,
            false_negatives,
        } = self;
        let share = |of: u64| match of {
            0 => 0.0,
            _ => right as f64 / of as f64,
        };
        Scores {
            precision: share(right + false_positives),
            recall: share(right + false_negatives),
            f1: match 2 * right + false_positives + false_negatives {
                0 => 0.0,
                both => (2 * right) as f64 / both as f64,
            },
        }
    }
}

#[cold]
fn unlike(one: &Labels, other: &Labels) -> Error {
    let shape = |labels: &Labels| match labels {
        Labels::Classes(classes) => format!("{} classes", classes.len()),
        Labels::Indicators(rows) => {
            format!("{} rows of {} indicators", rows.rows().len(), rows.columns)
        }
    };
    let domain = "labels of the same samples, at least one";
    let found = format!("{} and {}", shape(one), shape(other));
    Error::inconsistent(CLASS, "labels", domain, found)
}
