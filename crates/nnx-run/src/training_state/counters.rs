//! The progress of a training in numbers.

use nnx_params::{State, Value};

use super::data::Data;

/// The progress of a training in numbers; `None` for a number that was not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of batches so far.
    pub global_step: Option<i64>,
    /// The number of updates of the weights so far.
    pub committed_updates: Option<i64>,
    /// The number of epochs that the training will have, including those before it was resumed.
    pub planned_n_epochs: Option<i64>,
}

const KEYS: [&str; 3] = ["global_step", "committed_updates", "planned_n_epochs"];

impl Counters {
    pub(crate) fn from_state(state: &State) -> Self {
        Self::from_lookup(|key| state.get(key).and_then(Value::as_int))
    }

    pub(super) fn from_data(data: &Data) -> Self {
        Self::from_lookup(|key| data.get(key).and_then(Data::as_int))
    }

    fn from_lookup(count: impl Fn(&str) -> Option<i128>) -> Self {
        let count = |key| count(key).and_then(|count| i64::try_from(count).ok());
        let [global_step, committed_updates, planned_n_epochs] = KEYS.map(count);
        Self {
            global_step,
            committed_updates,
            planned_n_epochs,
        }
    }

    pub(super) fn to_data(self) -> Data {
        let counts = [
            self.global_step,
            self.committed_updates,
            self.planned_n_epochs,
        ];
        let data = |count: Option<i64>| count.map_or(Data::None, |count| Data::Int(count.into()));
        Data::dict(KEYS.into_iter().zip(counts.map(data)))
    }
}
