//! Sums over predicted tokens.

use candle_core::{D, DType, Tensor};
use nnx_params::NNEvaluationDataPoint;

use crate::error::{Error, Result};

/// The name of the task in records and states.
pub(super) const KIND: &str = "causal_lm";

/// The rules for the tokens that count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenRules {
    pub(super) vocab_size: usize,
    /// The id of targets that do not count.
    pub(super) ignore_id: i64,
    /// The id of padding, if there is one.
    pub(super) pad_id: Option<i64>,
    /// The share of each target that is spread over all tokens.
    pub(super) smoothing: f64,
}

/// The tokens of one or more batches that count.
#[derive(Clone, Debug)]
pub(super) struct TokenSums {
    /// The places of the targets that count, and the targets, of the batch.
    rows: Vec<u32>,
    classes: Vec<u32>,
    nll: f64,
    right: usize,
    tokens: usize,
}

impl TokenSums {
    /// # Errors
    /// When logits and targets do not go together, or an id is not in the vocabulary.
    pub(super) fn new(rules: TokenRules, logits: &Tensor, targets: &Tensor) -> Result<Self> {
        let expected: Vec<usize> = targets
            .dims()
            .iter()
            .copied()
            .chain([rules.vocab_size])
            .collect();
        if logits.dims() != expected {
            return Err(Error::data(format!(
                "the logits of language need the shape `{expected:?}`, got `{:?}`",
                logits.dims()
            )));
        }
        let targets: Vec<i64> = targets.flatten_all()?.to_dtype(DType::I64)?.to_vec1()?;
        let (mut rows, mut classes) = (Vec::new(), Vec::new());
        for (row, target) in (0_u32..).zip(targets) {
            if target == rules.ignore_id || Some(target) == rules.pad_id {
                continue;
            }
            let class = u32::try_from(target).ok();
            let class = class.filter(|class| (*class as usize) < rules.vocab_size);
            rows.push(row);
            classes.push(class.ok_or_else(|| {
                Error::data(format!("the id `{target}` is not in the vocabulary"))
            })?);
        }
        let table = logits
            .detach()
            .reshape(((), rules.vocab_size))?
            .to_dtype(DType::F32)?;
        let table: Vec<f32> = table.flatten_all()?.to_vec1()?;
        let (mut nll, mut right) = (0.0, 0);
        for (row, class) in rows.iter().zip(&classes) {
            let start = *row as usize * rules.vocab_size;
            let row = table
                .get(start..start + rules.vocab_size)
                .unwrap_or_default();
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f32 = row.iter().map(|value| (value - top).exp()).sum();
            let own = row.get(*class as usize).copied().unwrap_or(f32::NAN);
            nll += f64::from(top + sum.ln() - own);
            let best = row.iter().position(|value| *value == top);
            right += usize::from(best == Some(*class as usize));
        }
        Ok(Self {
            tokens: rows.len(),
            rows,
            classes,
            nll,
            right,
        })
    }

    /// The sum of the smoothed cross entropy over the tokens of the batch. It can be differentiated.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn cross_entropy(&self, rules: TokenRules, logits: &Tensor) -> Result<Tensor> {
        if self.tokens == 0 {
            return Ok((logits.sum_all()? * 0.0)?);
        }
        let device = logits.device();
        let rows = Tensor::new(self.rows.as_slice(), device)?;
        let classes = Tensor::new(self.classes.as_slice(), device)?.unsqueeze(1)?;
        let table = logits
            .reshape(((), rules.vocab_size))?
            .index_select(&rows, 0)?;
        let shifted = table.broadcast_sub(&table.detach().max_keepdim(D::Minus1)?)?;
        let sums = shifted.exp()?.sum_keepdim(D::Minus1)?;
        let logs = shifted.broadcast_sub(&sums.log()?)?;
        let nll = logs.gather(&classes, 1)?.neg()?.sum_all()?;
        if rules.smoothing == 0.0 {
            return Ok(nll);
        }
        let spread = (logs.neg()?.sum_all()? * (rules.smoothing / rules.vocab_size as f64))?;
        Ok(((nll * (1.0 - rules.smoothing))? + spread)?)
    }

    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    pub(super) fn count(&self) -> f64 {
        self.tokens as f64
    }

    /// The mean over the tokens; `None` where none counts.
    pub(super) fn nll(&self) -> Option<f64> {
        (self.tokens > 0).then(|| self.nll / self.count())
    }

    /// The counts of both; the places are not kept.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.nll += other.nll;
        self.right += other.right;
        self.tokens += other.tokens;
        self
    }

    /// # Errors
    /// When the record is not valid.
    pub(super) fn record(
        &self,
        loss: Option<f64>,
        with_perplexity: bool,
    ) -> Result<NNEvaluationDataPoint> {
        let mut record = NNEvaluationDataPoint::builder().task_record(KIND, self.tokens as u64);
        let Some(nll) = self.nll() else {
            return Ok(record.build()?);
        };
        let mut metrics = vec![
            ("nll", nll),
            ("token_accuracy", self.right as f64 / self.count()),
        ];
        if with_perplexity {
            metrics.push(("perplexity", nll.exp()));
        }
        if let Some(loss) = loss {
            record = record.loss(loss);
        }
        Ok(record.metrics(metrics).build()?)
    }
}
