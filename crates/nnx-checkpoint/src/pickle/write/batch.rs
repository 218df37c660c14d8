//! Members in batches, as CPython's C pickler groups them.

use super::super::graph::NodeId;
use super::super::opcode;
use super::Writer;

/// Members between one `MARK` and its opcode.
const BATCH: usize = 1000;

/// The container of a batch of members: the C pickler has a routine for each, and they differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchKind {
    /// A list's.
    List,
    /// A dict's.
    Dict,
    /// A set's.
    Set,
    /// The items that an object is filled with.
    Items,
    /// The pairs that an object is filled with.
    Pairs,
}

/// The members themselves.
#[derive(Clone, Copy)]
pub(super) enum Members<'a> {
    Single(&'a [NodeId]),
    Paired(&'a [(NodeId, NodeId)]),
}

impl Members<'_> {
    fn len(self) -> usize {
        match self {
            Self::Single(items) => items.len(),
            Self::Paired(pairs) => pairs.len(),
        }
    }

    fn at(self, index: usize) -> Option<(NodeId, Option<NodeId>)> {
        match self {
            Self::Single(items) => items.get(index).map(|&item| (item, None)),
            Self::Paired(pairs) => pairs.get(index).map(|&(key, value)| (key, Some(value))),
        }
    }
}

/// How far the members are written.
#[derive(Default)]
pub(super) struct BatchProgress {
    next: usize,
    /// The opcode that will close the open batch.
    closing: Option<u8>,
    /// Members in the open batch.
    count: usize,
    /// The value that belongs to the key before.
    value: Option<NodeId>,
}

impl Writer<'_> {
    /// Writes the opcodes between the members and returns the next one, or none after the last.
    pub(super) fn next_member(
        &mut self,
        kind: BatchKind,
        members: Members<'_>,
        progress: &mut BatchProgress,
    ) -> Option<NodeId> {
        if let Some(value) = progress.value.take() {
            return Some(value);
        }
        loop {
            if let Some(closing) = progress.closing {
                let member = members.at(progress.next);
                if let Some((first, second)) = member.filter(|_| progress.count < BATCH) {
                    progress.next = progress.next.saturating_add(1);
                    progress.count = progress.count.saturating_add(1);
                    progress.value = second;
                    return Some(first);
                }
                self.op(closing);
                progress.closing = None;
                let again = match kind {
                    // After a full batch these look for another before they know of any member,
                    // so a multiple of 1,000 ends in an empty batch.
                    BatchKind::Dict | BatchKind::Set => progress.count == BATCH,
                    BatchKind::List | BatchKind::Items | BatchKind::Pairs => member.is_some(),
                };
                if !again {
                    return None;
                }
            } else if members.len() == 0 {
                return None;
            }
            progress.count = 0;
            let left = members.len().saturating_sub(progress.next);
            let alone = match kind {
                BatchKind::List | BatchKind::Dict => members.len() == 1,
                BatchKind::Set => false,
                BatchKind::Items | BatchKind::Pairs => left == 1,
            };
            if !alone {
                self.op(opcode::MARK);
            }
            progress.closing = Some(match (kind, alone) {
                (BatchKind::List | BatchKind::Items, true) => opcode::APPEND,
                (BatchKind::List | BatchKind::Items, false) => opcode::APPENDS,
                (BatchKind::Dict | BatchKind::Pairs, true) => opcode::SETITEM,
                (BatchKind::Dict | BatchKind::Pairs, false) => opcode::SETITEMS,
                (BatchKind::Set, _) => opcode::ADDITEMS,
            });
        }
    }
}
