//! The interface between the loop and a model.

use std::collections::HashSet;

use candle_core::Tensor;
use nnx_checkpoint::{NNCheckpoint, StateDict, StateValue};
use nnx_net::{
    Batch, BatchOutput, BatchScore, EvaluateOptions, Generator, LossTerms, NNModel, NllInput,
};
use nnx_params::{NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NetParams};

use crate::error::{Error, Result};
use crate::parameter::Parameter;

/// A model that can be trained. [`NNModel`](nnx_net::NNModel) is one; any model of candle becomes
/// one with four methods: its configuration, its parameters by name, its random numbers, and a
/// forward pass.
///
/// The loss follows from [`params`](Self::params). A model that NNx does not build names itself there
/// with a [`ModelSpec`](nnx_params::ModelSpec), so that Python can resume its training if it
/// registers a model of that name.
pub trait Model {
    /// The net, the device and the loss of the model.
    fn params(&self) -> &NNModelParams;

    /// Every parameter once, in the order of the state dict. The variables are the model's own.
    fn parameters(&self) -> Vec<Parameter>;

    /// The default generator, from which loaders draw too.
    fn generator(&mut self) -> &mut Generator;

    /// The outputs of a batch. In training they must keep their way back to the parameters.
    ///
    /// # Errors
    /// When the batch is not what the model takes.
    fn forward(&mut self, batch: &Batch, training: bool) -> Result<Tensor>;

    /// The outputs and the targets that count.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    fn outputs(&mut self, batch: &Batch, training: bool) -> Result<BatchOutput> {
        let logits = self.forward(batch, training)?;
        Ok(BatchOutput::new(logits, batch.targets.clone()))
    }

    /// The loss of outputs, by [`params`](Self::params).
    ///
    /// # Errors
    /// When the targets do not go with the loss, the task or the outputs.
    fn loss_terms(&self, output: &BatchOutput) -> Result<LossTerms> {
        let nll = NllInput::default();
        let (logits, targets) = (&output.logits, &output.targets);
        Ok(nnx_net::batch_loss(self.params(), logits, targets, nll)?)
    }

    /// The metrics of outputs, without their loss.
    ///
    /// # Errors
    /// When the targets do not go with the loss or the task.
    fn score(&self, output: &BatchOutput, options: &EvaluateOptions<'_>) -> Result<BatchScore> {
        let (logits, targets) = (&output.logits, &output.targets);
        Ok(nnx_net::batch_score(
            self.params(),
            logits,
            targets,
            options,
        )?)
    }

    /// The configuration of the net, if it is one of NNx.
    fn net_params(&self) -> Option<&NetParams> {
        None
    }

    /// The recorded transforms that changed the net.
    fn transforms(&self) -> &[NNCheckpointTransform] {
        &[]
    }

    /// The weights as they are kept in checkpoints.
    ///
    /// # Errors
    /// When they cannot be brought to the CPU.
    fn state_dict(&self) -> Result<StateDict> {
        let tensors = self.parameters().into_iter().map(|parameter| {
            let value = nnx_checkpoint::Tensor::try_from(parameter.var.as_tensor())?;
            Ok((parameter.name, value))
        });
        tensors.collect()
    }

    /// Sets all weights.
    ///
    /// # Errors
    /// When the weights are not exactly those of the model; none is set then.
    fn load_state_dict(&mut self, state: &StateDict) -> Result<()> {
        let parameters = self.parameters();
        let mut found = Vec::new();
        for parameter in &parameters {
            let value = match state.get(&parameter.name) {
                Some(StateValue::Tensor(tensor)) => Some(tensor),
                _ => None,
            };
            let value = value.filter(|value| value.shape() == parameter.var.dims());
            let value = value.ok_or_else(|| {
                Error::resume(format!(
                    "the weights of the checkpoint have no `{}` of shape `{:?}`",
                    parameter.name,
                    parameter.var.dims()
                ))
            })?;
            found.push(Tensor::try_from(value)?);
        }
        if state.len() != parameters.len() {
            return Err(Error::resume(format!(
                "the checkpoint has {} weights, the model {}",
                state.len(),
                parameters.len()
            )));
        }
        for (parameter, value) in parameters.iter().zip(found) {
            let var = parameter.var.as_tensor();
            let value = value.to_dtype(var.dtype())?.to_device(var.device())?;
            parameter.var.set(&value)?;
        }
        Ok(())
    }
}

/// The checkpoint of a model at a point of its training.
///
/// # Errors
/// When the weights cannot be brought to the CPU.
pub(crate) fn checkpoint_of(
    model: &(dyn Model + '_),
    record: NNIterationDataPoint,
) -> Result<NNCheckpoint> {
    let mut checkpoint = NNCheckpoint::new(
        model.net_params().cloned(),
        model.state_dict()?,
        model.params().clone(),
        record,
    );
    checkpoint.transforms = model.transforms().to_vec();
    Ok(checkpoint)
}

impl Model for NNModel {
    fn params(&self) -> &NNModelParams {
        self.params()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let trained: HashSet<&str> = self.trainable().map(|(name, _)| name).collect();
        let all = self.net().parameters().distinct();
        let all = all.map(|(name, var)| Parameter {
            requires_grad: trained.contains(name),
            ..Parameter::new(name, var.clone())
        });
        all.collect()
    }

    fn generator(&mut self) -> &mut Generator {
        self.generator_mut()
    }

    fn forward(&mut self, batch: &Batch, training: bool) -> Result<Tensor> {
        let before = self.is_training();
        if training {
            self.train_mode();
        } else {
            self.eval_mode();
        }
        let logits = Self::forward(self, &batch.inputs);
        if before {
            self.train_mode();
        } else {
            self.eval_mode();
        }
        Ok(logits?)
    }

    fn outputs(&mut self, batch: &Batch, training: bool) -> Result<BatchOutput> {
        Ok(if training {
            self.train_batch(batch)?
        } else {
            self.evaluate_batch(batch)?
        })
    }

    fn net_params(&self) -> Option<&NetParams> {
        Some(self.net_params())
    }

    fn transforms(&self) -> &[NNCheckpointTransform] {
        self.transforms()
    }

    fn state_dict(&self) -> Result<StateDict> {
        Ok(self.state_dict()?)
    }

    fn load_state_dict(&mut self, state: &StateDict) -> Result<()> {
        self.load_state_dict(state, true)?;
        Ok(())
    }
}
