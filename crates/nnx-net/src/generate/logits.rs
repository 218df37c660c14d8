//! From logits to the next token.

use std::collections::BTreeSet;

use super::options::GenerateOptions;
use crate::error::{Error, Result};
use crate::predict::first_largest;
use crate::rng::Generator;

/// The changes of the logits before a token is drawn, in the order of the fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogitFilters {
    pub(super) repetition_penalty: f64,
    pub(super) top_k: Option<usize>,
    pub(super) top_p: Option<f64>,
    pub(super) temperature: f64,
}

impl LogitFilters {
    pub(super) fn new(options: &GenerateOptions) -> Self {
        Self {
            repetition_penalty: options.repetition_penalty,
            top_k: options.top_k,
            top_p: options.top_p,
            temperature: options.temperature,
        }
    }

    /// # Errors
    /// When a number is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |option: &str, domain: &str, found: f64| {
            Err(Error::configuration(format!(
                "`{option}` must be {domain}, got `{found}`"
            )))
        };
        if self.temperature.is_nan() || self.temperature < 0.0 {
            return wrong("temperature", "at least `0`", self.temperature);
        }
        if self.repetition_penalty.is_nan() || self.repetition_penalty < 1.0 {
            return wrong(
                "repetition_penalty",
                "at least `1`",
                self.repetition_penalty,
            );
        }
        if self.top_k == Some(0) {
            return wrong("top_k", "at least `1`", 0.0);
        }
        match self.top_p {
            Some(p) if !(p > 0.0 && p <= 1.0) => wrong("top_p", "above `0` and at most `1`", p),
            _ => Ok(()),
        }
    }

    /// The token that follows those of the history.
    pub(super) fn draw(
        &self,
        logits: &mut [f32],
        history: &[u32],
        generator: &mut Generator,
    ) -> u32 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "PyTorch computes with the logits' float32"
        )]
        let (penalty, temperature) = (self.repetition_penalty as f32, self.temperature as f32);
        if self.repetition_penalty > 1.0 {
            for token in history.iter().copied().collect::<BTreeSet<_>>() {
                if let Some(logit) = logits.get_mut(token as usize) {
                    *logit = if *logit > 0.0 {
                        *logit / penalty
                    } else {
                        *logit * penalty
                    };
                }
            }
        }
        if let Some(count) = self.top_k {
            keep_largest(logits, count);
        }
        if let Some(probability) = self.top_p {
            keep_likeliest(logits, probability);
        }
        if self.temperature == 0.0 {
            return largest(logits);
        }
        for logit in logits.iter_mut() {
            *logit /= temperature;
        }
        sample(logits, generator)
    }
}

/// Removes what is below the last of the `count` largest.
fn keep_largest(logits: &mut [f32], count: usize) {
    let mut sorted = logits.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let Some(least) = sorted.get(count.min(sorted.len()).saturating_sub(1)) else {
        return;
    };
    for logit in logits.iter_mut().filter(|logit| **logit < *least) {
        *logit = f32::NEG_INFINITY;
    }
}

/// Removes what comes after the likeliest tokens whose probabilities exceed that together.
fn keep_likeliest(logits: &mut [f32], probability: f64) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    let sorted: Vec<f32> = order.iter().map(|at| logits[*at]).collect();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "PyTorch compares float32 sums with the bound rounded to float32"
    )]
    let bound = probability as f32;
    let mut sum = 0.0;
    for (at, probability) in order.into_iter().zip(softmax(&sorted)) {
        // The token that exceeds the bound is kept itself.
        if sum > bound {
            logits[at] = f32::NEG_INFINITY;
        }
        sum += probability;
    }
}

