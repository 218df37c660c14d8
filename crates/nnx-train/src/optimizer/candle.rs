//! Training any candle model: candle's trait of optimizers.

use candle_core::backprop::GradStore;
use candle_core::{Error, Result, Var};
use nnx_params::NNOptimParams;

use super::Optimizer;
use crate::gradients::Gradients;
use crate::parameter::Parameter;

/// The optimizer of any candle model. A variable is named by its number, and the patterns of groups
/// match this name; [`Optimizer::new`] takes names.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use candle_nn::{Module, Optimizer as _, VarBuilder, VarMap};
/// use nnx_params::{NNOptimParams, Optims};
/// use nnx_train::Optimizer;
///
/// let variables = VarMap::new();
/// let builder = VarBuilder::from_varmap(&variables, candle_core::DType::F32, &Device::Cpu);
/// let model = candle_nn::linear(2, 1, builder)?;
///
/// let params = NNOptimParams::builder(Optims::Adamw, 0.05, (0.9, 0.999), 0.01).build()?;
/// let mut optimizer: Optimizer = candle_nn::Optimizer::new(variables.all_vars(), params)?;
/// let inputs = Tensor::new(&[[0f32, 1.0], [1.0, 0.0], [1.0, 1.0]], &Device::Cpu)?;
/// let targets = Tensor::new(&[[1f32], [2.0], [3.0]], &Device::Cpu)?;
/// let loss = || candle_nn::loss::mse(&model.forward(&inputs)?, &targets);
/// let before = loss()?.to_scalar::<f32>()?;
/// for _ in 0..50 {
///     optimizer.backward_step(&loss()?)?;
/// }
/// assert!(loss()?.to_scalar::<f32>()? < before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl candle_nn::Optimizer for Optimizer {
    type Config = NNOptimParams;

    fn new(vars: Vec<Var>, params: NNOptimParams) -> Result<Self> {
        let vars = vars.into_iter().enumerate();
        let parameters = vars.map(|(number, var)| Parameter::new(number.to_string(), var));
        Self::new(&params, parameters.collect()).map_err(Error::wrap)
    }

    fn step(&mut self, grads: &GradStore) -> Result<()> {
        let mut gradients = Gradients::new();
        let added = gradients.add(self.parameters(), grads);
        added.map_err(Error::wrap)?;
        Self::step(self, &gradients).map_err(Error::wrap)
    }

    fn learning_rate(&self) -> f64 {
        Self::learning_rate(self)
    }

    /// Sets the rate of every group.
    fn set_learning_rate(&mut self, lr: f64) {
        for group in self.groups_mut() {
            group.set_lr(lr);
        }
    }
}
