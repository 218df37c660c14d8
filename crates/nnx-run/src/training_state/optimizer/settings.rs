//! The settings of a group of parameters, by name and in order.

use nnx_params::{Number, Value};

use super::algorithm::Optimizer;
use crate::training_state::data::Data;

/// The settings of a group of parameters, in the order in which PyTorch writes them; the list of
/// parameters is not one of them.
///
/// ```
/// use nnx_run::{Data, GroupSettings, Optimizer};
///
/// let sgd = Optimizer::Sgd { momentum: 0.9, nesterov: false };
/// let mut settings = GroupSettings::new();
/// settings.set("lr", Data::Float(0.1));
/// settings.set_defaults(&sgd.defaults(0.01, 0.0));
/// assert_eq!(settings.lr(), Some(0.1));
/// assert_eq!(settings.momentum(), Some(0.9));
/// ```
#[derive(Clone, Debug, Default)]
pub struct GroupSettings(Vec<(Data, Data)>);

impl GroupSettings {
    /// No settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Settings as they were read.
    pub(super) fn from_pairs(pairs: Vec<(Data, Data)>) -> Self {
        Self(pairs)
    }

    /// The settings as keys and values.
    pub(super) fn pairs(&self) -> &[(Data, Data)] {
        &self.0
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&Data> {
        let found = self.0.iter().find(|(key, _)| key.as_str() == Some(name));
        found.map(|(_, value)| value)
    }

    /// Sets a setting. A new one is added at the end.
    pub fn set(&mut self, name: &str, value: Data) {
        let mut settings = self.0.iter_mut();
        match settings.find(|(key, _)| key.as_str() == Some(name)) {
            Some((_, old)) => *old = value,
            None => self.0.push((Data::Str(name.to_owned()), value)),
        }
    }

    /// Adds the settings that are missing, at the end and in the order of `defaults`.
    pub fn set_defaults(&mut self, defaults: &Self) {
        for (key, value) in &defaults.0 {
            if let Some(name) = key.as_str()
                && self.get(name).is_none()
            {
                self.0.push((key.clone(), value.clone()));
            }
        }
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(key, _)| key.as_str())
    }

    /// A setting that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Data::as_f64)
    }

    /// The learning rate.
    pub fn lr(&self) -> Option<f64> {
        self.number("lr")
    }

    /// The weight decay.
    pub fn weight_decay(&self) -> Option<f64> {
        self.number("weight_decay")
    }

    /// The decay rates of the moments, in the Adam family.
    pub fn betas(&self) -> Option<(f64, f64)> {
        match self.get("betas").and_then(Data::items)? {
            [first, second] => Some((first.as_f64()?, second.as_f64()?)),
            _ => None,
        }
    }

    /// The momentum, in SGD.
    pub fn momentum(&self) -> Option<f64> {
        self.number("momentum")
    }
}

impl<K: Into<String>> FromIterator<(K, Data)> for GroupSettings {
    fn from_iter<I: IntoIterator<Item = (K, Data)>>(settings: I) -> Self {
        let mut all = Self::new();
        for (name, value) in settings {
            all.set(&name.into(), value);
        }
        all
    }
}

impl Optimizer {
    /// The settings of a group of this optimizer, in the order of PyTorch 2.15. An integer stays one.
    pub fn defaults(
        &self,
        lr: impl Into<Number>,
        weight_decay: impl Into<Number>,
    ) -> GroupSettings {
        let number = |number: Number| Data::from(&Value::from(number));
        let (lr, weight_decay) = (number(lr.into()), number(weight_decay.into()));
        match *self {
            Self::Adam {
                betas: (first, second),
                eps,
                amsgrad,
                decoupled_weight_decay,
            } => GroupSettings::from_iter([
                ("lr", lr),
                (
                    "betas",
                    Data::Tuple(vec![Data::Float(first), Data::Float(second)]),
                ),
                ("eps", Data::Float(eps)),
                ("weight_decay", weight_decay),
                ("amsgrad", Data::Bool(amsgrad)),
                ("maximize", Data::Bool(false)),
                ("foreach", Data::None),
                ("capturable", Data::Bool(false)),
                ("differentiable", Data::Bool(false)),
                ("fused", Data::None),
                ("decoupled_weight_decay", Data::Bool(decoupled_weight_decay)),
            ]),
            Self::Sgd { momentum, nesterov } => GroupSettings::from_iter([
                ("lr", lr),
                ("momentum", Data::Float(momentum)),
                ("dampening", Data::Int(0)),
                ("weight_decay", weight_decay),
                ("nesterov", Data::Bool(nesterov)),
                ("maximize", Data::Bool(false)),
                ("foreach", Data::None),
                ("differentiable", Data::Bool(false)),
                ("fused", Data::None),
            ]),
        }
    }
}
