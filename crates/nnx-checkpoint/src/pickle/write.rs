//! An object graph to pickle bytes.

mod batch;
mod container;
mod leaf;
mod output;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::container::Frame;
use self::output::Output;
use super::graph::{Call, Graph, Node, NodeId};
use super::opcode;
use crate::{Error, Limits, Result};

/// The oldest protocol that is written. Protocol 0 is text, and no checkpoint is written in it.
const LOWEST_PROTOCOL: u8 = 1;
/// The newest protocol there is.
const HIGHEST_PROTOCOL: u8 = 5;

/// Pickles a graph's root in the graph's protocol (1 to 5), byte for byte as CPython's C pickler
/// would: what it memoises and when, how it batches and frames, which of several opcodes it picks.
///
/// An unchanged graph that [`read`](super::read) took from such a pickle is written back to the
/// same bytes. Within a graph, two ids are two objects even if they are equal, and one id met
/// again is a reference to the first; that decides what is shared in the bytes.
///
/// ```
/// use nnx_checkpoint::{Limits, pickle};
///
/// // pickle.dumps([True, "x"], 2)
/// let bytes = b"\x80\x02]q\x00(\x88X\x01\x00\x00\x00xq\x01e.";
/// let (graph, _) = pickle::read(bytes, &Limits::default())?;
/// assert_eq!(pickle::write(&graph, &Limits::default())?, bytes);
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
///
/// # Errors
/// When the protocol is not one of 1 to 5 or has no opcode for an object (`bytes` before 3, sets
/// before 4, a bytearray before 5: earlier protocols spell them as calls); when an object contains
/// itself through tuples and calls alone; when a name has a line break; when
/// [`max_depth`](Limits::max_depth) or [`max_pickle_bytes`](Limits::max_pickle_bytes) is exceeded.
pub fn write(graph: &Graph, limits: &Limits) -> Result<Vec<u8>> {
    write_with_references(graph, limits).map(|(program, _)| program)
}

/// [`write()`], and the [`Node::Persistent`]s in the order in which the pickle refers to them: one
/// that several objects share is listed for each of them.
///
/// # Errors
/// As for [`write()`].
pub(crate) fn write_with_references(
    graph: &Graph,
    limits: &Limits,
) -> Result<(Vec<u8>, Vec<NodeId>)> {
    let protocol = graph.protocol();
    if !(LOWEST_PROTOCOL..=HIGHEST_PROTOCOL).contains(&protocol) {
        return Err(Error::unsupported(format!(
            "expected a pickle protocol from {LOWEST_PROTOCOL} to {HIGHEST_PROTOCOL} to write, \
             found `{protocol}`; set the graph's protocol to another"
        )));
    }
    Writer {
        graph,
        protocol,
        out: Output::default(),
        memo: vec![0; graph.len()],
        entered: vec![0; graph.len()],
        memo_len: 0,
        names: HashMap::new(),
        frames: Vec::new(),
        references: Vec::new(),
        max_depth: limits.max_depth,
        max_bytes: limits.max_pickle_bytes,
    }
    .run()
}

struct Writer<'a> {
    graph: &'a Graph,
    protocol: u8,
    out: Output,
    /// For each object its memo key plus one; 0 for those that have none.
    memo: Vec<u32>,
    /// For each object that is being written the size of the memo plus one at its beginning.
    entered: Vec<u32>,
    memo_len: u32,
    /// Memo keys of the names of globals that are no objects of the graph.
    names: HashMap<&'a str, u32>,
    /// The objects that are begun and not finished, outermost first.
    frames: Vec<Frame<'a>>,
    /// The references to objects outside the pickle that are written.
    references: Vec<NodeId>,
    max_depth: u64,
    max_bytes: u64,
}

