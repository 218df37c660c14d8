//! The values of a `.metadata` that have no parts but integers: numbers, texts and tuples.

use super::{MAX_TEXT, Machine, not_metadata};
use crate::distributed::dcp::tables::{NOTHING, at, push};
use crate::distributed::dcp::value::{Kind, Value};
use crate::error::{Error, Result};

impl Machine<'_> {
    /// Pushes an integer.
    pub(super) fn int(&mut self, value: i64) -> Result<()> {
        let value = match Value::int(value) {
            Some(value) => value,
            None => Value::new(Kind::LargeInt, push(&mut self.large, value)?),
        };
        self.push(value)
    }

    /// The integer that a value is.
    pub(super) fn as_int(&self, value: Value) -> Option<i64> {
        match value.index_of(Kind::LargeInt) {
            Some(index) => at(&self.large, index).copied(),
            None => value.as_int(),
        }
    }

    /// Pushes the integer of a `LONG1`.
    pub(super) fn long(&mut self) -> Result<()> {
        let len = self.input.unsigned(1)?;
        if len > 8 {
            self.input.skip(len)?;
            return self.push(Value::OPAQUE);
        }
        let value = self.input.number(len)?;
        let unused = 64u64.saturating_sub(len.saturating_mul(8));
        match u32::try_from(unused) {
            // Two's complement in as many bytes as it takes.
            Ok(unused @ 0..64) => self.int(value << unused >> unused),
            _ => self.int(0),
        }
    }

    /// Pushes a text, before which its length is in so many bytes.
    pub(super) fn text(&mut self, len_bytes: u64) -> Result<()> {
        let len = self.input.unsigned(len_bytes)?;
        if len > MAX_TEXT {
            // No name is so long; it may be a value of a planner of somebody's own.
            self.input.skip(len)?;
            return self.push(Value::OPAQUE);
        }
        let bytes = self.input.take(len)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| not_metadata("a text not in UTF-8"))?;
        let value = Value::new(Kind::Text, self.tables.texts.number(text)?);
        let (allowed, found) = (self.limits.max_listed, self.tables.texts.len() as u64);
        if found > allowed {
            return Err(Error::limit("max_listed", allowed, found));
        }
        self.push(value)
    }

    /// Pushes bytes that nothing here needs.
    pub(super) fn skipped(&mut self, len_bytes: u64) -> Result<()> {
        let len = self.input.unsigned(len_bytes)?;
        self.input.skip(len)?;
        self.push(Value::OPAQUE)
    }

    /// The text that a value is.
    pub(super) fn text_of(&self, value: Value) -> Option<String> {
        let number = value.index_of(Kind::Text)?;
        Some(self.tables.texts.get(number).to_owned())
    }

    /// Pushes a tuple of the last values.
    pub(super) fn tuple(&mut self, count: usize) -> Result<()> {
        let items = self.stack.take(count)?;
        let ints: Option<Vec<i64>> = items.iter().map(|&value| self.as_int(value)).collect();
        let value = match (ints, items.as_slice()) {
            (Some(ints), _) => Value::new(Kind::Ints, self.tables.ints.push(ints.into_iter())?),
            (None, [only]) if only.kind() == Kind::Ints => {
                let ints = only.index_of(Kind::Ints).unwrap_or(NOTHING);
                Value::new(Kind::IntsAlone, ints)
            }
            (None, _) => self.containers.tuple(items)?,
        };
        self.push(value)
    }
}
