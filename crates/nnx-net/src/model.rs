//! A net with the configuration that made it.

use std::sync::{Mutex, PoisonError};

use candle_core::{Device, Tensor};
use nnx_checkpoint::{Modules, NNCheckpoint, StateDict, StateValue};
use nnx_params::{Devices, NNIterationDataPoint, NNModelParams, NetParams};

use crate::device;
use crate::error::{Error, Result};
use crate::net::{self, Mode, Net};
use crate::parameters::{Builder, Values};
use crate::precision::Precision;
use crate::predict::{Decoding, Prediction};
use crate::rng::Generator;

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
    device: Device,
    net: Box<dyn Net>,
    decoding: Decoding,
    precision: Precision,
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
        let builder = Builder::random(&mut generator, &device);
        let mut model = Self::assemble(net_params, params, device.clone(), builder)?;
        model.generator = Mutex::new(generator);
        Ok(model)
    }

    /// The model of a checkpoint, on the device that the checkpoint names.
    ///
    /// # Errors
    /// - [`ErrorKind::StateDict`](crate::ErrorKind::StateDict) when the weights are not exactly
    ///   those of the net, with every name that differs.
    /// - [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when the checkpoint records
    ///   transforms, its net is not one of this version, a weight has a dtype that does not
    ///   convert, or the device cannot be used.
    /// - [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when the configurations do
    ///   not belong together.
    pub fn from_checkpoint(checkpoint: &NNCheckpoint) -> Result<Self> {
        Self::from_checkpoint_on(checkpoint, checkpoint.model_params.device())
    }

    /// The model of a checkpoint on a device of your choice, which becomes that of its
    /// [`params`](Self::params).
    ///
    /// # Errors
    /// As for [`from_checkpoint`](Self::from_checkpoint).
    pub fn from_checkpoint_on(checkpoint: &NNCheckpoint, device: Devices) -> Result<Self> {
        if !checkpoint.transforms.is_empty() {
            let names: Vec<_> = checkpoint.transforms.iter().map(|t| t.name()).collect();
            return Err(Error::unsupported(format!(
                "the checkpoint's weights belong to a net changed by `{}`, which this version does \
                 not replay",
                names.join("`, `")
            )));
        }
        let params = on_device(&checkpoint.model_params, device)?;
        let net_params = checkpoint.net_params.clone().ok_or_else(|| {
            // A net without parameters is one that Python code builds; its name says more.
            net::kind(params.net())
                .err()
                .unwrap_or_else(|| Error::configuration("the checkpoint has no net parameters"))
        })?;
        Self::from_state_dict(net_params, params, &checkpoint.net_state)
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
        let device = device::open(params.device())?;
        let values: Values<'_> = state
            .iter()
            .map(|(name, value)| match value {
                StateValue::Tensor(tensor) => (name, Some(tensor)),
                StateValue::Object(_) => (name, None),
            })
            .collect();
        let builder = Builder::from_values(values, &device);
        Self::assemble(net_params, params, device.clone(), builder)
    }

    fn assemble(
        net_params: NetParams,
        params: NNModelParams,
        device: Device,
        builder: Builder<'_>,
    ) -> Result<Self> {
        let kind = net::kind(params.net())?;
        let outputs = net_params.base().output_dim();
        Ok(Self {
            decoding: Decoding::of(params.loss(), params.task(), outputs)?,
            precision: Precision::of(params.precision(), params.device())?,
            net: net::build(kind, &net_params, builder)?,
            net_params,
            params,
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
        Ok(NNCheckpoint::new(
            Some(self.net_params.clone()),
            self.state_dict()?,
            self.params.clone(),
            idp,
        ))
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
        Ok(state.with_modules(Modules::Versions(modules)))
    }

    /// Runs the net, in the model's mode, on a float32 input.
    ///
    /// The input is brought to the model's device; the logits stay there.
    ///
    /// # Errors
    /// When the input is not what the net takes; the error names both.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let input = input.to_device(&self.device)?;
        if self.training {
            let mut generator = self
                .generator
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.net.forward(&[input], &mut Mode::Train(&mut generator))
        } else {
            self.net.forward(&[input], &mut Mode::Eval)
        }
    }

    /// Runs the net in evaluation mode, whatever the model's mode, and decodes its logits.
    ///
    /// # Errors
    /// When the input is not what the net takes, or the model's precision policy asks for
    /// predictions in less than float32.
    pub fn predict(&self, input: &Tensor) -> Result<Prediction> {
        if let Precision::Autocast(mode) = self.precision {
            return Err(Error::unsupported(format!(
                "predictions in precision `{mode}` are not supported, `forward` runs in float32"
            )));
        }
        let input = input.to_device(&self.device)?;
        let logits = self.net.forward(&[input], &mut Mode::Eval)?;
        let logits = logits.detach().to_device(&Device::Cpu)?;
        Ok(Prediction {
            classes: self.decoding.classes(&logits)?,
            logits,
        })
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
        self.generator = Mutex::new(Generator::new(seed));
    }

    /// The configuration of the net.
    pub fn net_params(&self) -> &NetParams {
        &self.net_params
    }

    /// The configuration of the model.
    pub fn params(&self) -> &NNModelParams {
        &self.params
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

/// The same configuration with another device; what this version does not know stays in it.
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
