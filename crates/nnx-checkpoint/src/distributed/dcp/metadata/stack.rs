//! The stack of a `.metadata`'s pickle, and its marks.

use super::not_metadata;
use crate::distributed::dcp::value::Value;
use crate::error::Result;

/// Values on the stack, and marks: a writer adds a thousand values to a container at a time.
const MAX_STACK: usize = 1 << 20;

/// The values that wait for an opcode that takes them.
#[derive(Default)]
pub(super) struct Stack {
    values: Vec<Value>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
}

impl Stack {
    /// Refuses a stack that is too high.
    pub(super) fn check(&self) -> Result<()> {
        if self.values.len() > MAX_STACK {
            return Err(not_metadata("a pickle with a million values in one batch"));
        }
        Ok(())
    }

    pub(super) fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    pub(super) fn pop(&mut self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let value = self.values.pop().filter(|_| self.values.len() >= floor);
        value.ok_or_else(empty)
    }

    pub(super) fn top(&self) -> Result<Value> {
        self.values.last().copied().ok_or_else(empty)
    }

    pub(super) fn mark(&mut self) -> Result<()> {
        self.marks.push(self.values.len());
        if self.marks.len() > MAX_STACK {
            return Err(not_metadata("a pickle with a million marks"));
        }
        Ok(())
    }

    /// How many values are above the last mark, which is taken away.
    pub(super) fn above_mark(&mut self) -> Result<usize> {
        let mark = self.marks.pop();
        let count = mark.and_then(|mark| self.values.len().checked_sub(mark));
        count.ok_or_else(|| not_metadata("a pickle without the mark that an opcode needs"))
    }

    /// The last values, taken from the stack.
    pub(super) fn take(&mut self, count: usize) -> Result<Vec<Value>> {
        let rest = self.values.len().checked_sub(count);
        let rest = rest.ok_or_else(|| not_metadata("a pickle whose stack is too short"))?;
        Ok(self.values.split_off(rest))
    }

    /// Takes away the last mark and all values above it.
    pub(super) fn drop_to_mark(&mut self) -> Result<()> {
        let count = self.above_mark()?;
        let rest = self.values.len().saturating_sub(count);
        self.values.truncate(rest);
        Ok(())
    }
}

#[cold]
fn empty() -> crate::Error {
    not_metadata("a pickle that takes a value from an empty stack")
}