impl<'a> Writer<'a> {
    fn run(mut self) -> Result<(Vec<u8>, Vec<NodeId>)> {
        if self.protocol >= 2 {
            self.out.write(&[opcode::PROTO, self.protocol]);
        }
        if self.protocol >= 4 {
            self.out.begin_framing();
        }
        self.save(self.graph.root())?;
        while let Some(mut frame) = self.frames.pop() {
            match self.advance(&mut frame)? {
                Some(child) => {
                    self.frames.push(frame);
                    self.save(child)?;
                }
                None => self.leave(&frame),
            }
        }
        self.out.write(&[opcode::STOP]);
        self.out.close_frame();
        self.check_size()?;
        Ok((self.out.into_bytes(), self.references))
    }

    /// Writes an object that is small or known, or begins one that has parts.
    fn save(&mut self, id: NodeId) -> Result<()> {
        self.check_size()?;
        self.out.boundary();
        let node = self.graph.node(id);
        if self.atom(node)? {
            return Ok(());
        }
        if let Some(key) = self.memo_key(id) {
            self.fetch(key);
            return Ok(());
        }
        match node {
            Node::Tuple(items) => {
                if items.len() > 3 || self.protocol < 2 {
                    self.op(opcode::MARK);
                }
                self.enter(id)
            }
            Node::List(_) => {
                self.op(opcode::EMPTY_LIST);
                self.memoize(id)?;
                self.enter(id)
            }
            Node::Dict(_) => {
                self.op(opcode::EMPTY_DICT);
                self.memoize(id)?;
                self.enter(id)
            }
            Node::Set(_) => {
                self.require(4, "a set")?;
                self.op(opcode::EMPTY_SET);
                self.memoize(id)?;
                self.enter(id)
            }
            Node::FrozenSet(_) => {
                self.require(4, "a frozenset")?;
                self.op(opcode::MARK);
                self.enter(id)
            }
            Node::Persistent(_) => self.enter(id),
            Node::Object(object) => {
                match object.call {
                    Call::Reduce { .. } => {}
                    Call::New { .. } => self.require(2, "an object made by `NEWOBJ`")?,
                    Call::NewEx { .. } => self.require(4, "an object made by `NEWOBJ_EX`")?,
                    Call::Instance { .. } => self.op(opcode::MARK),
                }
                self.enter(id)
            }
            Node::Global { module, name } => self.global(id, module, name),
            _ => self.leaf(id, node),
        }
    }

    fn op(&mut self, opcode: u8) {
        self.out.write(&[opcode]);
    }

    /// Gives an object the next memo key.
    fn memoize(&mut self, id: NodeId) -> Result<()> {
        let key = self.next_key()?;
        if let Some(slot) = self.memo.get_mut(id.index()) {
            *slot = key.saturating_add(1);
        }
        Ok(())
    }

    /// Writes that the object on the stack gets the next memo key, and returns that key.
    fn next_key(&mut self) -> Result<u32> {
        let key = self.memo_len;
        self.memo_len = key.checked_add(1).ok_or_else(|| {
            Error::unsupported(format!("expected at most {key} objects in a memo"))
        })?;
        if self.protocol >= 4 {
            self.op(opcode::MEMOIZE);
        } else if let Ok(key) = u8::try_from(key) {
            self.out.write(&[opcode::BINPUT, key]);
        } else {
            self.op(opcode::LONG_BINPUT);
            self.out.write(&key.to_le_bytes());
        }
        Ok(key)
    }

    fn memo_key(&self, id: NodeId) -> Option<u32> {
        self.memo.get(id.index())?.checked_sub(1)
    }

    fn fetch(&mut self, key: u32) {
        if let Ok(key) = u8::try_from(key) {
            self.out.write(&[opcode::BINGET, key]);
        } else {
            self.op(opcode::LONG_BINGET);
            self.out.write(&key.to_le_bytes());
        }
    }

    fn require(&self, protocol: u8, what: &str) -> Result<()> {
        if self.protocol >= protocol {
            Ok(())
        } else {
            Err(Error::unsupported(format!(
                "{what} needs pickle protocol {protocol}, found `{}`",
                self.protocol
            )))
        }
    }

    fn check_size(&self) -> Result<()> {
        let length = self.out.len() as u64;
        if length > self.max_bytes {
            return Err(Error::limit("max_pickle_bytes", self.max_bytes, length));
        }
        Ok(())
    }
}
