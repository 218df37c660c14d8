//! Pickle bytes to an object graph.

mod build;
mod extent;
mod input;
mod memo;
mod number;
mod recovery;
mod stack;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use self::extent::ends_within;
use self::input::Input;
use self::memo::Memo;
use self::stack::Stack;
use super::graph::{Call, Graph, Node, NodeId, Object};
use super::opcode;
use crate::{Error, Limits, Result};

/// The newest protocol there is; CPython refuses any other as well.
const HIGHEST_PROTOCOL: u8 = 5;

/// Bytes of a pickle that make an object, about, in a state dict.
const BYTES_PER_NODE: usize = 7;
/// Objects for which room is made before there are any.
const MOST_RESERVED: usize = 1 << 20;

/// Reads one pickle from the start of `bytes` through its `STOP`; returns the objects that it
/// describes and how many bytes it occupies. The bytes behind it are not looked at.
///
/// Every opcode of protocols 0 to 5 is understood as CPython's C unpickler understands it, with two
/// exceptions. Nothing is imported or called. An opcode that fills (`APPEND`, `SETITEM`, `BUILD`,
/// …) an object that this pickle did not make, such as a class or a persistent object, is an error:
/// no pickler writes it, and only an attack needs it.
///
/// Work and memory are proportional to the bytes that were read.
///
/// ```
/// use nnx_checkpoint::{Limits, pickle};
///
/// // pickle.dumps([True, "x"], 2)
/// let bytes = b"\x80\x02]q\x00(\x88X\x01\x00\x00\x00xq\x01e.";
/// let (graph, consumed) = pickle::read(bytes, &Limits::default())?;
/// assert_eq!(consumed, bytes.len());
/// assert_eq!(graph.describe(graph.root()), "a list of 2 items");
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
///
/// # Errors
/// When the bytes end before `STOP`, when an opcode is unknown, lacks bytes or operands, or meets
/// operands of the wrong kind; when buffers outside the pickle are asked for; when one long text
/// is used as the name of a global over and over; when
/// [`max_pickle_bytes`](Limits::max_pickle_bytes), [`max_pickle_nodes`](Limits::max_pickle_nodes)
/// or [`max_memo_entries`](Limits::max_memo_entries) is exceeded. The error's offset is that of
/// the opcode at fault.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<(Graph, usize)> {
    let mut reader = Reader::new(bytes, limits);
    let consumed = reader.run()?;
    Ok((reader.graph, consumed))
}

/// The readable part of a pickle, valid or not.
#[derive(Debug)]
#[non_exhaustive]
pub struct PartialPickle {
    /// The objects that it makes. If the [`outcome`](Self::outcome) is an error, the graph is of no
    /// use beyond [`nodes`](Graph::nodes), and may have no root.
    pub graph: Graph,
    /// The result of [`read`]: the bytes that the pickle occupies, or why it is none.
    pub outcome: Result<usize>,
    /// How many bytes it occupies through its `STOP`, if one was reached at all.
    pub consumed: Option<usize>,
}

/// [`read`], but behind an opcode that is refused the rest is followed all the same, as far as
/// opcodes are told and find as many objects on the stack as they take: another reader of pickles
/// may accept what this one refuses, and would call what is named there.
pub fn read_lossy(bytes: &[u8], limits: &Limits) -> PartialPickle {
    let mut reader = Reader::new(bytes, limits);
    let outcome = reader.run();
    match outcome {
        Ok(consumed) => PartialPickle {
            graph: reader.graph,
            outcome,
            consumed: Some(consumed),
        },
        Err(error) => {
            let mut reader = Reader::new(bytes, limits);
            reader.is_recovering = true;
            let recovered = reader.run();
            PartialPickle {
                graph: reader.graph,
                outcome: Err(error),
                consumed: recovered.ok(),
            }
        }
    }
}

