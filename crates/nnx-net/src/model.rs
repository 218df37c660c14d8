//! A net with the configuration that made it.

mod adapter;
pub(crate) mod evaluate;
mod export;
mod freeze;
mod outputs;
mod recipe;
pub(crate) mod summary;
mod task_batch;
mod task_record;
mod totals;

use std::sync::{Mutex, MutexGuard, PoisonError};

use candle_core::{Device, Tensor};
use nnx_checkpoint::{NNCheckpoint, StateDict, StateDictMetadata, StateDictMismatch, StateValue};
use nnx_params::{
    Devices, NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NetParams, TaskKind,
};

use crate::device;
use crate::error::{Error, Result};
use crate::freed_memory;
use crate::frozen::Frozen;
use crate::inputs::Inputs;
use crate::key_value_cache::KeyValueCache;
use crate::mode::Mode;
use crate::net::{self, Net};
use crate::param_builder::ParamBuilder;
use crate::parameters::Values;
use crate::precision::Precision;
use crate::predict::{Decoding, Prediction, logit};
use crate::probability::{PredictionResult, ProbabilitySpec};
use crate::rng::Generator;
use crate::transforms::LayerTransforms;

/// A network with its configuration: NNx's `NNModel`.
///
/// A model starts in evaluation mode; see [`train_mode`](Self::train_mode).
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_net::NNModel;
/// use nnx_params::{Activations, NNModelParams, NNParams, Nets};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let net_params = NNParams::builder(4, 2)
///     .hidden_dims([8])
///     .activation(Activations::Relu)
///     .dropout_prob(0.0)
///     .build()?;
/// let params = NNModelParams::builder(Nets::FeedFwd).build()?;
/// let model = NNModel::new(net_params.into(), params, 0)?;
///
/// let input = Tensor::new(&[[1_f32, 2.0, 3.0, 4.0]], &Device::Cpu)?;
/// let prediction = model.predict(&input)?;
/// assert_eq!(prediction.logits.dims(), [1, 2]);
/// assert_eq!(prediction.classes.dims(), [1]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NNModel {
    net_params: NetParams,
    params: NNModelParams,
    transforms: Vec<NNCheckpointTransform>,
    device: Device,
    net: Box<dyn Net>,
    decoding: Decoding,
    precision: Precision,
    frozen: Frozen,
    training: bool,
    generator: Mutex<Generator>,
}

impl NNModel {
    /// A fresh model with the weights that Python's has on the CPU after
    /// `torch.manual_seed(seed)`, bit for bit.
    ///
    /// # Errors
    /// When the configurations do not belong together, the net is not one of this version, or the
    /// device cannot be used.
    pub fn new(net_params: NetParams, params: NNModelParams, seed: u64) -> Result<Self> {
        let device = device::open(params.device())?;
        let mut generator = Generator::new(seed);
        let builder = ParamBuilder::random(&mut generator, &device);
        let mut model = Self::assemble(net_params, params, device.clone(), builder)?;
        model.generator = Mutex::new(generator);
        Ok(model)
    }

    /// A fresh model whose layers are then changed: [`new`](Self::new) and
    /// [`apply_transforms`](Self::apply_transforms).
    ///
    /// # Errors
    /// As for [`new`](Self::new), and when a transform is unknown or does not fit the net.
    pub fn with_transforms(
        net_params: NetParams,
        params: NNModelParams,
        transforms: &[NNCheckpointTransform],
        seed: u64,
    ) -> Result<Self> {
        let mut model = Self::new(net_params, params, seed)?;
        model.apply_transforms(transforms)?;
        Ok(model)
    }

    /// The model of a checkpoint, on the device that the checkpoint names. Recorded transforms
    /// (`lora`, `low_rank`) are replayed before the weights are loaded.
    ///
    /// # Errors
    /// - [`ErrorKind::WrongWeights`](crate::ErrorKind::WrongWeights) when the weights are not exactly
    ///   those of the net, with every name that differs.
    /// - [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when the checkpoint records
    ///   a transform that is not replayed, its net is not one of this version, a weight has a dtype
    ///   that does not convert, or the device cannot be used.
    /// - [`ErrorKind::InvalidConfiguration`](crate::ErrorKind::InvalidConfiguration) when the configurations do
    ///   not belong together, or a transform does not fit the net.
    pub fn from_checkpoint(checkpoint: &NNCheckpoint) -> Result<Self> {
        Self::from_checkpoint_on(checkpoint, checkpoint.model_params.device())
    }

    /// The model of a checkpoint on a device of your choice, which becomes that of its
    /// [`params`](Self::params).
    ///
    /// # Errors
    /// As for [`from_checkpoint`](Self::from_checkpoint).
    pub fn from_checkpoint_on(checkpoint: &NNCheckpoint, device: Devices) -> Result<Self> {
        let params = on_device(&checkpoint.model_params, device)?;
        let net_params = checkpoint.net_params.clone().ok_or_else(|| {
            // A net without parameters is one that Python code builds; its name says more.
            net::kind(params.net())
                .err()
                .unwrap_or_else(|| Error::configuration("the checkpoint has no net parameters"))
        })?;
        Self::replayed(
            net_params,
            params,
            &checkpoint.transforms,
            &checkpoint.net_state,
        )
    }

