//! Optimizers: they update parameters by their gradients.

mod adagrad;
mod adam;
mod algorithm;
mod blocks;
mod candle;
pub(crate) mod group;
mod groups;
mod in_place;
mod operations;
mod rms_prop;
mod settings;
mod sgd;
mod slots;
mod state;
#[cfg(test)]
mod tests;

use candle_core::DType;
use nnx_params::{Momentum, NNOptimParams, Optims};
use nnx_run::Optimizer as Algorithms;

use crate::error::{Error, Result};
use crate::gradients::Gradients;
use crate::parameter::Parameter;
use algorithm::Algorithm;
use group::{Member, ParameterGroup};

/// An optimizer of PyTorch: SGD with or without momentum, Nesterov's, Adam, AMSGrad and AdamW; from
/// a saved state also RMSprop and Adagrad.
///
/// Given the same gradients, an update is equal to PyTorch's to the bit: the same float32 operations in
/// the same order, fused where the kernels for AVX2 fuse them, and bias corrections in float64.
///
/// ```
/// use candle_core::{Device, Var};
/// use nnx_params::{NNOptimParams, Optims};
/// use nnx_train::{Gradients, Optimizer, Parameter};
///
/// let weight = Var::new(&[1f32, 2.0], &Device::Cpu)?;
/// let weight = Parameter::new("weight", weight);
/// let params = NNOptimParams::builder(Optims::Sgd, 0.5, 0.0, 0.0).build()?;
/// let mut optimizer = Optimizer::new(&params, vec![weight.clone()])?;
///
/// let mut gradients = Gradients::new();
/// gradients.set(&weight, vec![1.0, -1.0]);
/// optimizer.step(&gradients)?;
/// assert_eq!(weight.var.to_vec1::<f32>()?, [0.5, 2.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Optimizer {
    class: String,
    groups: Vec<ParameterGroup>,
}

impl Optimizer {
    /// An optimizer of parameters in the order of the state dict.
    ///
    /// Without `param_groups` there is one group of all parameters, frozen ones included. Otherwise each
    /// parameter that is trained is in the group of the first pattern that its name matches, and a last
    /// group has those that match none.
    ///
    /// # Errors
    /// When the momentum is not of the kind that the optimizer takes, a parameter is not of float32, or
    /// no group has a parameter.
    pub fn new(params: &NNOptimParams, parameters: Vec<Parameter>) -> Result<Self> {
        Self::build(params, parameters, false)
    }

    /// An optimizer of the parameters that a pattern of `param_groups` matches, and of no others, as
    /// each of several optimizers is.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn strict(params: &NNOptimParams, parameters: Vec<Parameter>) -> Result<Self> {
        Self::build(params, parameters, true)
    }

    fn build(params: &NNOptimParams, parameters: Vec<Parameter>, strict: bool) -> Result<Self> {
        let algorithm = algorithm_of(params)?;
        check_dtypes(&parameters)?;
        let defaults = algorithm.defaults(params.max_lr(), params.weight_decay());
        Ok(Self {
            class: algorithm.class().to_owned(),
            groups: groups::groups(params, parameters, &defaults, strict)?,
        })
    }

    /// The Python class, such as `torch.optim.adam.Adam`.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The groups, in order; there is at least one.
    pub fn groups(&self) -> &[ParameterGroup] {
        &self.groups
    }

    /// The groups, to change their settings.
    pub fn groups_mut(&mut self) -> &mut [ParameterGroup] {
        &mut self.groups
    }

    /// All parameters, group by group.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.groups.iter().flat_map(ParameterGroup::parameters)
    }

    /// The learning rate of the first group.
    pub fn learning_rate(&self) -> f64 {
        self.groups.first().map_or(f64::NAN, ParameterGroup::lr)
    }

    /// Updates each parameter that has a gradient. One that has none is left as it is, with all that is
    /// kept for it.
    ///
    /// # Errors
    /// When a setting is not valid, or a gradient has another number of elements than its parameter.
    /// Nothing was changed then.
    pub fn step(&mut self, gradients: &Gradients) -> Result<()> {
        let mut algorithms = Vec::new();
        for group in &self.groups {
            algorithms.push(Algorithm::read(&self.class, &group.settings)?);
            for parameter in group.parameters() {
                check_size(parameter, gradients)?;
            }
        }
        for (group, algorithm) in self.groups.iter_mut().zip(algorithms) {
            for Member { parameter, slots } in &mut group.members {
                if let Some(gradient) = gradients.get(parameter) {
                    in_place::change(&parameter.var, |weights| {
                        algorithm.update(weights, gradient, slots);
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn check_dtypes(parameters: &[Parameter]) -> Result<()> {
    match parameters.iter().find(|one| one.var.dtype() != DType::F32) {
        Some(Parameter { name, var, .. }) => Err(Error::configuration(format!(
            "expected parameters of float32, found {name} of {}",
            var.dtype().as_str()
        ))),
        None => Ok(()),
    }
}

fn check_size(parameter: &Parameter, gradients: &Gradients) -> Result<()> {
    let (name, expected) = (&parameter.name, parameter.var.elem_count());
    match gradients.get(parameter).map(<[f32]>::len) {
        Some(found) if found != expected => Err(Error::configuration(format!(
            "expected a gradient of {expected} elements for {name}, found {found}"
        ))),
        _ => Ok(()),
    }
}

/// The algorithm with the settings that all groups have in common.
fn algorithm_of(params: &NNOptimParams) -> Result<Algorithms> {
    let name = params.name();
    if !params.is_valid() {
        return Err(Error::configuration(format!(
            "expected {} as momentum of {name}, found {}",
            if name.is_sgd() {
                "a float"
            } else {
                "a tuple of two floats"
            },
            params.momentum()
        )));
    }
    match params.momentum() {
        Momentum::Single(momentum) => {
            let (momentum, nesterov) = (momentum.as_f64(), name == Optims::SgdNesterov);
            if nesterov && momentum <= 0.0 {
                return Err(Error::configuration(
                    "Nesterov momentum requires a momentum > 0, found 0.0",
                ));
            }
            Ok(Algorithms::Sgd { momentum, nesterov })
        }
        Momentum::Betas(first, second) => Ok(Algorithms::Adam {
            betas: (first.as_f64(), second.as_f64()),
            eps: params.eps(),
            amsgrad: name == Optims::AdamAmsgrad,
            decoupled_weight_decay: name == Optims::Adamw,
        }),
    }
}
