//! The precision in which a model is trained, as checkpoints record it.

use nnx_params::{
    Devices, NNModelParams, PrecisionFallback, PrecisionMode, PrecisionPolicy, State, Value,
};

use crate::error::{Error, Result};

const TRAIN: &str = "NNModel.train (default step and objectives)";
const TRAINER: &str = "Trainer.train(objective=...)";
const ALWAYS: [&str; 2] = ["evaluate()", "predict() / predict_proba()"];
const NEVER: [&str; 3] = ["nnx.lr_finder", "nnx.diffusion.sampling", "generation"];

/// The precision of a training. This version trains in float32.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResolvedPrecision {
    requested: &'static str,
    source: &'static str,
    device: Devices,
    fallback_reason: Option<String>,
    covers: Option<&'static str>,
}

/// The code that updates the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateOwner {
    /// The default step or an objective.
    Loop,
    /// A step of one's own.
    Step,
    /// The objective of several optimizers.
    Trainer,
}

impl ResolvedPrecision {
    /// # Errors
    /// When the model asks for less than float32, and no fallback allows float32.
    pub(crate) fn resolve(params: &NNModelParams, owner: UpdateOwner) -> Result<Self> {
        let policy = params.precision();
        let mode = policy.map_or(PrecisionMode::Fp32, PrecisionPolicy::mode);
        let falls_back = policy.is_some_and(|policy| policy.fallback() == PrecisionFallback::Fp32);
        let device = params.device();
        let fallback_reason = match mode {
            PrecisionMode::Fp32 => None,
            mode if falls_back => Some(format!("this version does not train in {mode}")),
            mode => {
                return Err(Error::unsupported(format!(
                    "training in precision `{mode}` on device `{device}` is not supported, only `fp32` \
                     is; a policy with the fallback `fp32` trains in that"
                )));
            }
        };
        Ok(Self {
            requested: mode.value(),
            source: if policy.is_some() {
                "policy"
            } else {
                "default"
            },
            device,
            fallback_reason,
            covers: match owner {
                UpdateOwner::Loop => Some(TRAIN),
                UpdateOwner::Trainer => Some(TRAINER),
                UpdateOwner::Step => None,
            },
        })
    }

    /// The precision that is used.
    pub(crate) fn effective(&self) -> &'static str {
        PrecisionMode::Fp32.value()
    }

    /// The record of NNx.
    pub(crate) fn record(&self) -> State {
        let list = |items: Vec<&str>| Value::List(items.into_iter().map(Value::from).collect());
        let covers: Vec<&str> = self.covers.into_iter().chain(ALWAYS).collect();
        let others = [TRAIN, TRAINER]
            .into_iter()
            .filter(|one| !covers.contains(one));
        let not_covered: Vec<&str> = others.chain(NEVER).collect();
        let mut record = State::new();
        record.insert("requested", self.requested);
        record.insert("effective", self.effective());
        record.insert("source", self.source);
        record.insert("device", self.device.value());
        record.insert(
            "fallback_reason",
            self.fallback_reason.clone().map(Value::from),
        );
        record.insert("autocast_dtype", Value::None);
        record.insert("grad_scaler", false);
        // PyTorch's defaults, which have no effect on the CPU.
        let tf32 = [
            ("cuda_matmul", false),
            ("cudnn_conv", true),
            ("cudnn_rnn", true),
        ];
        record.insert("tf32", State::from_iter(tf32));
        record.insert("covers", list(covers));
        record.insert("not_covered", list(not_covered));
        record
    }
}
