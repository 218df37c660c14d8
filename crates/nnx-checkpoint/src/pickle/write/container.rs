//! Objects with parts, written without recursion.

use super::super::graph::{Call, Change, Node, NodeId};
use super::super::opcode;
use super::Writer;
use super::batch::{BatchKind, BatchProgress, Members};
use crate::{Error, Result};

/// An object that is begun and not finished.
pub(super) struct Frame<'a> {
    id: NodeId,
    /// The call that makes the object at this place, if it is not the object's own.
    discarded: Option<&'a Call>,
    stage: Stage,
    /// Parts of that stage that are written.
    next: usize,
    progress: BatchProgress,
    /// The result of [`Writer::entered`] for the object.
    outer: u32,
}

/// How far an object is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The objects that are written before this one exists: members of a tuple, callable and
    /// arguments.
    Parts,
    Items,
    Pairs,
    State,
    Built,
    Changes,
}

impl<'a> Writer<'a> {
    /// Begins an object that has parts.
    pub(super) fn enter(&mut self, id: NodeId) -> Result<()> {
        let depth = (self.frames.len() as u64).saturating_add(1);
        if depth > self.max_depth {
            return Err(Error::limit("max_depth", self.max_depth, depth));
        }
        let now = self.memo_len.saturating_add(1);
        let mut outer = 0;
        if let Some(entered) = self.entered.get_mut(id.index()) {
            // Nothing new is known since the object was begun: it would go on for ever.
            if *entered == now {
                return Err(Error::malformed(format!(
                    "expected an object that can be made, found {} that contains itself",
                    self.graph.describe(id)
                )));
            }
            outer = std::mem::replace(entered, now);
        }
        self.frames.push(Frame {
            id,
            discarded: self.discarded_call(id),
            stage: Stage::Parts,
            next: 0,
            progress: BatchProgress::default(),
            outer,
        });
        Ok(())
    }

    /// Ends an object.
    pub(super) fn leave(&mut self, frame: &Frame<'a>) {
        if let Some(entered) = self.entered.get_mut(frame.id.index()) {
            *entered = frame.outer;
        }
    }

    /// Goes on to the next part to be written, or to the object's end.
    pub(super) fn advance(&mut self, frame: &mut Frame<'a>) -> Result<Option<NodeId>> {
        match self.graph.node(frame.id) {
            Node::Tuple(items) => self.tuple(frame, items),
            Node::FrozenSet(items) => {
                if let Some(&item) = items.get(frame.next) {
                    frame.next = frame.next.saturating_add(1);
                    return Ok(Some(item));
                }
                if let Some(key) = self.memo_key(frame.id) {
                    self.op(opcode::POP_MARK);
                    self.fetch(key);
                } else {
                    self.op(opcode::FROZENSET);
                    self.memoize(frame.id)?;
                }
                Ok(None)
            }
            Node::List(items) => {
                Ok(self.next_member(BatchKind::List, Members::Single(items), &mut frame.progress))
            }
            Node::Dict(pairs) => {
                Ok(self.next_member(BatchKind::Dict, Members::Paired(pairs), &mut frame.progress))
            }
            Node::Set(items) => {
                Ok(self.next_member(BatchKind::Set, Members::Single(items), &mut frame.progress))
            }
            Node::Persistent(pid) => {
                if frame.next == 0 {
                    frame.next = 1;
                    return Ok(Some(*pid));
                }
                self.op(opcode::BINPERSID);
                self.references.push(frame.id);
                Ok(None)
            }
            Node::Object(_) => self.object(frame),
            _ => Ok(None),
        }
    }

    fn tuple(&mut self, frame: &mut Frame<'a>, items: &[NodeId]) -> Result<Option<NodeId>> {
        if let Some(&item) = items.get(frame.next) {
            frame.next = frame.next.saturating_add(1);
            return Ok(Some(item));
        }
        let short = items.len() <= 3 && self.protocol >= 2;
        if let Some(key) = self.memo_key(frame.id) {
            // A member contained the tuple, so it exists by now: drop the members, fetch it.
            if short {
                for _ in items {
                    self.op(opcode::POP);
                }
            } else {
                self.op(opcode::POP_MARK);
            }
            self.fetch(key);
            return Ok(None);
        }
        self.op(match items.len() {
            1 if short => opcode::TUPLE1,
            2 if short => opcode::TUPLE2,
            3 if short => opcode::TUPLE3,
            _ => opcode::TUPLE,
        });
        self.memoize(frame.id)?;
        Ok(None)
    }

