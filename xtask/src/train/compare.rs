//! How close two trainings are.

use std::path::Path;

use nnx_checkpoint::StateValue;
use nnx_params::{Checkpoints, NNEvaluationDataPoint, NNIterationDataPoint};
use nnx_run::NNRun;

use crate::Result;

/// The largest relative difference of a loss that is no finding.
const LOSS: f64 = 1e-5;
/// The largest difference of a weight that is no finding.
const WEIGHT: f64 = 1e-4;

/// The counts of what was compared so far, and the largest differences.
#[derive(Debug, Default)]
pub(super) struct Closeness {
    trainings: usize,
    losses: usize,
    loss: f64,
    weight: f64,
    findings: usize,
}

/// A training in one or several runs, each of which goes on from the one before.
#[derive(Debug)]
pub(super) struct Training<'a> {
    pub(super) runs: Vec<&'a NNRun>,
    pub(super) root: &'a Path,
}

impl Training<'_> {
    fn records(&self) -> Vec<&NNIterationDataPoint> {
        self.runs.iter().flat_map(|run| run.idps()).collect()
    }

    /// The weights of the last checkpoint, by name.
    fn weights(&self) -> Result<Vec<(String, Vec<f32>)>> {
        let run = self.runs.last().ok_or("a training without a run")?;
        let checkpoint = run.store(self.root)?.load(&Checkpoints::Last.into())?;
        let checkpoint = checkpoint.ok_or("a training without its last checkpoint")?;
        let tensors = checkpoint.net_state.iter();
        let tensors = tensors.filter_map(|(name, value)| match value {
            StateValue::Tensor(tensor) => Some((name, tensor)),
            StateValue::Object(_) => None,
        });
        tensors
            .map(|(name, tensor)| {
                let bytes = tensor.to_bytes()?;
                let (values, _) = bytes.as_chunks::<4>();
                let values = values.iter().map(|bytes| f32::from_le_bytes(*bytes));
                Ok((name.to_owned(), values.collect()))
            })
            .collect()
    }
}

impl Closeness {
    /// Compares one training by the real NNx with one in which `nnx` had a part.
    ///
    /// # Errors
    /// When a checkpoint cannot be read.
    pub(super) fn compare(
        &mut self,
        title: &str,
        expected: &Training<'_>,
        found: &Training<'_>,
    ) -> Result<()> {
        let mut wrong = Vec::new();
        let (one, other) = (expected.records(), found.records());
        if one.is_empty() || one.len() != other.len() {
            wrong.push(format!("{} records instead of {}", other.len(), one.len()));
        }
        let (mut loss, mut weight) = (0.0_f64, 0.0_f64);
        // The first record whose loss is another one.
        let mut first = None;
        for (index, (one, other)) in one.iter().zip(&other).enumerate() {
            if one.lr().as_f64().to_bits() != other.lr().as_f64().to_bits() {
                wrong.push(format!(
                    "record {index}: the rate {} instead of {}",
                    other.lr(),
                    one.lr()
                ));
            }
            for (one, other) in losses(one).into_iter().zip(losses(other)) {
                self.losses += 1;
                match (one, other) {
                    (Some(one), Some(other)) if one.is_nan() && other.is_nan() => {}
                    (Some(one), Some(other)) => {
                        loss = farther(loss, (one - other).abs() / one.abs().max(1e-3));
                        if loss > LOSS && first.is_none() {
                            first = Some(index);
                        }
                    }
                    (None, None) => {}
                    _ => wrong.push(format!("record {index}: a loss is on one side alone")),
                }
            }
        }
        let (one, other) = (expected.weights()?, found.weights()?);
        let names = |weights: &[(String, Vec<f32>)]| -> Vec<String> {
            weights
                .iter()
                .map(|(name, values)| format!("{name}[{}]", values.len()))
                .collect()
        };
        if one.is_empty() || names(&one) != names(&other) {
            wrong.push("the weights have other names or sizes".into());
        }
        for ((_, one), (_, other)) in one.iter().zip(&other) {
            for (one, other) in one.iter().zip(other) {
                weight = farther(weight, f64::from((one - other).abs()));
            }
        }
        if loss > LOSS {
            wrong.push(format!(
                "losses differ by {loss:.1e} of their size, from record {} on",
                first.unwrap_or_default()
            ));
        }
        if weight > WEIGHT {
            wrong.push(format!("weights differ by {weight:.1e}"));
        }
        self.trainings += 1;
        self.loss = self.loss.max(loss);
        self.weight = self.weight.max(weight);
        if wrong.is_empty() {
            println!("{title}: losses within {loss:.1e}, weights within {weight:.1e}");
        } else {
            self.findings += 1;
            println!("FAIL {title}: {}", wrong.join("; "));
        }
        Ok(())
    }

    /// # Errors
    /// When there was a finding, or nothing was compared.
    pub(super) fn verdict(&self) -> Result<()> {
        println!(
            "{} trainings and {} losses compared; losses within {:.1e} of their size, weights \
             within {:.1e}; {} findings",
            self.trainings, self.losses, self.loss, self.weight, self.findings
        );
        if self.findings == 0 && self.losses > 0 {
            return Ok(());
        }
        Err("the two sides do not train the same".into())
    }
}

/// The larger of two distances. NaN is no small one.
fn farther(most: f64, far: f64) -> f64 {
    if far.is_nan() {
        f64::INFINITY
    } else {
        most.max(far)
    }
}

/// Losses of the batch and of the validation.
fn losses(record: &NNIterationDataPoint) -> [Option<f64>; 2] {
    let loss = |point: Option<&NNEvaluationDataPoint>| {
        point
            .and_then(|point| point.loss())
            .map(|loss| loss.as_f64())
    };
    [loss(Some(record.train_edp())), loss(record.val_edp())]
}
