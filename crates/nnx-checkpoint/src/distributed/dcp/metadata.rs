//! Reading a `.metadata`: one pickle of a few classes, which `torch.distributed.checkpoint.metadata`
//! defines.
//!
//! A general reader makes a node of each of the thirty objects that a chunk takes. The classes are
//! few, so this one fills tables while it reads; a value on the stack is eight bytes. Nothing is
//! called: a class that is not one of the few gives a value that only its place tells.

use std::collections::HashMap;

use super::metadata_input::MetadataInput;
use super::tables::{
    ChunkRow, IndexRow, InfoRow, NOTHING, Root, Tables, TensorRow, at, make_room, push, row_number,
};
use super::value::{Kind, Value};
use crate::distributed::paths::PathPart;
use crate::error::{DistributedFault, Error, ErrorKind, Result, shown, shown_path};
use crate::pickle::opcode as op;
use crate::source::ByteRange;
use crate::{Dtype, Limits, SafetyLevel};

/// Objects that a `.metadata` may make for each chunk: a writer makes some thirty.
const OBJECTS_PER_CHUNK: u64 = 16;
/// Bytes that it may take for each chunk: a writer takes some 150.
const BYTES_PER_CHUNK: u64 = 256;
/// Values on the stack: a writer adds a thousand to a container at a time.
const MAX_STACK: usize = 1 << 20;
/// Bytes of a name.
const MAX_TEXT: u64 = 1 << 16;

const METADATA: &str = "torch.distributed.checkpoint.metadata";
const FILESYSTEM: &str = "torch.distributed.checkpoint.filesystem";
const SHARDED: &str = "torch.distributed._shard.sharded_tensor.metadata";

/// A class or function, as far as this reader knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Metadata,
    Tensor,
    Bytes,
    Chunk,
    Index,
    Info,
    Properties,
    Size,
    OrderedDict,
    Dtype(Dtype),
    Other,
}

fn known(module: &str, name: &str) -> Known {
    match (module, name) {
        (METADATA, "Metadata") => Known::Metadata,
        (METADATA, "TensorStorageMetadata") => Known::Tensor,
        (METADATA, "BytesStorageMetadata") => Known::Bytes,
        (METADATA, "ChunkStorageMetadata") => Known::Chunk,
        (METADATA, "MetadataIndex") => Known::Index,
        (METADATA | SHARDED, "TensorProperties") => Known::Properties,
        (FILESYSTEM, "_StorageInfo") => Known::Info,
        ("torch", "Size") => Known::Size,
        ("collections", "OrderedDict") => Known::OrderedDict,
        ("torch", name) => Dtype::from_name(name).map_or(Known::Other, Known::Dtype),
        _ => Known::Other,
    }
}

/// Reads a `.metadata` into the tables.
///
/// # Errors
/// When the pickle breaks off, names what runs code, is of something else, or is larger than
/// [`Limits::max_chunks`] allows.
pub(super) fn read(bytes: &ByteRange, tables: &mut Tables, limits: &Limits) -> Result<Root> {
    let allowed = limits.max_chunks.saturating_mul(BYTES_PER_CHUNK);
    if bytes.byte_len() > allowed {
        let found = bytes.byte_len() / BYTES_PER_CHUNK;
        return Err(Error::limit("max_chunks", limits.max_chunks, found));
    }
    let mut machine = Machine {
        input: MetadataInput::new(bytes),
        tables,
        limits,
        memo: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        globals: Vec::new(),
        tuples: Vec::new(),
        large: Vec::new(),
        lists: HashMap::new(),
        dicts: HashMap::new(),
        containers: 0,
        contained: 0,
        root: Root::default(),
        root_state: None,
    };
    let root = machine.run().map_err(|error| {
        let offset = machine.input.start();
        error.at(offset)
    })?;
    machine.finish(root)
}

fn not_metadata(what: &str) -> Error {
    Error::distributed(
        DistributedFault::NotMetadata,
        format!("expected the `Metadata` of `torch.distributed.checkpoint`, found {what}"),
    )
}