    fn object(&mut self, frame: &mut Frame<'a>) -> Result<Option<NodeId>> {
        let graph = self.graph;
        let Some(object) = graph.object(frame.id) else {
            return Ok(None);
        };
        loop {
            match frame.stage {
                Stage::Parts => {
                    let call = frame.discarded.unwrap_or(&object.call);
                    if let Some(part) = part(call, frame.next) {
                        frame.next = frame.next.saturating_add(1);
                        return Ok(Some(part));
                    }
                    self.op(match call {
                        Call::Reduce { .. } => opcode::REDUCE,
                        Call::New { .. } => opcode::NEWOBJ,
                        Call::NewEx { .. } => opcode::NEWOBJ_EX,
                        Call::Instance { .. } => opcode::OBJ,
                    });
                    if let Some(key) = self.memo_key(frame.id) {
                        self.op(opcode::POP);
                        self.fetch(key);
                        return Ok(None);
                    }
                    self.memoize(frame.id)?;
                    frame.stage = Stage::Items;
                }
                Stage::Items => {
                    let items = Members::Single(&object.items);
                    match self.next_member(BatchKind::Items, items, &mut frame.progress) {
                        Some(item) => return Ok(Some(item)),
                        None => frame.stage = Stage::Pairs,
                    }
                    frame.progress = BatchProgress::default();
                }
                Stage::Pairs => {
                    let pairs = Members::Paired(&object.pairs);
                    match self.next_member(BatchKind::Pairs, pairs, &mut frame.progress) {
                        Some(part) => return Ok(Some(part)),
                        None => frame.stage = Stage::State,
                    }
                }
                Stage::State => {
                    frame.next = 0;
                    match object.state {
                        Some(state) => {
                            frame.stage = Stage::Built;
                            return Ok(Some(state));
                        }
                        None => frame.stage = Stage::Changes,
                    }
                }
                Stage::Built => {
                    self.op(opcode::BUILD);
                    frame.stage = Stage::Changes;
                }
                Stage::Changes => return Ok(self.change(frame)),
            }
        }
    }

    /// Writes what is done to an object beyond its first `BUILD`. Of each change there are up to
    /// three parts, so `next` counts four steps a change, the last of which writes the opcodes.
    fn change(&mut self, frame: &mut Frame<'a>) -> Option<NodeId> {
        let changes = self.graph.changes(frame.id);
        loop {
            let change = changes.get(frame.next.checked_div(4)?)?;
            let step = frame.next.checked_rem(4)?;
            frame.next = frame.next.saturating_add(1);
            match (*change, step) {
                (Change::Build(state), 0) => return Some(state),
                (Change::Build(_), 3) => self.op(opcode::BUILD),
                (Change::Build(_), _) => {}
                (Change::Call { setter, .. }, 0) => return Some(setter),
                (Change::Call { .. }, 1) => return Some(frame.id),
                (Change::Call { state, .. }, 2) => return Some(state),
                (Change::Call { .. }, _) => {
                    self.out
                        .write(&[opcode::TUPLE2, opcode::REDUCE, opcode::POP]);
                }
            }
        }
    }

    /// The call to write for an object that is begun now: one whose result is dropped, if there are
    /// such and not all of them are begun already; none for the object's own.
    fn discarded_call(&self, id: NodeId) -> Option<&'a Call> {
        let discarded = &self.graph.extra(id)?.discarded;
        if discarded.is_empty() {
            return None;
        }
        let begun = self.frames.iter().filter(|frame| frame.id == id).count();
        discarded.iter().rev().nth(begun)
    }
}

/// The objects before the opcode of a call.
fn part(call: &Call, index: usize) -> Option<NodeId> {
    match (call, index) {
        (Call::Reduce { callable, .. }, 0) => Some(*callable),
        (Call::Reduce { args, .. }, 1) => Some(*args),
        (Call::New { class, .. } | Call::NewEx { class, .. } | Call::Instance { class, .. }, 0) => {
            Some(*class)
        }
        (Call::New { args, .. } | Call::NewEx { args, .. }, 1) => Some(*args),
        (Call::NewEx { kwargs, .. }, 2) => Some(*kwargs),
        (Call::Instance { args, .. }, _) => args.get(index.checked_sub(1)?).copied(),
        _ => None,
    }
}
