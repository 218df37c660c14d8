//! The saved state of a schedule.

use nnx_run::Data;

use super::saved::Saved;
use super::{Schedule, Scheduler};
use crate::error::{ErrorKind, Result};

impl Scheduler {
    /// The state in the form of PyTorch's `state_dict()`.
    pub fn state(&self) -> Data {
        let entries = self.entries().into_iter();
        let entries = entries.map(|(name, value)| (Data::Str(name.to_owned()), value));
        Data::Dict(entries.chain(self.unknown.iter().cloned()).collect())
    }

    fn entries(&self) -> Vec<(&'static str, Data)> {
        match &self.schedule {
            Schedule::Plateau(plateau) => plateau.state(),
            Schedule::Counting(counting) => counting.state(),
        }
    }

    /// Goes on from the state of a schedule of the same class; the rates themselves are in the
    /// optimizer's state. As in PyTorch, saved values replace configured ones, and a linear
    /// schedule keeps its configured steps.
    ///
    /// # Errors
    /// When it is not a state, or a value in it is of another type. Nothing is changed then.
    pub fn load_state(&mut self, state: &Data) -> Result<()> {
        let pairs = state.pairs().ok_or_else(|| {
            let what = "expected a mapping as the state of a schedule, found another value";
            ErrorKind::CannotResume {
                what: what.to_owned(),
            }
        })?;
        let saved = Saved(state);
        self.schedule = match self.schedule.clone() {
            Schedule::Plateau(plateau) => Schedule::Plateau(plateau.loaded(saved)?),
            Schedule::Counting(counting) => Schedule::Counting(counting.loaded(saved)?),
        };
        let known = self.entries();
        let is_unknown =
            |(key, _): &&(Data, Data)| known.iter().all(|(name, _)| key.as_str() != Some(name));
        self.unknown = pairs.iter().filter(is_unknown).cloned().collect();
        Ok(())
    }
}
