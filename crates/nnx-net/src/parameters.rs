//! The parameters of a net: names, order, and where their first values come from.

use candle_core::{DType, Device, Var};
use indexmap::IndexMap;

use crate::error::{Error, ErrorKind, Result, ShapeMismatch, StateDictMismatch};
use crate::rng::Generator;
use crate::widen;

/// The parameters of a net under their names, in the order of Python's `state_dict()`, and the
/// paths of its modules.
#[derive(Clone, Debug)]
pub struct Parameters {
    entries: Vec<(String, Var)>,
    modules: Vec<String>,
}

impl Parameters {
    /// Name and value of each parameter; the value is shared with the net, not a copy.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Var)> {
        self.entries.iter().map(|(name, var)| (name.as_str(), var))
    }

    /// The parameter of that name.
    pub fn get(&self, name: &str) -> Option<&Var> {
        self.iter().find(|(key, _)| *key == name).map(|(_, v)| v)
    }

    /// The paths of the module tree, parents first: `""`, `layers`, `layers.0`.
    pub fn modules(&self) -> impl ExactSizeIterator<Item = &str> {
        self.modules.iter().map(String::as_str)
    }

    /// Name and value of each parameter, copied to the CPU.
    ///
    /// # Errors
    /// When a value cannot be brought to the CPU.
    pub(crate) fn tensors(&self) -> Result<Vec<(&str, nnx_checkpoint::Tensor)>> {
        self.iter()
            .map(|(name, var)| Ok((name, nnx_checkpoint::Tensor::try_from(var.as_tensor())?)))
            .collect()
    }
}

/// The entries of a state dict by name; none for a value that is no tensor.
pub(crate) type Values<'a> = IndexMap<&'a str, Option<&'a nnx_checkpoint::Tensor>>;

/// Hands a net its parameters while it is built, and remembers them in order.
///
/// The order of the calls is the order of the state dict and of the random draws.
#[derive(Debug)]
pub(crate) struct Builder<'a> {
    source: Source<'a>,
    device: Device,
    parameters: Parameters,
    mismatch: StateDictMismatch,
}

#[derive(Debug)]
enum Source<'a> {
    /// Each parameter by its own rule.
    Random(&'a mut Generator),
    /// Values that exist already.
    StateDict(Values<'a>),
}

/// How PyTorch fills a parameter that it has just made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Init {
    /// `kaiming_uniform_` with `a = sqrt(5)`: the weights of linear and convolution layers.
    KaimingUniform {
        /// Inputs that one output sums over.
        fan_in: usize,
    },
    /// Uniform within `1 / sqrt(fan_in)`: their biases.
    FanInUniform {
        /// Inputs that one output sums over.
        fan_in: usize,
    },
}

impl<'a> Builder<'a> {
    /// Fresh parameters, drawn from the generator.
    pub(crate) fn random(generator: &'a mut Generator, device: &Device) -> Self {
        Self::new(Source::Random(generator), device)
    }

    /// Parameters that take the values of a state dict, converted to float32.
    pub(crate) fn from_values(values: Values<'a>, device: &Device) -> Self {
        Self::new(Source::StateDict(values), device)
    }

    fn new(source: Source<'a>, device: &Device) -> Self {
        Self {
            source,
            device: device.clone(),
            parameters: Parameters {
                entries: Vec::new(),
                // The root is a module too.
                modules: vec![String::new()],
            },
            mismatch: StateDictMismatch::default(),
        }
    }

    /// Enters a module into the module tree.
    pub(crate) fn module(&mut self, path: impl Into<String>) {
        self.parameters.modules.push(path.into());
    }

    /// The next parameter, float32. One that the state dict cannot provide comes back empty, and
    /// [`finish`](Self::finish) reports it.
    ///
    /// # Errors
    /// When there is no memory for it, or its values have a dtype that is not supported.
    pub(crate) fn parameter(&mut self, name: String, shape: &[usize], init: Init) -> Result<Var> {
        let var = match &mut self.source {
            Source::Random(generator) => {
                Var::from_vec(init.draw(shape, generator)?, shape, &self.device)?
            }
            Source::StateDict(values) => {
                match fitting(values.get(name.as_str()), &name, shape, &mut self.mismatch) {
                    Some(tensor) => {
                        Var::from_tensor(&widen::float32(tensor)?.to_device(&self.device)?)?
                    }
                    // Nothing is allocated by a shape that no tensor in the file has.
                    None => Var::zeros(0, DType::F32, &self.device)?,
                }
            }
        };
        self.parameters.entries.push((name, var.clone()));
        Ok(var)
    }

    /// The parameters in order.
    ///
    /// # Errors
    /// When the state dict did not have exactly the parameters that were asked for, each in its
    /// shape.
    pub(crate) fn finish(mut self) -> Result<Parameters> {
        if let Source::StateDict(values) = &mut self.source {
            for (name, _) in &self.parameters.entries {
                values.shift_remove(name.as_str());
            }
            self.mismatch.unexpected = values.keys().map(|name| (*name).to_owned()).collect();
        }
        if self.mismatch.is_empty() {
            Ok(self.parameters)
        } else {
            Err(ErrorKind::StateDict(self.mismatch).into())
        }
    }
}

/// The tensor behind a name when it has the parameter's shape; else a note of what is wrong.
fn fitting<'a>(
    found: Option<&Option<&'a nnx_checkpoint::Tensor>>,
    name: &str,
    shape: &[usize],
    mismatch: &mut StateDictMismatch,
) -> Option<&'a nnx_checkpoint::Tensor> {
    match found {
        None => mismatch.missing.push(name.to_owned()),
        Some(None) => mismatch.not_tensors.push(name.to_owned()),
        Some(Some(tensor)) if tensor.shape() == shape => return Some(tensor),
        Some(Some(tensor)) => mismatch.misshaped.push(ShapeMismatch {
            name: name.to_owned(),
            expected: shape.to_vec(),
            found: tensor.shape().to_vec(),
        }),
    }
    None
}

impl Init {
    /// Draws the values of a parameter in row-major order.
    fn draw(self, shape: &[usize], generator: &mut Generator) -> Result<Vec<f32>> {
        let count = shape
            .iter()
            .try_fold(1_usize, |count, size| count.checked_mul(*size))
            .ok_or_else(|| Error::unsupported(format!("the sizes of `{shape:?}` overflow")))?;
        let bound = self.bound();
        generator.uniform_vec(count, -bound, bound)
    }

    /// The largest value drawn, computed in float64 step by step as PyTorch does and then rounded.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "PyTorch rounds at these places too"
    )]
    fn bound(self) -> f32 {
        let bound = match self {
            Self::KaimingUniform { fan_in } => {
                let gain = (2.0 / (1.0 + 5.0_f64.sqrt().powi(2))).sqrt();
                3.0_f64.sqrt() * (gain / (fan_in as f64).sqrt())
            }
            Self::FanInUniform { fan_in } => 1.0 / (fan_in as f64).sqrt(),
        };
        bound as f32
    }
}