    /// A model with the weights of a state dict, whatever their float dtype, in float32.
    ///
    /// # Errors
    /// As for [`from_checkpoint`](Self::from_checkpoint).
    pub fn from_state_dict(
        net_params: NetParams,
        params: NNModelParams,
        state: &StateDict,
    ) -> Result<Self> {
        Self::replayed(net_params, params, &[], state)
    }

    /// A model whose layers are transformed before its weights are loaded.
    fn replayed(
        net_params: NetParams,
        params: NNModelParams,
        transforms: &[NNCheckpointTransform],
        state: &StateDict,
    ) -> Result<Self> {
        let device = device::open(params.device())?;
        let values = values_of(state);
        let replayed = LayerTransforms::parse(transforms)?;
        let builder = ParamBuilder::from_values(values, replayed, &device);
        let mut model = Self::assemble(net_params, params, device.clone(), builder)?;
        model.transforms = transforms.to_vec();
        Ok(model)
    }

    fn assemble(
        net_params: NetParams,
        params: NNModelParams,
        device: Device,
        builder: ParamBuilder<'_>,
    ) -> Result<Self> {
        let kind = net::kind(params.net())?;
        let outputs = net_params.base().output_dim();
        let decoding = Decoding::new(kind, params.loss(), params.task(), outputs)?;
        let precision = Precision::from_policy(params.precision(), params.device())?;
        let net = net::build(kind, &net_params, builder)?;
        freed_memory::keep();
        Ok(Self {
            decoding,
            precision,
            frozen: Frozen::from_lora(net.parameters()),
            net,
            net_params,
            params,
            transforms: Vec::new(),
            device,
            training: false,
            generator: Mutex::new(Generator::new(0)),
        })
    }

    /// The checkpoint of the model's weights as they are now, taken at a point of training.
    ///
    /// # Errors
    /// When the weights cannot be brought to the CPU.
    pub fn checkpoint(&self, idp: NNIterationDataPoint) -> Result<NNCheckpoint> {
        let mut checkpoint = NNCheckpoint::new(
            Some(self.net_params.clone()),
            self.state_dict()?,
            self.params.clone(),
            idp,
        );
        checkpoint.transforms.clone_from(&self.transforms);
        Ok(checkpoint)
    }

    /// The weights as Python's `model.net.state_dict()` gives them: names, order and module tree.
    /// The values are copied.
    ///
    /// # Errors
    /// When the weights cannot be brought to the CPU.
    pub fn state_dict(&self) -> Result<StateDict> {
        let parameters = self.net.parameters();
        let modules = parameters
            .modules()
            .map(|path| (path.to_owned(), MODULE_VERSION))
            .collect();
        let state: StateDict = parameters.tensors()?.into_iter().collect();
        Ok(state.with_modules(StateDictMetadata::Versions(modules)))
    }

    /// Sets the weights that a state dict has, whatever their float dtype, and tells what did not
    /// fit.
    ///
    /// # Errors
    /// [`ErrorKind::WrongWeights`](crate::ErrorKind::WrongWeights) when a tensor has another shape or is
    /// none, or, where `strict`, names are missing or unexpected; no weight is set then.
    pub fn load_state_dict(
        &mut self,
        state: &StateDict,
        strict: bool,
    ) -> Result<StateDictMismatch> {
        self.net.parameters().load(&values_of(state), strict)
    }