/// What can be called; an opaque value may be anything.
const CALLABLES: &[Kind] = &[Kind::Global, Kind::Opaque];
/// What arguments can be.
const TUPLES: &[Kind] = &[Kind::Ints, Kind::IntsAlone, Kind::Tuple];
/// What can be given a state.
const OBJECTS: &[Kind] = &[
    Kind::Opaque,
    Kind::Tensor,
    Kind::Bytes,
    Kind::Chunk,
    Kind::Index,
    Kind::Info,
    Kind::Properties,
    Kind::Metadata,
];

/// Refuses a value of another kind.
fn expect(value: Value, kinds: &[Kind], what: &str) -> Result<()> {
    if kinds.contains(&value.kind()) {
        return Ok(());
    }
    Err(not_metadata(what))
}

struct Machine<'a> {
    input: MetadataInput<'a>,
    tables: &'a mut Tables,
    limits: &'a Limits,
    memo: Vec<Value>,
    stack: Vec<Value>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
    globals: Vec<Known>,
    /// Tuples of other values than integers: how many there are, then each.
    tuples: Vec<Value>,
    /// Integers that do not fit into a value.
    large: Vec<i64>,
    lists: HashMap<u32, Vec<Value>>,
    /// Dicts whose content nobody took yet.
    dicts: HashMap<u32, Vec<(Value, Value)>>,
    /// How many lists and dicts there were.
    containers: u32,
    /// How many values all lists and dicts were given.
    contained: u64,
    root: Root,
    /// The state of the one `Metadata`.
    root_state: Option<Vec<(Value, Value)>>,
}

