//! Where a training stood, in numbers.

use nnx_params::{State, Value};

use super::Data;

/// Where a training stood, in numbers; none where the writer kept no count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Batches so far.
    pub global_step: Option<i64>,
    /// Updates of the weights so far.
    pub committed_updates: Option<i64>,
    /// Epochs that the training is to have, those before it was resumed included.
    pub planned_n_epochs: Option<i64>,
}

const KEYS: [&str; 3] = ["global_step", "committed_updates", "planned_n_epochs"];

impl Counters {
    pub(crate) fn of_state(state: &State) -> Self {
        Self::of(|key| state.get(key).and_then(Value::as_int))
    }

    pub(super) fn of_data(data: &Data) -> Self {
        Self::of(|key| data.get(key).and_then(Data::as_int))
    }

    fn of(count: impl Fn(&str) -> Option<i128>) -> Self {
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