    /// Runs the net, in the model's mode; [`Inputs`] lists the inputs of each net.
    ///
    /// The inputs are brought to the model's device; the logits stay there.
    ///
    /// # Errors
    /// When the inputs are not what the net takes; the error names both.
    pub fn forward<'a>(&self, inputs: impl Into<Inputs<'a>>) -> Result<Tensor> {
        Ok(self.forward_balanced(inputs)?.0)
    }

    /// [`forward`](Self::forward), and how unevenly each layer of experts was used; see
    /// [`Net::forward_balanced`].
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn forward_balanced<'a>(
        &self,
        inputs: impl Into<Inputs<'a>>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let inputs = self.inputs(inputs.into())?;
        if self.training {
            self.net
                .forward_balanced(&inputs, &mut Mode::Train(&mut self.generator()))
        } else {
            self.net.forward_balanced(&inputs, &mut Mode::Eval)
        }
    }

    /// The logits of tokens that follow those of the cache, in evaluation mode.
    ///
    /// # Errors
    /// When the net is no transformer, the tokens are not what it takes, or the cache and they are
    /// longer together than `max_seq_len`.
    pub fn forward_with_cache(&self, tokens: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let tokens = tokens.to_device(&self.device)?;
        self.net.forward_with_cache(&tokens, cache)
    }

    fn inputs(&self, inputs: Inputs<'_>) -> Result<Vec<Tensor>> {
        let moved = |input: &Tensor| Ok(input.to_device(&self.device)?);
        inputs.tensors().iter().map(moved).collect()
    }

    /// Runs the net in evaluation mode, whatever the model's mode, and decodes its logits.
    ///
    /// # Errors
    /// When the inputs are not what the net takes, or the model's precision policy asks for
    /// predictions in less than float32.
    pub fn predict<'a>(&self, inputs: impl Into<Inputs<'a>>) -> Result<Prediction> {
        let logits = self.logits(inputs.into())?;
        Ok(Prediction {
            classes: self.decoding.classes(&logits)?,
            logits,
        })
    }

    /// Runs the net in evaluation mode and turns its logits into probabilities, as the spec says
    /// or, without one, the model's task.
    ///
    /// # Errors
    /// As for [`predict`](Self::predict), and when there is neither a spec nor a task, the spec
    /// does not fit the logits, or a logit is not finite.
    pub fn predict_proba<'a>(
        &self,
        inputs: impl Into<Inputs<'a>>,
        spec: Option<&ProbabilitySpec>,
    ) -> Result<PredictionResult> {
        let logits = self.logits(inputs.into())?;
        if let Some(spec) = spec {
            return spec.apply(logits);
        }
        let Some(task) = self.params.task() else {
            return Err(Error::configuration(
                "probabilities need a `ProbabilitySpec`, or a model with a task",
            ));
        };
        let spec = match task.kind() {
            TaskKind::Categorical => ProbabilitySpec::categorical(),
            TaskKind::Multilabel => ProbabilitySpec::bernoulli_from(logit(task.threshold())),
            TaskKind::Regression => {
                return Ok(PredictionResult {
                    decoded: logits.clone(),
                    probabilities: None,
                    logits,
                });
            }
        };
        let spec = spec.class_axis(1);
        match task.labels() {
            Some(labels) => spec.labels(labels.to_vec()),
            None => spec,
        }
        .apply(logits)
    }

    /// The outputs in evaluation mode, on the CPU.
    fn logits(&self, inputs: Inputs<'_>) -> Result<Tensor> {
        self.full_precision()?;
        let inputs = self.inputs(inputs)?;
        let logits = self.net.forward(&inputs, &mut Mode::Eval)?;
        Ok(logits.detach().to_device(&Device::Cpu)?)
    }

    /// # Errors
    /// When the model's precision policy asks for predictions in less than float32.
    fn full_precision(&self) -> Result<()> {
        match self.precision {
            Precision::Full => Ok(()),
            Precision::Autocast(mode) => Err(Error::unsupported(format!(
                "predictions in precision `{mode}` are not supported, `forward` runs in float32"
            ))),
        }
    }

    /// Switches to training mode: [`forward`](Self::forward) drops elements where the net has
    /// dropout, and candle can compute gradients of the parameters.
    ///
    /// A model starts in evaluation mode, unlike Python's, whose net starts in training mode.
    pub fn train_mode(&mut self) {
        self.training = true;
    }

    /// Switches to evaluation mode: no dropout, no gradients of the parameters.
    pub fn eval_mode(&mut self) {
        self.training = false;
    }

    /// Whether the model is in training mode.
    pub fn is_training(&self) -> bool {
        self.training
    }

    /// Restarts the random numbers that dropout draws. They otherwise follow those of the initial
    /// weights, or the seed 0 in a model with given weights.
    pub fn seed(&mut self, seed: u64) {
        self.set_generator(Generator::new(seed));
    }

    /// The random numbers of the model, which drew its initial weights: PyTorch's default generator.
    /// Dropout draws from it, and so do loaders of batches. It is locked as long as the guard lives.
    pub fn generator(&self) -> MutexGuard<'_, Generator> {
        let generator = self.generator.lock();
        generator.unwrap_or_else(PoisonError::into_inner)
    }

    /// [`generator`](Self::generator), without a lock.
    pub fn generator_mut(&mut self) -> &mut Generator {
        let generator = self.generator.get_mut();
        generator.unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the [`generator`](Self::generator).
    pub fn set_generator(&mut self, generator: Generator) {
        self.generator = Mutex::new(generator);
    }

    /// The configuration of the net.
    pub fn net_params(&self) -> &NetParams {
        &self.net_params
    }

    /// The configuration of the model.
    pub fn params(&self) -> &NNModelParams {
        &self.params
    }

    /// The recorded transforms that changed the net's layers.
    pub fn transforms(&self) -> &[NNCheckpointTransform] {
        &self.transforms
    }

    /// The net itself.
    pub fn net(&self) -> &dyn Net {
        self.net.as_ref()
    }

    /// Where the model computes.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

fn values_of(state: &StateDict) -> Values<'_> {
    state
        .iter()
        .map(|(name, value)| match value {
            StateValue::Tensor(tensor) => (name, Some(tensor)),
            StateValue::Object(_) => (name, None),
        })
        .collect()
}

/// The same configuration with another device; keys that this version does not know stay in it.
fn on_device(params: &NNModelParams, device: Devices) -> Result<NNModelParams> {
    if params.device() == device {
        return Ok(params.clone());
    }
    let mut state = params.full_state()?;
    state.insert("device", device.value());
    Ok(NNModelParams::from_state(&state)?)
}

/// The version that PyTorch gives the layout of each of NNx's modules.
const MODULE_VERSION: i64 = 1;

#[cfg(test)]
mod tests;
