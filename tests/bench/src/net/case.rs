//! What is computed.

use std::time::{Duration, Instant};

use candle_core::{Device, Tensor};
use nnx_net::{KeyValueCache, NNModel};

use super::Models;
use crate::Result;

pub(super) const VOCABULARY: usize = 8192;
/// Tokens of the prompt, and those that follow one by one.
const PREFILLED: usize = 128;
const DECODED: usize = 64;

/// A computation done some times, which gives what came last and the time of a step of it, the mean
/// over its steps of the fastest time of each.
type Computation<'a> = Box<dyn Fn(u32) -> Result<(Tensor, Duration)> + 'a>;

pub(super) struct Case<'a> {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    computation: Computation<'a>,
    /// Steps of one computation.
    steps: u32,
}

impl Case<'_> {
    /// Computes that often.
    pub(super) fn run(&self, count: u32) -> Result<(Tensor, Duration)> {
        (self.computation)(count)
    }

    /// How often it is computed in a time, where one step takes `one`.
    pub(super) fn count(&self, one: Duration, time: Duration) -> u32 {
        let count = time.as_nanos() / (one * self.steps).as_nanos().max(1);
        u32::try_from(count).unwrap_or(u32::MAX).max(1)
    }
}

/// The inputs by their names.
pub(super) fn inputs() -> Result<Vec<(&'static str, Tensor)>> {
    // Numbers that differ, and that both sides read from one file.
    let numbers = |shape: &[usize]| -> Result<Tensor> {
        let count: usize = shape.iter().product();
        let numbers = (0..count).map(|at| ((at * 37 % 1009) as f32 / 504.5) - 1.0);
        Ok(Tensor::from_iter(numbers, &Device::Cpu)?.reshape(shape)?)
    };
    let tokens = (0..PREFILLED + DECODED).map(|at| (at * 389 % VOCABULARY) as i64);
    Ok(vec![
        ("ff_1", numbers(&[1, 784])?),
        ("ff_32", numbers(&[32, 784])?),
        ("ff_1024", numbers(&[1024, 784])?),
        ("conv_32", numbers(&[32, 3, 32, 32])?),
        (
            "tokens",
            Tensor::from_iter(tokens, &Device::Cpu)?.unsqueeze(0)?,
        ),
    ])
}

pub(super) fn all(nets: &Models) -> Result<Vec<Case<'_>>> {
    let mut cases = Vec::new();
    for (name, input) in inputs()? {
        let (model, title) = match name {
            "ff_1" => (&nets.ff, "FEED_FWD 784→512→512→10, batch 1"),
            "ff_32" => (&nets.ff, "FEED_FWD, batch 32"),
            "ff_1024" => (&nets.ff, "FEED_FWD, batch 1024"),
            "conv_32" => (
                &nets.conv,
                "CONV 3×32×32, channels 16 and 32, kernel 5, batch 32",
            ),
            _ => {
                cases.push(prefill(&nets.transformer, input.clone()));
                cases.push(decode(&nets.transformer, input));
                continue;
            }
        };
        cases.push(Case {
            name,
            title,
            computation: Box::new(move |count| once(count, || Ok(model.forward(&input)?))),
            steps: 1,
        });
    }
    Ok(cases)
}

fn prefill(model: &NNModel, tokens: Tensor) -> Case<'_> {
    Case {
        name: "prefill",
        title: "TRANSFORMER, width 256, 4 layers, 8192 tokens: prefill of 128",
        computation: Box::new(move |count| {
            let prompt = tokens.narrow(1, 0, PREFILLED)?;
            once(count, || {
                Ok(model.forward_with_cache(&prompt, &mut KeyValueCache::new())?)
            })
        }),
        steps: 1,
    }
}

fn decode(model: &NNModel, tokens: Tensor) -> Case<'_> {
    let computation = move |count| {
        let mut prefilled = KeyValueCache::new();
        model.forward_with_cache(&tokens.narrow(1, 0, PREFILLED)?, &mut prefilled)?;
        let rest: Vec<Tensor> = (PREFILLED..PREFILLED + DECODED)
            .map(|at| tokens.narrow(1, at, 1))
            .collect::<candle_core::Result<_>>()?;
        let mut best = [Duration::MAX; DECODED];
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
        let time = best.iter().sum::<Duration>() / DECODED as u32;
        Ok((Tensor::cat(&outputs, 1)?, time))
    };
    Case {
        name: "decode",
        title: "the same: a token, cached, after 128",
        computation: Box::new(computation),
        steps: DECODED as u32,
    }
}

/// A computation of one step.
fn once(count: u32, compute: impl Fn() -> Result<Tensor>) -> Result<(Tensor, Duration)> {
    let timed = || -> Result<_> {
        let began = Instant::now();
        let output = compute()?;
        Ok((output, began.elapsed()))
    };
    let (mut output, mut best) = timed()?;
    for _ in 1..count {
        let (last, time) = timed()?;
        output = last;
        best = best.min(time);
    }
    Ok((output, best))
}
