//! The values that a `.metadata`'s pickle remembers.

use super::{check_objects, not_metadata};
use crate::Limits;
use crate::distributed::dcp::tables::make_room;
use crate::distributed::dcp::value::Value;
use crate::error::Result;

/// Values by the indices under which a pickle stored them.
pub(super) struct Memo<'a> {
    limits: &'a Limits,
    values: Vec<Value>,
}

impl<'a> Memo<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        let values = Vec::new();
        Self { limits, values }
    }

    /// Stores a value; without an index, under the next one.
    pub(super) fn put(&mut self, index: Option<u64>, value: Value) -> Result<()> {
        let next = self.values.len();
        let index = index.map_or(next, |index| usize::try_from(index).unwrap_or(usize::MAX));
        if let Some(slot) = self.values.get_mut(index) {
            *slot = value;
            return Ok(());
        }
        if index != next {
            return Err(not_metadata("a pickle whose memo has gaps"));
        }
        // Half of the objects of a writer are stored.
        check_objects(self.limits, next as u64 / 2)?;
        make_room(&mut self.values)?;
        self.values.push(value);
        Ok(())
    }

    /// The value that was stored under an index.
    pub(super) fn get(&self, index: u64) -> Result<Value> {
        let index = usize::try_from(index).ok();
        let value = index.and_then(|index| self.values.get(index).copied());
        value.ok_or_else(|| not_metadata("a pickle that recalls what it never had"))
    }
}
