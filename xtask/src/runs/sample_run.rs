//! A run that was never trained but looks so: history, three checkpoints, training state.

use std::path::Path;

use nnx_checkpoint::{Dtype, NNCheckpoint, StateDict, StateDictMetadata, Tensor};
use nnx_params::{
    Activations, Checkpoints, Momentum, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams,
    NNOptimParams, NNParams, NNTrainParams, NetParams, Nets, Optims,
};
use nnx_run::{
    Algorithm, Counters, Data, NNRun, Optimizer, OptimizerGroup, OptimizerParameter,
    OptimizerState, TrainingState,
};

use crate::Result;

/// Epochs of the run, of three iterations each.
pub(super) const EPOCHS: i64 = 4;
pub(super) const STEPS: i64 = EPOCHS * 3;

const LR: f64 = 0.01;
const WEIGHT_DECAY: f64 = 5e-5;

/// The parameters of the net of `xtask/python/runs.py`.
const PARAMETERS: [(&str, &[usize]); 4] = [
    ("layers.0.weight", &[5, 4]),
    ("layers.0.bias", &[5]),
    ("layers.1.weight", &[3, 5]),
    ("layers.1.bias", &[3]),
];

/// Saves the run as a training would: the history of an epoch, then its checkpoints.
pub(super) fn save(root: &Path, name: &str, algorithm: Algorithm) -> Result<NNRun> {
    let net: NetParams = NNParams::builder(4, 3)
        .hidden_dims([5])
        .activation(Activations::Relu)
        .dropout_prob(0.0)
        .build()?
        .into();
    let model = NNModelParams::builder(Nets::FeedFwd).build()?;
    let (optim, optimizer) = optimizers(name, algorithm)?;
    let train = NNTrainParams::builder(EPOCHS as usize)
        .optim(optim)
        .build()?;
    let mut run = NNRun::builder(model.clone(), net.clone(), train)
        .salt(format!("ours {name}"))
        .build()?;
    let lease = run.reserve(root, false)?;
    let store = run.store(root)?;
    let mut idps = Vec::new();
    for epoch in 0..EPOCHS {
        idps.extend(records(epoch)?);
        run = run.with_idps(idps.clone());
        run.save_history(root)?;
        let last = idps.last().ok_or("an epoch has records")?.clone();
        let checkpoint = NNCheckpoint::new(Some(net.clone()), weights(epoch)?, model.clone(), last);
        let state = training_state(&optimizer, epoch)?;
        for tag in [Checkpoints::Last, Checkpoints::Best, Checkpoints::Q1] {
            if tag != Checkpoints::Q1 || epoch == 0 {
                store.save(&tag.into(), &checkpoint, Some(&state))?;
            }
        }
        run.save(root)?;
    }
    drop(lease);
    Ok(run)
}

fn optimizers(name: &str, algorithm: Algorithm) -> Result<(NNOptimParams, Optimizer)> {
    let momentum = if name == "sgd" { 0.0 } else { 0.9 };
    let adam = |amsgrad, decoupled_weight_decay| Optimizer::Adam {
        betas: (0.9, 0.999),
        eps: 1e-8,
        amsgrad,
        decoupled_weight_decay,
    };
    let sgd = |nesterov| Optimizer::Sgd { momentum, nesterov };
    let (kind, optimizer) = match algorithm {
        Algorithm::Adam => (Optims::Adam, adam(false, false)),
        Algorithm::AmsGrad => (Optims::AdamAmsgrad, adam(true, false)),
        Algorithm::AdamW => (Optims::Adamw, adam(false, true)),
        Algorithm::SgdNesterov => (Optims::SgdNesterov, sgd(true)),
        _ => (Optims::Sgd, sgd(false)),
    };
    let momentum: Momentum = match optimizer {
        Optimizer::Adam { betas, .. } => betas.into(),
        _ => momentum.into(),
    };
    let optim = NNOptimParams::builder(kind, LR, momentum, WEIGHT_DECAY).build()?;
    Ok((optim, optimizer))
}

fn records(epoch: i64) -> Result<Vec<NNIterationDataPoint>> {
    (0..3)
        .map(|batch| {
            let iteration = epoch * 3 + batch;
            let loss = 1.0 / (iteration + 2) as f64;
            let edp = NNEvaluationDataPoint::builder()
                .loss(loss)
                .error(0.5)
                .build()?;
            let point = NNIterationDataPoint::new(LR, iteration, epoch, batch, edp.clone());
            Ok(match batch {
                2 => point.with_val_edp(edp.with_extra("n_right", 2.0)),
                _ => point,
            })
        })
        .collect()
}

