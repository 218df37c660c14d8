//! Reading a `.metadata`: one pickle of a few classes, which `torch.distributed.checkpoint.metadata`
//! defines.
//!
//! A general reader makes a node of each of the thirty objects that a chunk takes. The classes are
//! few, so this one fills tables while it reads; a value on the stack is eight bytes. Nothing is
//! called: an object of another class is a value of which nothing is kept.

mod class;
mod containers;
mod fields;
mod input;
mod leaf;
mod memo;
mod object;
mod root;
mod stack;

use self::class::Class;
use self::containers::Containers;
use self::input::MetadataInput;
use self::memo::Memo;
pub(super) use self::root::unknown_in_words;
use self::stack::Stack;
use super::tables::{Root, Tables};
use super::value::{Kind, Value};
use crate::Limits;
use crate::error::{DistributedFault, Error, Result};
use crate::pickle::opcode as op;
use crate::source::ByteRange;

/// Values that the tuples, lists and dicts of a `.metadata` may have for each chunk, and half of the
/// values that its memo may have. Of the thirty objects that a writer makes for a chunk, most are in
/// neither: integers, and the states of objects.
const OBJECTS_PER_CHUNK: u64 = 16;
/// Bytes that it may take for each chunk: a writer takes some 150.
const BYTES_PER_CHUNK: u64 = 256;
/// Bytes of a name.
const MAX_TEXT: u64 = 1 << 16;
/// Dimensions of a tensor, as in PyTorch.
const MAX_DIMS: u64 = 64;
/// Transforms of one item.
const MAX_TRANSFORMS: usize = 8;

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
        stack: Stack::default(),
        memo: Memo::new(limits),
        containers: Containers::new(limits),
        classes: Vec::new(),
        large: Vec::new(),
        unknown: Vec::new(),
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

/// Refuses what is not so.
fn expect(is_so: bool, found: &str) -> Result<()> {
    if is_so {
        return Ok(());
    }
    Err(not_metadata(found))
}

/// Refuses more values than so many chunks take.
fn check_objects(limits: &Limits, found: u64) -> Result<()> {
    let allowed = limits.max_chunks.saturating_mul(OBJECTS_PER_CHUNK);
    if found <= allowed {
        return Ok(());
    }
    let chunks = found.div_ceil(OBJECTS_PER_CHUNK);
    Err(Error::limit("max_chunks", limits.max_chunks, chunks))
}

/// A pickle that is followed opcode by opcode.
struct Machine<'a> {
    input: MetadataInput<'a>,
    tables: &'a mut Tables,
    limits: &'a Limits,
    stack: Stack,
    memo: Memo<'a>,
    containers: Containers<'a>,
    classes: Vec<Class>,
    /// Integers that do not fit into a value.
    large: Vec<i64>,
    /// Classes that are not known here.
    unknown: Vec<(String, String)>,
    /// The state of the one `Metadata`.
    root_state: Option<Vec<(Value, Value)>>,
}

impl Machine<'_> {
    /// Runs the program and gives the value that it leaves.
    fn run(&mut self) -> Result<Value> {
        loop {
            match self.input.opcode()? {
                op::STOP => return self.stack.pop(),
                opcode => self.step(opcode)?,
            }
            self.stack.check()?;
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
                let count = self.stack.above_mark()?;
                self.tuple(count)
            }
            op::MARK => self.stack.mark(),
            op::POP => self.stack.pop().map(drop),
            op::POP_MARK => self.stack.drop_to_mark(),
            op::DUP => {
                let value = self.stack.top()?;
                self.push(value)
            }
            op::FROZENSET => {
                self.stack.drop_to_mark()?;
                self.push(Value::OPAQUE)
            }
            op::ADDITEMS => {
                self.stack.drop_to_mark()?;
                let target = self.stack.top()?;
                expect(
                    target.kind() == Kind::Opaque,
                    "items that are added to no set",
                )
            }
            op::EMPTY_LIST => {
                let list = self.containers.list()?;
                self.push(list)
            }
            op::APPEND => self.append(1),
            op::APPENDS => {
                let count = self.stack.above_mark()?;
                self.append(count)
            }
            op::EMPTY_DICT => self.dict(),
            op::SETITEM => self.set_items(2),
            op::SETITEMS => {
                let count = self.stack.above_mark()?;
                self.set_items(count)
            }
            op::MEMOIZE => self.memo.put(None, self.stack.top()?),
            op::BINPUT => {
                let index = self.input.unsigned(1)?;
                self.memo.put(Some(index), self.stack.top()?)
            }
            op::LONG_BINPUT => {
                let index = self.input.unsigned(4)?;
                self.memo.put(Some(index), self.stack.top()?)
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
                let (name, module) = (self.stack.pop()?, self.stack.pop()?);
                let (Some(module), Some(name)) = (self.text_of(module), self.text_of(name)) else {
                    return Err(not_metadata("a class whose name is no text"));
                };
                self.global(&module, &name)
            }
            op::REDUCE => self.reduce(),
            op::NEWOBJ => {
                let (args, class) = (self.stack.pop()?, self.stack.pop()?);
                self.new_object(class, args)
            }
            op::NEWOBJ_EX => {
                let (_, args, class) = (self.stack.pop()?, self.stack.pop()?, self.stack.pop()?);
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

    fn recall(&mut self, index: u64) -> Result<()> {
        let value = self.memo.get(index)?;
        self.push(value)
    }

    fn dict(&mut self) -> Result<()> {
        let dict = self.containers.dict()?;
        self.push(dict)
    }

    fn append(&mut self, count: usize) -> Result<()> {
        let items = self.stack.take(count)?;
        self.containers.append(self.stack.top()?, items)
    }

    fn set_items(&mut self, count: usize) -> Result<()> {
        let items = self.stack.take(count)?;
        self.containers.set_items(self.stack.top()?, &items)
    }
}
