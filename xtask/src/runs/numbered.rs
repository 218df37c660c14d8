//! Checkpoints and training states with a number, so that two saves cannot be mistaken for each
//! other.

use nnx_checkpoint::{Dtype, NNCheckpoint, StateDict, Tensor};
use nnx_params::{
    Activations, Checkpoints, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams, NNParams,
    Nets,
};
use nnx_run::{
    CheckpointStore, Counters, Data, Optimizer, OptimizerGroup, OptimizerParameter, OptimizerState,
    TrainingState,
};

use crate::Result;

const NAME: &str = "layers.0.weight";

const ADAM: Optimizer = Optimizer::Adam {
    betas: (0.9, 0.999),
    eps: 1e-8,
    amsgrad: false,
    decoupled_weight_decay: false,
};

/// Saves the checkpoint with a number; every third one has no training state.
pub(super) fn save(store: &CheckpointStore, number: i64) -> Result<()> {
    let state = match number % 3 {
        0 => None,
        _ => Some(training_state(number)?),
    };
    store.save(
        &Checkpoints::Last.into(),
        &checkpoint(number)?,
        state.as_ref(),
    )?;
    Ok(())
}

/// The number of the save that is there, after a check that all files belong to it.
pub(super) fn whole(store: &CheckpointStore) -> Result<i64> {
    let manifest = store.verify(&Checkpoints::Last.into())?;
    let number = pair(store)?;
    match manifest.and_then(|manifest| manifest.completed_epoch()) {
        Some(epoch) if epoch == number.into() => Ok(number),
        _ => Err(format!("the manifest of {number} is another's").into()),
    }
}

/// The number of the checkpoint that is there, after a check that its training state belongs to it.
pub(super) fn pair(store: &CheckpointStore) -> Result<i64> {
    let tag = Checkpoints::Last.into();
    let (found, state) = store.load_with_training_state(&tag)?;
    let found = found.ok_or("there is no checkpoint")?;
    let number = found.idp.epoch_idx().as_i64().ok_or("an epoch is whole")?;
    let weights = found.net_state.tensor(NAME).ok_or("there are no weights")?;
    let expected = filled(number)?.to_bytes()?.into_owned();
    let mut tensors = vec![weights.clone()];
    match &state {
        Some(state) => {
            let optimizer = state.optimizer()?.ok_or("there is no optimizer")?;
            let parameter = optimizer.parameter(NAME).ok_or("there is no parameter")?;
            let moments = [parameter.exp_avg(), parameter.exp_avg_sq()];
            tensors.extend(moments.into_iter().flatten().cloned());
            let epoch = state.completed_epoch() == Some(number.into());
            if tensors.len() != 3 || parameter.step() != Some(number as f64) || !epoch {
                return Err(format!("the training state of {number} is another's").into());
            }
        }
        None if number % 3 == 0 => {}
        None => return Err(format!("the training state of {number} is lost").into()),
    }
    for tensor in &tensors {
        if tensor.to_bytes()? != expected {
            return Err(format!("the tensors of {number} are another's").into());
        }
    }
    Ok(number)
}

fn filled(number: i64) -> Result<Tensor> {
    let bytes: Vec<u8> = [number as f32; 4]
        .iter()
        .flat_map(|it| it.to_le_bytes())
        .collect();
    Ok(Tensor::from_bytes(Dtype::Float32, &[2, 2], bytes)?)
}

fn checkpoint(number: i64) -> Result<NNCheckpoint> {
    let params = NNParams::builder(2, 2).activation(Activations::Relu);
    let params = params.dropout_prob(0.0).build()?.into();
    let model = NNModelParams::builder(Nets::FeedFwd).build()?;
    let mut state = StateDict::new();
    state.insert(NAME, filled(number)?);
    let edp = NNEvaluationDataPoint::builder().loss(0.5).build()?;
    let idp = NNIterationDataPoint::new(0.01, number, number, 0, edp);
    Ok(NNCheckpoint::new(Some(params), state, model, idp))
}

fn training_state(number: i64) -> Result<TrainingState> {
    let step = (number as f32).to_le_bytes().to_vec();
    let step = Tensor::from_bytes(Dtype::Float32, &[], step)?;
    let mut parameter = OptimizerParameter::new(NAME, &[2, 2]);
    parameter.set_slot("step", Data::Tensor(step));
    parameter.set_slot("exp_avg", Data::Tensor(filled(number)?));
    parameter.set_slot("exp_avg_sq", Data::Tensor(filled(number)?));
    let group = OptimizerGroup::new(&ADAM, 0.01, 5e-5, vec![parameter]);
    let mut state = TrainingState::new();
    state.set_optimizer(&OptimizerState::new(&ADAM, vec![group]));
    state.set_completed_epoch(number);
    state.set_counters(&Counters {
        global_step: Some(number),
        committed_updates: Some(number),
        planned_n_epochs: Some(4),
    });
    Ok(state)
}
