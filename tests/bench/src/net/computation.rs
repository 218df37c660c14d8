//! The computation of a row.

use std::time::{Duration, Instant};

use candle_core::Tensor;
use nnx_net::{Batch, KeyValueCache, NNModel, NllInput};

use super::rows::{Row, Work};
use crate::Result;

/// Tokens of the prompt; the others of a row follow one by one.
const PREFILLED: usize = 128;

/// Tensors by name: `output`, or the gradients of parameters.
pub(super) type Outputs = Vec<(String, Tensor)>;

/// Computes a row some times. The result is that of the last time, and the time of a step: the mean over
/// the steps of the fastest time of each.
///
/// # Errors
/// When the model fails.
pub(super) fn run(row: &Row, model: &NNModel, count: u32) -> Result<(Outputs, Duration)> {
    let inputs = row.inputs()?;
    match row.work {
        Work::Forward => once(count, || output(model.forward(inputs.as_slice())?)),
        Work::Prefill => {
            let prompt = inputs[0].narrow(1, 0, PREFILLED)?;
            once(count, || {
                output(model.forward_with_cache(&prompt, &mut KeyValueCache::new())?)
            })
        }
        Work::Decode => decode(model, &inputs[0], count),
        Work::Step => {
            let targets = row.targets()?.ok_or("a step needs targets")?;
            let batch = Batch::new(inputs, targets);
            once(count, || {
                let output = model.train_batch(&batch)?;
                let loss =
                    model.loss_terms(&output.logits, &output.targets, NllInput::default())?;
                let store = loss.loss.backward()?;
                let parameters = model.net().parameters().distinct();
                let gradients = parameters.filter_map(|(name, var)| {
                    Some((name.to_owned(), store.get(var.as_tensor())?.clone()))
                });
                Ok(gradients.collect())
            })
        }
    }
}

fn output(tensor: Tensor) -> Result<Outputs> {
    Ok(vec![("output".to_owned(), tensor)])
}

fn decode(model: &NNModel, tokens: &Tensor, count: u32) -> Result<(Outputs, Duration)> {
    let mut prefilled = KeyValueCache::new();
    model.forward_with_cache(&tokens.narrow(1, 0, PREFILLED)?, &mut prefilled)?;
    let rest: Vec<Tensor> = (PREFILLED..tokens.dim(1)?)
        .map(|at| tokens.narrow(1, at, 1))
        .collect::<candle_core::Result<_>>()?;
    let mut best = vec![Duration::MAX; rest.len()];
    let mut outputs = Vec::new();
    for _ in 0..count {
        let mut cache = prefilled.clone();
        outputs.clear();
        for (token, best) in rest.iter().zip(&mut best) {
            let began = Instant::now();
            outputs.push(model.forward_with_cache(token, &mut cache)?);
            *best = (*best).min(began.elapsed());
        }
    }
    let time = best.iter().sum::<Duration>() / u32::try_from(rest.len())?;
    Ok((output(Tensor::cat(&outputs, 1)?)?, time))
}

/// A computation of one step.
fn once(count: u32, compute: impl Fn() -> Result<Outputs>) -> Result<(Outputs, Duration)> {
    let mut best = Duration::MAX;
    let mut outputs = Outputs::new();
    for _ in 0..count.max(1) {
        let began = Instant::now();
        let computed = compute()?;
        best = best.min(began.elapsed());
        outputs = computed;
    }
    Ok((outputs, best))
}
