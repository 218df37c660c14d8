//! The state of an optimizer, by groups and named parameters.

pub(crate) mod algorithm;
mod read;
pub(crate) mod settings;
mod write;

use nnx_checkpoint::Tensor;

use super::data::Data;
use algorithm::{Algorithm, Optimizer};
use settings::GroupSettings;

/// The state of an optimizer in the form of PyTorch's `state_dict()`, together with the names and
/// shapes of the parameters, which NNx keeps beside it.
///
/// ```
/// use nnx_run::{Algorithm, Optimizer, OptimizerGroup, OptimizerParameter, OptimizerState};
///
/// let parameter = OptimizerParameter::new("layers.0.bias", &[5]);
/// let adam = Optimizer::Adam {
///     betas: (0.9, 0.999),
///     eps: 1e-8,
///     amsgrad: false,
///     decoupled_weight_decay: false,
/// };
/// let group = OptimizerGroup::new(&adam, 0.01, 5e-5, vec![parameter]);
/// let state = OptimizerState::new(&adam, vec![group]);
/// assert_eq!(state.algorithm(), Some(Algorithm::Adam));
/// assert_eq!(state.class(), Some("torch.optim.adam.Adam"));
/// ```
#[derive(Clone, Debug)]
pub struct OptimizerState {
    class: Option<String>,
    groups: Vec<OptimizerGroup>,
    /// Whether the names and shapes of the parameters are known.
    has_topology: bool,
    /// The other entries of the state.
    extra: Vec<(Data, Data)>,
}

/// Parameters with the same settings.
#[derive(Clone, Debug)]
pub struct OptimizerGroup {
    settings: GroupSettings,
    parameters: Vec<OptimizerParameter>,
}

/// The state of an optimizer for one parameter.
#[derive(Clone, Debug)]
pub struct OptimizerParameter {
    name: Option<String>,
    shape: Option<Vec<usize>>,
    slots: Vec<(Data, Data)>,
}

impl OptimizerState {
    /// The state of an optimizer.
    pub fn new(optimizer: &Optimizer, groups: Vec<OptimizerGroup>) -> Self {
        Self::with_class(optimizer.class(), groups)
    }

    /// The state of an optimizer of that Python class, which need not be one that this crate knows.
    pub fn with_class(class: &str, groups: Vec<OptimizerGroup>) -> Self {
        Self {
            class: Some(class.to_owned()),
            groups,
            has_topology: true,
            extra: Vec::new(),
        }
    }

    /// The Python class of the optimizer, if it is known.
    pub fn class(&self) -> Option<&str> {
        self.class.as_deref()
    }

    /// Whether the names and shapes of the parameters are known.
    pub fn has_topology(&self) -> bool {
        self.has_topology
    }

    /// The algorithm, if class and settings are those of an algorithm that this crate knows.
    pub fn algorithm(&self) -> Option<Algorithm> {
        let group = self.groups.first()?;
        let is_set = |name: &str| group.setting(name).and_then(Data::as_bool) == Some(true);
        Algorithm::from_class(self.class()?, is_set)
    }

    /// The groups, in order.
    pub fn groups(&self) -> &[OptimizerGroup] {
        &self.groups
    }

    /// The state for the parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&OptimizerParameter> {
        let mut parameters = self.groups.iter().flat_map(OptimizerGroup::parameters);
        parameters.find(|parameter| parameter.name() == Some(name))
    }
}

impl OptimizerGroup {
    /// A group of parameters with the settings that a group of that optimizer has in PyTorch 2.15.
    pub fn new(
        optimizer: &Optimizer,
        lr: f64,
        weight_decay: f64,
        parameters: Vec<OptimizerParameter>,
    ) -> Self {
        Self::with_settings(optimizer.defaults(lr, weight_decay), parameters)
    }

    /// A group of parameters with these settings.
    pub fn with_settings(settings: GroupSettings, parameters: Vec<OptimizerParameter>) -> Self {
        Self {
            settings,
            parameters,
        }
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[OptimizerParameter] {
        &self.parameters
    }

    /// The settings, in order.
    pub fn settings(&self) -> &GroupSettings {
        &self.settings
    }

    /// A setting, such as `betas`.
    pub fn setting(&self, name: &str) -> Option<&Data> {
        self.settings.get(name)
    }

    /// Sets a setting. A new one is added at the end.
    pub fn set_setting(&mut self, name: &str, value: Data) {
        self.settings.set(name, value);
    }

    /// The learning rate.
    pub fn lr(&self) -> Option<f64> {
        self.settings.lr()
    }

    /// The weight decay.
    pub fn weight_decay(&self) -> Option<f64> {
        self.settings.weight_decay()
    }

    /// The decay rates of the moments, in the Adam family.
    pub fn betas(&self) -> Option<(f64, f64)> {
        self.settings.betas()
    }

    /// The momentum, in SGD.
    pub fn momentum(&self) -> Option<f64> {
        self.settings.momentum()
    }
}

impl OptimizerParameter {
    /// A parameter for which nothing is kept yet.
    pub fn new(name: &str, shape: &[usize]) -> Self {
        Self {
            name: Some(name.to_owned()),
            shape: Some(shape.to_vec()),
            slots: Vec::new(),
        }
    }

    /// The name within the net, if it is known.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The shape, if it is known.
    pub fn shape(&self) -> Option<&[usize]> {
        self.shape.as_deref()
    }

    /// The value under a name, such as `exp_avg`.
    pub fn slot(&self, name: &str) -> Option<&Data> {
        let mut slots = self.slots.iter();
        let found = slots.find(|(key, _)| key.as_str() == Some(name));
        found.map(|(_, value)| value)
    }

    /// The names of the values, in order.
    pub fn slot_names(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().filter_map(|(name, _)| name.as_str())
    }

    /// Sets the value under a name. A new one is added at the end.
    pub fn set_slot(&mut self, name: &str, value: Data) {
        let mut slots = self.slots.iter_mut();
        match slots.find(|(key, _)| key.as_str() == Some(name)) {
            Some((_, old)) => *old = value,
            None => self.slots.push((Data::Str(name.to_owned()), value)),
        }
    }

    /// The number of updates, in the Adam family.
    pub fn step(&self) -> Option<f64> {
        self.slot("step").and_then(Data::as_f64)
    }

    /// The moving average of the gradient, in the Adam family.
    pub fn exp_avg(&self) -> Option<&Tensor> {
        self.slot("exp_avg").and_then(Data::as_tensor)
    }

    /// The moving average of the squared gradient, in the Adam family.
    pub fn exp_avg_sq(&self) -> Option<&Tensor> {
        self.slot("exp_avg_sq").and_then(Data::as_tensor)
    }

    /// The maximum of [`exp_avg_sq`](Self::exp_avg_sq) so far, in AMSGrad.
    pub fn max_exp_avg_sq(&self) -> Option<&Tensor> {
        self.slot("max_exp_avg_sq").and_then(Data::as_tensor)
    }

    /// The accumulated gradient, in SGD with momentum.
    pub fn momentum_buffer(&self) -> Option<&Tensor> {
        self.slot("momentum_buffer").and_then(Data::as_tensor)
    }
}