/// Draws by the softmax; takes the largest where that is no distribution.
fn sample(logits: &[f32], generator: &mut Generator) -> u32 {
    let probabilities = softmax(logits);
    let total: f64 = probabilities.iter().copied().map(f64::from).sum();
    if logits.contains(&f32::INFINITY) || !total.is_finite() || total <= 0.0 {
        return largest(logits);
    }
    let mut left = f64::from(generator.uniform(0.0, 1.0)) * total;
    let mut last = 0;
    for (token, probability) in (0..).zip(probabilities) {
        if probability > 0.0 {
            last = token;
            left -= f64::from(probability);
            if left < 0.0 {
                break;
            }
        }
    }
    last
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

fn largest(logits: &[f32]) -> u32 {
    u32::try_from(first_largest(logits)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f32 = f32::INFINITY;

    /// Compares with the result of the processors of NNx for the logits `[2.0, -1.0, 0.5, 2.0,
    /// 1.0]`, before the temperature.
    #[track_caller]
    fn check(filters: LogitFilters, history: &[u32], expected: [f32; 5]) {
        let mut logits = [2.0, -1.0, 0.5, 2.0, 1.0];
        let filters = LogitFilters {
            temperature: 1.0,
            ..filters
        };
        filters.draw(&mut logits, history, &mut Generator::new(0));
        assert_eq!(logits, expected);
    }

    #[test]
    fn filters_leave_what_those_of_python_leave() {
        let all = || LogitFilters::new(&GenerateOptions::new());
        let penalty = LogitFilters {
            repetition_penalty: 2.0,
            ..all()
        };
        check(penalty, &[0, 1, 1, 77], [1.0, -2.0, 0.5, 2.0, 1.0]);
        let top_k = |count| LogitFilters {
            top_k: Some(count),
            ..all()
        };
        check(top_k(1), &[], [2.0, -INF, -INF, 2.0, -INF]);
        check(top_k(3), &[], [2.0, -INF, -INF, 2.0, 1.0]);
        check(top_k(9), &[], [2.0, -1.0, 0.5, 2.0, 1.0]);
        let top_p = |probability| LogitFilters {
            top_p: Some(probability),
            ..all()
        };
        check(top_p(0.1), &[], [2.0, -INF, -INF, -INF, -INF]);
        check(top_p(0.5), &[], [2.0, -INF, -INF, 2.0, -INF]);
        check(top_p(0.8), &[], [2.0, -INF, -INF, 2.0, 1.0]);
        check(top_p(1.0), &[], [2.0, -1.0, 0.5, 2.0, 1.0]);
    }

    #[test]
    fn tokens_are_drawn_as_often_as_they_are_likely() {
        let mut generator = Generator::new(3);
        let mut counts = [0.0; 4];
        for _ in 0..20_000 {
            let mut logits = [0.0, 2_f32.ln(), -INF, 5_f32.ln()];
            let token =
                LogitFilters::new(&GenerateOptions::new()).draw(&mut logits, &[], &mut generator);
            counts[token as usize] += 1.0;
        }
        for (count, share) in counts.into_iter().zip([1.0, 2.0, 0.0, 5.0]) {
            let expected: f64 = 20_000.0 * share / 8.0;
            assert!(
                (count - expected).abs() <= 5.0 * expected.sqrt(),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn what_is_no_distribution_gives_the_largest() {
        let nan = f32::NAN;
        for (logits, expected) in [
            ([-INF, -INF, -INF], 0),
            ([0.0, nan, 1.0], 1),
            ([0.0, 1.0, INF], 2),
        ] {
            let mut copy = logits;
            let token = LogitFilters::new(&GenerateOptions::new()).draw(
                &mut copy,
                &[],
                &mut Generator::new(0),
            );
            assert_eq!(token, expected, "{logits:?}");
        }
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let all = || LogitFilters::new(&GenerateOptions::new());
        for (filters, expected) in [
            (
                LogitFilters {
                    temperature: -1.0,
                    ..all()
                },
                "`temperature` must be at least `0`, got `-1`",
            ),
            (
                LogitFilters {
                    repetition_penalty: 0.5,
                    ..all()
                },
                "`repetition_penalty` must be at least `1`, got `0.5`",
            ),
            (
                LogitFilters {
                    top_k: Some(0),
                    ..all()
                },
                "`top_k` must be at least `1`, got `0`",
            ),
            (
                LogitFilters {
                    top_p: Some(1.5),
                    ..all()
                },
                "`top_p` must be above `0` and at most `1`, got `1.5`",
            ),
        ] {
            assert_eq!(filters.check().unwrap_err().to_string(), expected);
        }
    }
}