struct Reader<'a> {
    input: Input<'a>,
    graph: Graph,
    stack: Stack,
    memo: Memo,
    max_nodes: u64,
    /// The object that the opcode just before threw away.
    popped: Option<NodeId>,
    /// Bytes of names that `STACK_GLOBAL` copied.
    names_copied: u64,
    /// The newest protocol that `PROTO` or an opcode spoke of: before 2 there is no `PROTO`.
    protocol: u8,
    /// Whether opcodes are followed rather than understood.
    is_recovering: bool,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], limits: &Limits) -> Self {
        Self {
            input: Input::new(bytes, limits.max_pickle_bytes),
            graph: Graph::with_capacity((bytes.len() / BYTES_PER_NODE).min(MOST_RESERVED)),
            stack: Stack::default(),
            memo: Memo::new(limits.max_memo_entries),
            max_nodes: limits.max_pickle_nodes.min(u64::from(u32::MAX)),
            popped: None,
            names_copied: 0,
            protocol: 0,
            is_recovering: false,
        }
    }

    fn run(&mut self) -> Result<usize> {
        loop {
            let opcode = self.input.opcode().map_err(|error| self.placed(error))?;
            if opcode == opcode::STOP {
                let root = self.pop().map_err(|error| self.placed(error))?;
                self.graph.set_root(root);
                self.graph.set_protocol(self.protocol);
                return Ok(self.input.position());
            }
            self.protocol = self.protocol.max(opcode::protocol(opcode));
            let popped = self.popped.take();
            let step = if self.is_recovering && recovery::is_followed(opcode) {
                self.follow(opcode)
            } else {
                self.step(opcode, popped)
            };
            step.map_err(|error| self.placed(error))?;
        }
    }

    #[cold]
    fn placed(&self, error: Error) -> Error {
        error.at(self.input.start() as u64)
    }

    fn step(&mut self, opcode: u8, popped: Option<NodeId>) -> Result<()> {
        match opcode {
            // The most frequent ones of a checkpoint come first.
            opcode::BINGET => {
                let key = u64::from(self.input.u8()?);
                self.get(key, popped)
            }
            opcode::BINPUT => {
                let key = u64::from(self.input.u8()?);
                self.put(key)
            }
            opcode::LONG_BINGET => {
                let key = u64::from(self.input.u32()?);
                self.get(key, popped)
            }
            opcode::LONG_BINPUT => {
                let key = u64::from(self.input.u32()?);
                self.put(key)
            }
            opcode::MEMOIZE => {
                let key = self.memo.entries();
                self.put(key)
            }
            opcode::MARK => {
                self.stack.mark();
                Ok(())
            }
            opcode::BININT1 => {
                let value = i64::from(self.input.u8()?);
                self.push(Node::Int(value))
            }
            opcode::BINUNICODE => {
                let length = u64::from(self.input.u32()?);
                self.utf8(length)
            }
            opcode::SHORT_BINUNICODE => {
                let length = u64::from(self.input.u8()?);
                self.utf8(length)
            }
            opcode::BINUNICODE8 => {
                let length = self.input.u64()?;
                self.utf8(length)
            }
            opcode::TUPLE => {
                let items = self.take_marked()?;
                let node = Node::Tuple(items.into());
                self.push(node)
            }
            opcode::EMPTY_TUPLE => self.push(Node::Tuple(Box::default())),
            opcode::TUPLE1 => {
                let items = self.pop_array::<1>()?;
                self.push(Node::Tuple(Box::new(items)))
            }
            opcode::TUPLE2 => {
                let items = self.pop_array::<2>()?;
                self.push(Node::Tuple(Box::new(items)))
            }
            opcode::TUPLE3 => {
                let items = self.pop_array::<3>()?;
                self.push(Node::Tuple(Box::new(items)))
            }
            opcode::BINPERSID => {
                let pid = self.pop()?;
                self.push(Node::Persistent(pid))
            }
            opcode::REDUCE
            | opcode::NEWOBJ
            | opcode::NEWOBJ_EX
            | opcode::OBJ
            | opcode::INST
            | opcode::GLOBAL
            | opcode::STACK_GLOBAL
            | opcode::EXT1
            | opcode::EXT2
            | opcode::EXT4 => self.call_or_global(opcode),
            opcode::APPEND
            | opcode::APPENDS
            | opcode::SETITEM
            | opcode::SETITEMS
            | opcode::ADDITEMS
            | opcode::BUILD => self.mutate(opcode),
            opcode::POP | opcode::POP_MARK | opcode::DUP | opcode::PUT | opcode::GET => {
                self.stack_op(opcode, popped)
            }
            opcode::PROTO => self.proto(),
            opcode::FRAME => self.frame(),
            _ => self.push_literal(opcode),
        }
    }

    /// The opcodes that push plain data, but for the commonest.
    fn push_literal(&mut self, opcode: u8) -> Result<()> {
        let node = match opcode {
            opcode::NONE => Node::None,
            opcode::NEWTRUE => Node::Bool(true),
            opcode::NEWFALSE => Node::Bool(false),
            opcode::BININT2 => Node::Int(i64::from(self.input.u16()?)),
            opcode::BININT => Node::Int(i64::from(self.input.i32()?)),
            opcode::BINFLOAT => Node::Float(f64::from_be_bytes(self.input.array()?)),
            opcode::LONG1 => {
                let length = u64::from(self.input.u8()?);
                number::from_little_endian(self.input.take(length)?)
            }
            opcode::LONG4 => {
                let length = self.signed_length()?;
                number::from_little_endian(self.input.take(length)?)
            }
            opcode::INT => number::int(self.input.line()?)?,
            opcode::LONG => number::long(self.input.line()?)?,
            opcode::FLOAT => number::float(self.input.line()?)?,
            opcode::SHORT_BINSTRING => {
                let length = u64::from(self.input.u8()?);
                Node::ByteString(self.input.take(length)?.into())
            }
            opcode::BINSTRING => {
                let length = self.signed_length()?;
                Node::ByteString(self.input.take(length)?.into())
            }
            opcode::STRING => Node::ByteString(text::quoted(self.input.line()?)?.into()),
            opcode::UNICODE => Node::Str(text::raw_unicode_escape(self.input.line()?)?),
            opcode::SHORT_BINBYTES => {
                let length = u64::from(self.input.u8()?);
                Node::Bytes(self.input.take(length)?.into())
            }
            opcode::BINBYTES => {
                let length = u64::from(self.input.u32()?);
                Node::Bytes(self.input.take(length)?.into())
            }
            opcode::BINBYTES8 => {
                let length = self.input.u64()?;
                Node::Bytes(self.input.take(length)?.into())
            }
            opcode::BYTEARRAY8 => {
                let length = self.input.u64()?;
                Node::ByteArray(self.input.take(length)?.into())
            }
            opcode::EMPTY_LIST => Node::List(Vec::new()),
            opcode::EMPTY_DICT => Node::Dict(Vec::new()),
            opcode::EMPTY_SET => Node::Set(Vec::new()),
            opcode::LIST => Node::List(self.take_marked()?),
            opcode::DICT => Node::Dict(self.take_marked_pairs()?),
            opcode::FROZENSET => Node::FrozenSet(self.take_marked()?.into()),
            opcode::PERSID => {
                let pid = text::ascii(self.input.line()?)?;
                let pid = self.new_node(Node::Str(pid))?;
                Node::Persistent(pid)
            }
            // It gives a view of the same bytes.
            opcode::READONLY_BUFFER => return self.expect_buffer(),
            opcode::NEXT_BUFFER => {
                return Err(Error::unsupported(format!(
                    "`{}` asks for a buffer outside the pickle, which no file carries",
                    self.input.name()
                )));
            }
            other => {
                return Err(Error::unsupported(format!(
                    "expected a pickle opcode, found the byte `{other:#04x}`"
                )));
            }
        };
        self.push(node)
    }

    fn proto(&mut self) -> Result<()> {
        let protocol = self.input.u8()?;
        if protocol > HIGHEST_PROTOCOL {
            return Err(Error::unsupported(format!(
                "expected a pickle protocol up to {HIGHEST_PROTOCOL}, found `{protocol}`"
            )));
        }
        self.protocol = self.protocol.max(protocol);
        Ok(())
    }

    /// A frame's length must be there, as CPython's C unpickler demands; like it, this reader does
    /// not ask where the frame ends, for opcodes mean the same inside and outside.
    fn frame(&mut self) -> Result<()> {
        let length = self.input.u64()?;
        self.input.require(length)
    }

    fn utf8(&mut self, length: u64) -> Result<()> {
        let text = text::utf8(self.input.take(length)?)?;
        self.push(Node::Str(text))
    }

    /// A length that the format stores with a sign.
    fn signed_length(&mut self) -> Result<u64> {
        let length = self.input.i32()?;
        u64::try_from(length).map_err(|_| {
            Error::malformed(format!(
                "expected a length from 0 in `{}`, found `{length}`",
                self.input.name()
            ))
        })
    }

    /// The opcodes that only move objects between stack and memo, but for the commonest.
    fn stack_op(&mut self, opcode: u8, popped: Option<NodeId>) -> Result<()> {
        match opcode {
            opcode::POP => {
                if !self.stack.pop_empty_mark() {
                    let id = self.pop()?;
                    self.popped = self.keep_setter_call(id);
                }
                Ok(())
            }
            opcode::POP_MARK => {
                self.take_marked()?;
                Ok(())
            }
            opcode::DUP => {
                let id = self.top()?;
                self.stack.push(id);
                Ok(())
            }
            opcode::PUT => {
                let key = number::key(self.input.line()?)?;
                self.put(key)
            }
            _ => {
                let key = number::key(self.input.line()?)?;
                self.get(key, popped)
            }
        }
    }

    fn put(&mut self, key: u64) -> Result<()> {
        let id = self.top()?;
        self.memo.put(key, id)
    }

    fn get(&mut self, key: u64, popped: Option<NodeId>) -> Result<()> {
        let id = self.memo.get(key)?;
        if let Some(popped) = popped {
            self.keep_discarded_call(popped, id);
        }
        self.stack.push(id);
        Ok(())
    }

    fn new_node(&mut self, node: Node) -> Result<NodeId> {
        if self.graph.len() as u64 >= self.max_nodes {
            return Err(Error::limit(
                "max_pickle_nodes",
                self.max_nodes,
                self.max_nodes.saturating_add(1),
            ));
        }
        Ok(self.graph.push_at(node, self.input.start() as u64))
    }

    fn push(&mut self, node: Node) -> Result<()> {
        let id = self.new_node(node)?;
        self.stack.push(id);
        Ok(())
    }

    fn push_call(&mut self, call: Call) -> Result<()> {
        self.push(Node::Object(Box::new(Object {
            call,
            items: Vec::new(),
            pairs: Vec::new(),
            state: None,
        })))
    }

    fn pop(&mut self) -> Result<NodeId> {
        self.stack.pop().ok_or_else(|| self.underflow(1))
    }

    fn pop_array<const N: usize>(&mut self) -> Result<[NodeId; N]> {
        self.stack.pop_array().ok_or_else(|| self.underflow(N))
    }

    fn top(&self) -> Result<NodeId> {
        self.stack.top().ok_or_else(|| self.underflow(1))
    }

    fn take_marked(&mut self) -> Result<Vec<NodeId>> {
        self.stack.take_marked().ok_or_else(|| self.no_mark())
    }

    fn take_marked_pairs(&mut self) -> Result<Vec<(NodeId, NodeId)>> {
        let items = self.take_marked()?;
        let (pairs, rest) = items.as_chunks::<2>();
        if rest.is_empty() {
            Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
        } else {
            Err(Error::malformed(format!(
                "`{}` needs keys and values in pairs, found {} objects",
                self.input.name(),
                items.len()
            )))
        }
    }

    #[cold]
    fn underflow(&self, needed: usize) -> Error {
        Error::malformed(format!(
            "`{}` needs {needed} on the stack, found {} above the last mark",
            self.input.name(),
            self.stack.height()
        ))
    }

    #[cold]
    fn no_mark(&self) -> Error {
        Error::malformed(format!(
            "`{}` needs a `MARK` before it, found none",
            self.input.name()
        ))
    }
}
