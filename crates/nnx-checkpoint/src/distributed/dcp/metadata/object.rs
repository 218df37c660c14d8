//! The objects of a `.metadata`: their classes, how they are made, and their states.

use super::class::Class;
use super::{Machine, expect, not_metadata};
use crate::SafetyLevel;
use crate::distributed::dcp::tables::{
    ChunkRow, IndexRow, InfoRow, TensorRow, at, push, row_number,
};
use crate::distributed::dcp::value::{Kind, Value};
use crate::error::{Error, ErrorKind, Result};

/// Classes that are not known, of which a user is told.
const MAX_UNKNOWN: usize = 16;

impl Machine<'_> {
    /// Pushes a class or function.
    ///
    /// # Errors
    /// When it runs code, or leads to what does.
    pub(super) fn global(&mut self, module: &str, name: &str) -> Result<()> {
        let class = Class::new(module, name);
        if class == Class::Other {
            match SafetyLevel::of_global(module, name) {
                SafetyLevel::Innocuous => {}
                SafetyLevel::Dangerous => {
                    return Err(Error::new(ErrorKind::UnsafeGlobal {
                        module: module.to_owned(),
                        name: name.to_owned(),
                    }));
                }
                SafetyLevel::Suspicious => {
                    let unknown = (module.to_owned(), name.to_owned());
                    let all = &mut self.unknown;
                    if !all.contains(&unknown) && all.len() < MAX_UNKNOWN {
                        all.push(unknown);
                    }
                }
            }
        }
        let position = self.classes.iter().position(|&other| other == class);
        let number = match position {
            Some(position) => row_number(position)?,
            None => push(&mut self.classes, class)?,
        };
        self.push(Value::new(Kind::Global, number))
    }

    /// The class or function that a value is.
    fn class(&self, value: Value) -> Class {
        let number = value.index_of(Kind::Global);
        let class = number.and_then(|number| at(&self.classes, number).copied());
        class.unwrap_or(Class::Other)
    }

    /// Calls a function, as far as that gives a value that is needed.
    pub(super) fn reduce(&mut self) -> Result<()> {
        let (args, callable) = (self.stack.pop()?, self.stack.pop()?);
        expect(callable.kind().is_callable(), "a call of no function")?;
        expect(args.kind().is_tuple(), "arguments that are no tuple")?;
        match self.class(callable) {
            Class::Size => {
                let ints = args.index_of(Kind::IntsAlone);
                let ints = ints.ok_or_else(|| not_metadata("a `torch.Size` of other values"))?;
                self.push(Value::new(Kind::Size, ints))
            }
            Class::OrderedDict => self.dict(),
            _ => self.push(Value::OPAQUE),
        }
    }

    /// Makes an object of a class, whose row of the tables is not filled yet.
    pub(super) fn new_object(&mut self, class: Value, args: Value) -> Result<()> {
        expect(class.kind().is_callable(), "an object of no class")?;
        expect(args.kind().is_tuple(), "arguments that are no tuple")?;
        let class = self.class(class);
        let tables = &mut *self.tables;
        let (kind, row) = match class {
            Class::Metadata if self.root_state.is_none() => (Kind::Metadata, 0),
            Class::Metadata => return Err(not_metadata("two of them in one pickle")),
            Class::Bytes => (Kind::Bytes, 0),
            Class::Tensor => (Kind::Tensor, push(&mut tables.tensors, TensorRow::EMPTY)?),
            Class::Chunk => (Kind::Chunk, push(&mut tables.chunks, ChunkRow::EMPTY)?),
            Class::Index => (Kind::Index, push(&mut tables.indices, IndexRow::EMPTY)?),
            Class::Info => (Kind::Info, push(&mut tables.infos, InfoRow::EMPTY)?),
            Class::Properties => (Kind::Properties, push(&mut tables.dtypes, None)?),
            Class::Size | Class::OrderedDict | Class::Dtype(_) | Class::Other => (Kind::Opaque, 0),
        };
        self.push(Value::new(kind, row))
    }

    /// Gives an object its state.
    pub(super) fn build(&mut self) -> Result<()> {
        let state = self.stack.pop()?;
        let object = self.stack.top()?;
        expect(object.kind().has_state(), "a state of no object")?;
        let pairs = self.containers.take_pairs(state);
        if object.kind() == Kind::Properties {
            // The dtype is the first of a tuple.
            let first = self.containers.tuple_items(state).and_then(<[_]>::first);
            let dtype = match first.map(|&value| self.class(value)) {
                Some(Class::Dtype(dtype)) => Some(dtype),
                _ => None,
            };
            return self.set_dtype(object, dtype);
        }
        let Some(pairs) = pairs else {
            return expect(
                matches!(object.kind(), Kind::Opaque | Kind::Bytes),
                "an object whose state is no dict",
            );
        };
        if object.kind() == Kind::Metadata {
            self.root_state = Some(pairs);
            return Ok(());
        }
        for (key, value) in pairs {
            let key = self.text_of(key).unwrap_or_default();
            self.set_field(object, &key, value)?;
        }
        Ok(())
    }
}
