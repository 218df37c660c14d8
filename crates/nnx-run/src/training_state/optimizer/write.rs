//! To PyTorch's form, where parameters are numbered across all groups.

use super::{OptimizerGroup, OptimizerParameter, OptimizerState};
use crate::training_state::data::Data;

impl OptimizerState {
    /// The state in the form of PyTorch's `state_dict()`.
    pub(in crate::training_state) fn to_data(&self) -> Data {
        let (mut state, mut groups) = (Vec::new(), Vec::new());
        let mut number: i128 = 0;
        for group in &self.groups {
            let mut numbers = Vec::new();
            for parameter in &group.parameters {
                // As in PyTorch, a parameter without an update has no entry.
                if !parameter.slots.is_empty() {
                    state.push((Data::Int(number), Data::Dict(parameter.slots.clone())));
                }
                numbers.push(Data::Int(number));
                number = number.saturating_add(1);
            }
            let mut settings = group.settings.pairs().to_vec();
            settings.push((Data::Str("params".to_owned()), Data::List(numbers)));
            groups.push(Data::Dict(settings));
        }
        let mut pairs = vec![
            (Data::Str("state".to_owned()), Data::Dict(state)),
            (Data::Str("param_groups".to_owned()), Data::List(groups)),
        ];
        pairs.extend(self.extra.iter().cloned());
        Data::Dict(pairs)
    }

    /// The class, in the form in which NNx writes it beside the state.
    pub(in crate::training_state) fn type_data(&self) -> Data {
        let class = self.class.as_ref();
        class.map_or(Data::None, |class| Data::Str(class.clone()))
    }

    /// The names and shapes of the parameters by group, in the form in which NNx writes them beside
    /// the state.
    pub(in crate::training_state) fn topology_data(&self) -> Data {
        if !self.has_topology {
            return Data::None;
        }
        let groups = self.groups.iter().map(OptimizerGroup::topology);
        Data::List(groups.collect())
    }
}

impl OptimizerGroup {
    fn topology(&self) -> Data {
        let parameters = self.parameters.iter().map(OptimizerParameter::topology);
        Data::List(parameters.collect())
    }
}

impl OptimizerParameter {
    fn topology(&self) -> Data {
        let sizes = |shape: &Vec<usize>| {
            Data::List(shape.iter().map(|&size| Data::Int(size as i128)).collect())
        };
        Data::dict([
            ("name", self.name.clone().map_or(Data::None, Data::Str)),
            // A parameter that is made on first use has no shape yet.
            ("shape", self.shape.as_ref().map_or(Data::None, sizes)),
        ])
    }
}