/// Numbers that differ between parameters, elements and epochs.
fn tensor(shape: &[usize], seed: i64) -> Result<Tensor> {
    let elements = shape.iter().product::<usize>() as i64;
    let element = |index| ((index * 37 + seed * 11) % 19 - 9) as f32 / 64.0;
    let bytes = (0..elements).flat_map(|index| f32::to_le_bytes(element(index)));
    Ok(Tensor::from_bytes(
        Dtype::Float32,
        shape,
        bytes.collect::<Vec<u8>>(),
    )?)
}

/// The same, of numbers above zero, as squares are.
fn squares(shape: &[usize]) -> Result<Tensor> {
    let elements = shape.iter().product::<usize>();
    let bytes = (0..elements).flat_map(|index| f32::to_le_bytes((index + 1) as f32 / 4096.0));
    Ok(Tensor::from_bytes(
        Dtype::Float32,
        shape,
        bytes.collect::<Vec<u8>>(),
    )?)
}

fn weights(epoch: i64) -> Result<StateDict> {
    let mut state = StateDict::new();
    for (index, (name, shape)) in PARAMETERS.iter().enumerate() {
        state.insert(*name, tensor(shape, epoch + index as i64)?);
    }
    Ok(state.with_modules(StateDictMetadata::None))
}

fn training_state(optimizer: &Optimizer, epoch: i64) -> Result<TrainingState> {
    let updates = (epoch + 1) * 3;
    let mut parameters = Vec::new();
    for (name, shape) in PARAMETERS {
        let mut parameter = OptimizerParameter::new(name, shape);
        match optimizer {
            Optimizer::Adam { amsgrad, .. } => {
                let step = (updates as f32).to_le_bytes().to_vec();
                let step = Tensor::from_bytes(Dtype::Float32, &[], step)?;
                parameter.set_slot("step", Data::Tensor(step));
                parameter.set_slot("exp_avg", Data::Tensor(tensor(shape, epoch)?));
                parameter.set_slot("exp_avg_sq", Data::Tensor(squares(shape)?));
                if *amsgrad {
                    parameter.set_slot("max_exp_avg_sq", Data::Tensor(squares(shape)?));
                }
            }
            Optimizer::Sgd { momentum, .. } if *momentum > 0.0 => {
                parameter.set_slot("momentum_buffer", Data::Tensor(tensor(shape, epoch)?));
            }
            _ => {}
        }
        parameters.push(parameter);
    }
    let group = OptimizerGroup::new(optimizer, LR, WEIGHT_DECAY, parameters);
    let mut state = TrainingState::new();
    state.set_optimizer(&OptimizerState::new(optimizer, vec![group]));
    state.set_scheduler(plateau(epoch), "torch.optim.lr_scheduler.ReduceLROnPlateau");
    state.set_completed_epoch(epoch);
    state.set_counters(&Counters {
        global_step: Some(updates),
        committed_updates: Some(updates),
        planned_n_epochs: Some(EPOCHS),
    });
    Ok(state)
}

/// The state of PyTorch's `ReduceLROnPlateau`, with the settings of `NNSchedulerParams`.
fn plateau(epoch: i64) -> Data {
    let list = |value| Data::List(vec![Data::Float(value)]);
    Data::dict([
        ("factor", Data::Float(0.95)),
        ("default_min_lr", Data::Float(1e-7)),
        ("min_lrs", list(1e-7)),
        ("patience", Data::Int(8)),
        ("cooldown", Data::Int(2)),
        ("eps", Data::Float(1e-8)),
        ("last_epoch", Data::Int((epoch + 1).into())),
        ("_last_lr", list(LR)),
        ("mode_worse", Data::Float(f64::INFINITY)),
        ("mode", Data::Str("min".to_owned())),
        ("threshold", Data::Float(0.001)),
        ("threshold_mode", Data::Str("rel".to_owned())),
        ("best", Data::Float(0.5)),
        ("cooldown_counter", Data::Int(0)),
        ("num_bad_epochs", Data::Int(epoch.into())),
    ])
}