impl Machine<'_> {
    /// Runs the program and gives the value that it leaves.
    fn run(&mut self) -> Result<Value> {
        loop {
            match self.input.opcode()? {
                op::STOP => return self.pop(),
                opcode => self.step(opcode)?,
            }
            if self.stack.len() > MAX_STACK {
                return Err(not_metadata("a pickle with a million values in one batch"));
            }
        }
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            op::PROTO => self.input.skip(1),
            op::FRAME => {
                let len = self.input.unsigned(8)?;
                self.input.require(len)
            }
            op::NONE => self.push(Value::NONE),
            op::NEWTRUE | op::NEWFALSE | op::EMPTY_SET => self.push(Value::OPAQUE),
            op::BINFLOAT => self.input.skip(8).and_then(|()| self.push(Value::OPAQUE)),
            op::BININT1 => {
                let value = self.input.number(1)?;
                self.int(value)
            }
            op::BININT2 => {
                let value = self.input.number(2)?;
                self.int(value)
            }
            op::BININT => {
                let value = self.input.number(4)?;
                // Four bytes with a sign.
                self.int(value << 32 >> 32)
            }
            op::LONG1 => self.long(),
            op::SHORT_BINUNICODE => self.text(1),
            op::BINUNICODE => self.text(4),
            op::BINUNICODE8 => self.text(8),
            op::SHORT_BINBYTES => self.skipped(1),
            op::BINBYTES | op::LONG4 => self.skipped(4),
            op::BINBYTES8 | op::BYTEARRAY8 => self.skipped(8),
            op::EMPTY_TUPLE => self.tuple(0),
            op::TUPLE1 => self.tuple(1),
            op::TUPLE2 => self.tuple(2),
            op::TUPLE3 => self.tuple(3),
            op::TUPLE => {
                let count = self.above_mark()?;
                self.tuple(count)
            }
            op::MARK => {
                self.marks.push(self.stack.len());
                if self.marks.len() > MAX_STACK {
                    return Err(not_metadata("a pickle with a million marks"));
                }
                Ok(())
            }
            op::POP => self.pop().map(drop),
            op::POP_MARK => {
                let count = self.above_mark()?;
                self.drop_values(count)
            }
            op::DUP => {
                let value = self.top()?;
                self.push(value)
            }
            op::FROZENSET => {
                let count = self.above_mark()?;
                self.drop_values(count)?;
                self.push(Value::OPAQUE)
            }
            op::ADDITEMS => {
                let count = self.above_mark()?;
                self.drop_values(count)?;
                let target = self.top()?;
                expect(target, &[Kind::Opaque], "items that are added to no set")
            }
            op::EMPTY_LIST => {
                let number = self.container()?;
                self.lists.insert(number, Vec::new());
                self.push(Value::new(Kind::List, number))
            }
            op::APPEND => self.append(1),
            op::APPENDS => {
                let count = self.above_mark()?;
                self.append(count)
            }
            op::EMPTY_DICT => self.dict(),
            op::SETITEM => self.set_items(2),
            op::SETITEMS => {
                let count = self.above_mark()?;
                self.set_items(count)
            }
            op::MEMOIZE => self.memoize(self.memo.len() as u64),
            op::BINPUT => {
                let index = self.input.unsigned(1)?;
                self.memoize(index)
            }
            op::LONG_BINPUT => {
                let index = self.input.unsigned(4)?;
                self.memoize(index)
            }
            op::BINGET => {
                let index = self.input.unsigned(1)?;
                self.recall(index)
            }
            op::LONG_BINGET => {
                let index = self.input.unsigned(4)?;
                self.recall(index)
            }
            op::GLOBAL => {
                let module = self.input.line(MAX_TEXT)?;
                let name = self.input.line(MAX_TEXT)?;
                self.global(&module, &name)
            }
            op::STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |value: Value| {
                    let number = value.index_of(Kind::Text)?;
                    Some(self.tables.texts.get(number).to_owned())
                };
                let (Some(module), Some(name)) = (text(module), text(name)) else {
                    return Err(not_metadata("a class whose name is no text"));
                };
                self.global(&module, &name)
            }
            op::REDUCE => self.reduce(),
            op::NEWOBJ => {
                let (args, class) = (self.pop()?, self.pop()?);
                self.new_object(class, args)
            }
            op::NEWOBJ_EX => {
                let (_, args, class) = (self.pop()?, self.pop()?, self.pop()?);
                self.new_object(class, args)
            }
            op::BUILD => self.build(),
            other => {
                let name = op::name(other).unwrap_or("no opcode");
                Err(not_metadata(&format!(
                    "the opcode {other:#04x} ({name}), which no writer of it uses"
                )))
            }
        }
    }

    fn push(&mut self, value: Value) -> Result<()> {
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let value = self.stack.pop().filter(|_| self.stack.len() >= floor);
        value.ok_or_else(|| not_metadata("a pickle that takes a value from an empty stack"))
    }

    fn top(&self) -> Result<Value> {
        let value = self.stack.last().copied();
        value.ok_or_else(|| not_metadata("a pickle that takes a value from an empty stack"))
    }

    /// How many values are above the last mark, which is taken away.
    fn above_mark(&mut self) -> Result<usize> {
        let mark = self.marks.pop();
        let count = mark.and_then(|mark| self.stack.len().checked_sub(mark));
        count.ok_or_else(|| not_metadata("a pickle without the mark that an opcode needs"))
    }

    fn drop_values(&mut self, count: usize) -> Result<()> {
        let rest = self.stack.len().saturating_sub(count);
        self.stack.truncate(rest);
        Ok(())
    }

    /// The last values of the stack, taken from it.
    fn take(&mut self, count: usize) -> Result<Vec<Value>> {
        let rest = self.stack.len().checked_sub(count);
        let rest = rest.ok_or_else(|| not_metadata("a pickle whose stack is too short"))?;
        Ok(self.stack.split_off(rest))
    }

    fn int(&mut self, value: i64) -> Result<()> {
        let value = match Value::int(value) {
            Some(value) => value,
            None => Value::new(Kind::LargeInt, push(&mut self.large, value)?),
        };
        self.push(value)
    }

    /// The integer that a value is.
    fn as_int(&self, value: Value) -> Option<i64> {
        match value.index_of(Kind::LargeInt) {
            Some(index) => at(&self.large, index).copied(),
            None => value.as_int(),
        }
    }

    fn long(&mut self) -> Result<()> {
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

    fn text(&mut self, len_bytes: u64) -> Result<()> {
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

    fn skipped(&mut self, len_bytes: u64) -> Result<()> {
        let len = self.input.unsigned(len_bytes)?;
        self.input.skip(len)?;
        self.push(Value::OPAQUE)
    }

    /// Makes a tuple of the last values.
    fn tuple(&mut self, count: usize) -> Result<()> {
        let items = self.take(count)?;
        let ints: Option<Vec<i64>> = items.iter().map(|&value| self.as_int(value)).collect();
        let value = match (ints, items.as_slice()) {
            (Some(ints), _) => Value::new(Kind::Ints, self.tables.ints.push(ints.into_iter())?),
            (None, [only]) if only.kind() == Kind::Ints => {
                let ints = only.index_of(Kind::Ints).unwrap_or(NOTHING);
                Value::new(Kind::IntsAlone, ints)
            }
            (None, _) => {
                let start = row_number(self.tuples.len())?;
                let count = row_number(items.len())?;
                self.count_contained(count.into())?;
                make_room(&mut self.tuples)?;
                self.tuples.push(Value::new(Kind::Opaque, count));
                self.tuples.extend(items);
                Value::new(Kind::Tuple, start)
            }
        };
        self.push(value)
    }

    /// The items of a tuple that is not one of integers alone.
    fn tuple_items(&self, start: u32) -> &[Value] {
        let count = at(&self.tuples, start).and_then(|value| value.index_of(Kind::Opaque));
        let range = || {
            let start = usize::try_from(start).ok()?.checked_add(1)?;
            self.tuples
                .get(start..start.checked_add(usize::try_from(count?).ok()?)?)
        };
        range().unwrap_or_default()
    }

    fn container(&mut self) -> Result<u32> {
        let (allowed, live) = (self.limits.max_listed, self.dicts.len() as u64);
        let live = live.saturating_add(self.lists.len() as u64);
        if live > allowed {
            return Err(Error::limit("max_listed", allowed, live));
        }
        let number = self.containers;
        self.containers = number
            .checked_add(1)
            .ok_or_else(|| not_metadata("a pickle of too many containers"))?;
        Ok(number)
    }

    fn dict(&mut self) -> Result<()> {
        let number = self.container()?;
        self.dicts.insert(number, Vec::new());
        // Each takes some room although nothing is in it.
        self.count_contained(1)?;
        self.push(Value::new(Kind::Dict, number))
    }

    fn count_contained(&mut self, count: u64) -> Result<()> {
        self.contained = self.contained.saturating_add(count);
        self.check_objects(self.contained)
    }

    fn check_objects(&self, found: u64) -> Result<()> {
        let allowed = self.limits.max_chunks.saturating_mul(OBJECTS_PER_CHUNK);
        if found <= allowed {
            return Ok(());
        }
        let chunks = found.div_ceil(OBJECTS_PER_CHUNK);
        Err(Error::limit("max_chunks", self.limits.max_chunks, chunks))
    }

    fn append(&mut self, count: usize) -> Result<()> {
        let items = self.take(count)?;
        self.count_contained(items.len() as u64)?;
        let target = self.top()?;
        let list = target.index_of(Kind::List);
        match list.and_then(|list| self.lists.get_mut(&list)) {
            Some(list) => list.extend(items),
            None => expect(target, &[Kind::Opaque], "items that are added to no list")?,
        }
        Ok(())
    }

    fn set_items(&mut self, count: usize) -> Result<()> {
        let items = self.take(count)?;
        let (pairs, []) = items.as_chunks::<2>() else {
            return Err(not_metadata("keys and values that are no pairs"));
        };
        let target = self.top()?;
        let dict = target.index_of(Kind::Dict);
        let Some(dict) = dict.and_then(|dict| self.dicts.get_mut(&dict)) else {
            return expect(target, &[Kind::Opaque], "pairs that are added to no dict");
        };
        // The pairs of a state are taken out again, and count as one.
        dict.extend(pairs.iter().map(|&[key, value]| (key, value)));
        if dict.len() > 16 {
            self.count_contained(pairs.len() as u64)?;
        }
        Ok(())
    }

    fn memoize(&mut self, index: u64) -> Result<()> {
        let value = self.top()?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if let Some(slot) = self.memo.get_mut(index) {
            *slot = value;
            return Ok(());
        }
        if index != self.memo.len() {
            return Err(not_metadata("a pickle whose memo has gaps"));
        }
        self.check_objects(self.memo.len() as u64 / 2)?;
        make_room(&mut self.memo)?;
        self.memo.push(value);
        Ok(())
    }

    fn recall(&mut self, index: u64) -> Result<()> {
        let index = usize::try_from(index).ok();
        let value = index.and_then(|index| self.memo.get(index).copied());
        let value = value.ok_or_else(|| not_metadata("a pickle that recalls what it never had"))?;
        self.push(value)
    }

    /// A class or function.
    ///
    /// # Errors
    /// When it runs code, or leads to what does.
    fn global(&mut self, module: &str, name: &str) -> Result<()> {
        let known = known(module, name);
        if known == Known::Other {
            match SafetyLevel::of_global(module, name) {
                SafetyLevel::Innocuous => {}
                SafetyLevel::Dangerous => {
                    return Err(Error::new(ErrorKind::UnsafeGlobal {
                        module: module.to_owned(),
                        name: name.to_owned(),
                    }));
                }
                SafetyLevel::Suspicious => {
                    let class = (module.to_owned(), name.to_owned());
                    if !self.root.unknown.contains(&class) && self.root.unknown.len() < 16 {
                        self.root.unknown.push(class);
                    }
                }
            }
        }
        let position = self.globals.iter().position(|&other| other == known);
        let number = match position {
            Some(position) => row_number(position)?,
            None => push(&mut self.globals, known)?,
        };
        self.push(Value::new(Kind::Global, number))
    }

    fn known(&self, value: Value) -> Known {
        let number = value.index_of(Kind::Global);
        let known = number.and_then(|number| at(&self.globals, number).copied());
        known.unwrap_or(Known::Other)
    }

    fn reduce(&mut self) -> Result<()> {
        let (args, callable) = (self.pop()?, self.pop()?);
        expect(callable, CALLABLES, "a call of no function")?;
        expect(args, TUPLES, "arguments that are no tuple")?;
        match self.known(callable) {
            Known::Size => {
                let ints = args.index_of(Kind::IntsAlone);
                let ints = ints.ok_or_else(|| not_metadata("a `torch.Size` of other values"))?;
                self.push(Value::new(Kind::Size, ints))
            }
            Known::OrderedDict => self.dict(),
            _ => self.push(Value::OPAQUE),
        }
    }

    fn new_object(&mut self, class: Value, args: Value) -> Result<()> {
        expect(class, CALLABLES, "an object of no class")?;
        expect(args, TUPLES, "arguments that are no tuple")?;
        let tables = &mut *self.tables;
        let value =
            match self
                .globals
                .get(class.index_of(Kind::Global).map_or(usize::MAX, |number| {
                    usize::try_from(number).unwrap_or(usize::MAX)
                })) {
                Some(Known::Metadata) if self.root_state.is_none() => Value::new(Kind::Metadata, 0),
                Some(Known::Metadata) => return Err(not_metadata("two of them in one pickle")),
                Some(Known::Bytes) => Value::new(Kind::Bytes, 0),
                Some(Known::Tensor) => {
                    let row = TensorRow {
                        dtype: None,
                        size: NOTHING,
                        chunks: NOTHING,
                    };
                    Value::new(Kind::Tensor, push(&mut tables.tensors, row)?)
                }
                Some(Known::Chunk) => {
                    let row = ChunkRow {
                        offsets: NOTHING,
                        sizes: NOTHING,
                    };
                    Value::new(Kind::Chunk, push(&mut tables.chunks, row)?)
                }
                Some(Known::Index) => {
                    let row = IndexRow {
                        name: NOTHING,
                        offsets: NOTHING,
                    };
                    Value::new(Kind::Index, push(&mut tables.indices, row)?)
                }
                Some(Known::Info) => {
                    let row = InfoRow {
                        path: NOTHING,
                        transforms: NOTHING,
                        offset: -1,
                        len: -1,
                    };
                    Value::new(Kind::Info, push(&mut tables.infos, row)?)
                }
                Some(Known::Properties) => {
                    Value::new(Kind::Properties, push(&mut tables.dtypes, None)?)
                }
                _ => Value::OPAQUE,
            };
        self.push(value)
    }

    /// Gives an object its state.
    fn build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let object = self.top()?;
        expect(object, OBJECTS, "a state of no object")?;
        let pairs = state
            .index_of(Kind::Dict)
            .and_then(|dict| self.dicts.remove(&dict));
        if object.kind() == Kind::Properties {
            // The dtype is the first of a tuple.
            let items = state.index_of(Kind::Tuple);
            let dtype = items.and_then(|start| self.tuple_items(start).first().copied());
            let dtype = match dtype.map(|value| self.known(value)) {
                Some(Known::Dtype(dtype)) => Some(dtype),
                _ => None,
            };
            return self.set(object, Kind::Properties, |tables, row| {
                tables.dtypes.get_mut(row).map(|of| *of = dtype)
            });
        }
        let Some(pairs) = pairs else {
            return match object.kind() {
                Kind::Opaque | Kind::Bytes => Ok(()),
                _ => Err(not_metadata("an object whose state is no dict")),
            };
        };
        if object.kind() == Kind::Metadata {
            self.root_state = Some(pairs);
            return Ok(());
        }
        for (key, value) in pairs {
            let key = key
                .index_of(Kind::Text)
                .map(|key| self.tables.texts.get(key).to_owned());
            self.field(object, key.as_deref().unwrap_or_default(), value)?;
        }
        Ok(())
    }

    /// Changes the row of an object.
    fn set(
        &mut self,
        object: Value,
        kind: Kind,
        change: impl FnOnce(&mut Tables, usize) -> Option<()>,
    ) -> Result<()> {
        let row = object
            .index_of(kind)
            .and_then(|row| usize::try_from(row).ok());
        row.and_then(|row| change(self.tables, row))
            .ok_or_else(|| not_metadata("an object of another class"))
    }

    /// Gives an object one of its attributes.
    fn field(&mut self, object: Value, name: &str, value: Value) -> Result<()> {
        let kind = object.kind();
        match (kind, name) {
            (Kind::Chunk, "offsets") => {
                let ints = size(value, "the offsets of a chunk")?;
                self.set(object, kind, |tables, row| {
                    tables.chunks.get_mut(row).map(|row| row.offsets = ints)
                })
            }
            (Kind::Chunk, "sizes") => {
                let ints = size(value, "the sizes of a chunk")?;
                self.set(object, kind, |tables, row| {
                    tables.chunks.get_mut(row).map(|row| row.sizes = ints)
                })
            }
            (Kind::Index, "fqn") => {
                let text = text(value, "the name of an index")?;
                self.set(object, kind, |tables, row| {
                    tables.indices.get_mut(row).map(|row| row.name = text)
                })
            }
            (Kind::Index, "offset") if value.kind() != Kind::None => {
                let ints = size(value, "the offset of an index")?;
                self.set(object, kind, |tables, row| {
                    tables.indices.get_mut(row).map(|row| row.offsets = ints)
                })
            }
            (Kind::Info, "relative_path") => {
                let text = text(value, "the path of an item")?;
                self.set(object, kind, |tables, row| {
                    tables.infos.get_mut(row).map(|row| row.path = text)
                })
            }
            (Kind::Info, "offset") => {
                let number = self.whole_number(value, "the offset of an item")?;
                self.set(object, kind, |tables, row| {
                    tables.infos.get_mut(row).map(|row| row.offset = number)
                })
            }
            (Kind::Info, "length") => {
                let number = self.whole_number(value, "the length of an item")?;
                self.set(object, kind, |tables, row| {
                    tables.infos.get_mut(row).map(|row| row.len = number)
                })
            }
            (Kind::Info, "transform_descriptors") if value.kind() != Kind::None => {
                let transforms = self.transforms(value)?;
                self.set(object, kind, |tables, row| {
                    tables
                        .infos
                        .get_mut(row)
                        .map(|row| row.transforms = transforms)
                })
            }
            (Kind::Tensor, "properties") => {
                let properties = value.index_of(Kind::Properties);
                let dtype =
                    properties.and_then(|row| at(&self.tables.dtypes, row).copied().flatten());
                self.set(object, kind, |tables, row| {
                    tables.tensors.get_mut(row).map(|row| row.dtype = dtype)
                })
            }
            (Kind::Tensor, "size") => {
                let ints = size(value, "the size of a tensor")?;
                self.set(object, kind, |tables, row| {
                    tables.tensors.get_mut(row).map(|row| row.size = ints)
                })
            }
            (Kind::Tensor, "chunks") => {
                let list = value.index_of(Kind::List);
                let list = list.ok_or_else(|| not_metadata("chunks that are no list"))?;
                self.set(object, kind, |tables, row| {
                    tables.tensors.get_mut(row).map(|row| row.chunks = list)
                })
            }
            _ => Ok(()),
        }
    }

    fn whole_number(&self, value: Value, what: &str) -> Result<i64> {
        self.as_int(value)
            .ok_or_else(|| not_metadata(&format!("{what} that is no integer of 64 bits")))
    }

    /// The number of a list of transforms; that of no transform is nothing.
    fn transforms(&mut self, value: Value) -> Result<u32> {
        let items = match value.kind() {
            Kind::List => {
                let list = value.index_of(Kind::List);
                list.and_then(|list| self.lists.get(&list))
                    .map(Vec::as_slice)
            }
            Kind::Tuple => value
                .index_of(Kind::Tuple)
                .map(|start| self.tuple_items(start)),
            Kind::Ints => Some([].as_slice()),
            _ => None,
        };
        let names: Option<Vec<String>> = items.map(|items| {
            let names = items.iter().map(|&item| match item.index_of(Kind::Text) {
                Some(text) => self.tables.texts.get(text).to_owned(),
                None => String::new(),
            });
            names.collect()
        });
        let names = names.ok_or_else(|| not_metadata("transforms that are no sequence"))?;
        if names.is_empty() {
            return Ok(NOTHING);
        }
        let known = self
            .tables
            .transforms
            .iter()
            .position(|other| *other == names);
        match known {
            Some(known) => row_number(known),
            None => push(&mut self.tables.transforms, names),
        }
    }

    /// What the root holds.
    fn finish(mut self, root: Value) -> Result<Root> {
        let state = self.root_state.take();
        let (Kind::Metadata, Some(state)) = (root.kind(), state) else {
            return Err(not_metadata("a pickle of something else"));
        };
        let (mut names, mut storage) = (None, None);
        let mut paths = None;
        for (key, value) in state {
            let key = key.index_of(Kind::Text);
            let key = key.map(|key| self.tables.texts.get(key).to_owned());
            let dict = value
                .index_of(Kind::Dict)
                .and_then(|dict| self.dicts.remove(&dict));
            match (key.as_deref(), dict) {
                (Some("state_dict_metadata"), Some(pairs)) => names = Some(pairs),
                (Some("storage_data"), Some(pairs)) => storage = Some(pairs),
                (Some("planner_data"), Some(pairs)) => paths = Some(self.paths(&pairs)),
                _ => {}
            }
        }
        self.memo = Vec::new();
        self.root.names =
            names.ok_or_else(|| not_metadata("one without its `state_dict_metadata`"))?;
        // A rank that owns nothing has no places.
        self.root.storage = storage.unwrap_or_default();
        self.root.paths = paths;
        self.root.lists = self.lists;
        Ok(self.root)
    }

    /// The paths of a planner, of which those are left out that are none: a planner of somebody's own
    /// may keep anything here.
    fn paths(&self, pairs: &[(Value, Value)]) -> Vec<(u32, Vec<PathPart>)> {
        let path = |value: Value| match value.kind() {
            Kind::Ints => {
                let ints = self.tables.ints.get(value.index_of(Kind::Ints)?);
                Some(ints.into_iter().map(PathPart::Index).collect())
            }
            Kind::Tuple => {
                let items = self.tuple_items(value.index_of(Kind::Tuple)?).iter();
                let parts = items.map(|&item| match item.index_of(Kind::Text) {
                    Some(text) => Some(PathPart::Key(self.tables.texts.get(text).to_owned())),
                    None => self.as_int(item).map(PathPart::Index),
                });
                parts.collect()
            }
            _ => None,
        };
        let pairs = pairs.iter();
        pairs
            .filter_map(|&(name, value)| Some((name.index_of(Kind::Text)?, path(value)?)))
            .collect()
    }
}

fn size(value: Value, what: &str) -> Result<u32> {
    let ints = value.index_of(Kind::Size).or(value.index_of(Kind::Ints));
    ints.ok_or_else(|| not_metadata(&format!("{what} that are no `torch.Size`")))
}

fn text(value: Value, what: &str) -> Result<u32> {
    let text = value.index_of(Kind::Text);
    text.ok_or_else(|| not_metadata(&format!("{what} that is no text")))
}

/// The classes that are not known, in words.
pub(super) fn unknown_in_words(unknown: &[(String, String)]) -> Option<String> {
    let names: Vec<String> = unknown
        .iter()
        .map(|(module, name)| format!("`{}`", shown_path(module, name)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "the `.metadata` names {}, which are not known here; what they stand for was left out",
            shown(&names.join(", "))
        )
    })
}
