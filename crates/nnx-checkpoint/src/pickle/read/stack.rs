//! The unpickler's stack, with its marks on a stack of their own.

use super::super::graph::NodeId;

/// No opcode but those that consume a mark reaches below the last one, as in CPython's C
/// unpickler.
#[derive(Default)]
pub(super) struct Stack {
    objects: Vec<NodeId>,
    marks: Vec<usize>,
    /// Where the last mark is, or 0.
    fence: usize,
}

impl Stack {
    pub(super) fn push(&mut self, id: NodeId) {
        self.objects.push(id);
    }

    pub(super) fn mark(&mut self) {
        self.fence = self.objects.len();
        self.marks.push(self.fence);
    }

    /// How many objects are above the last mark.
    pub(super) fn height(&self) -> usize {
        self.objects.len().saturating_sub(self.fence)
    }

    pub(super) fn top(&self) -> Option<NodeId> {
        self.above().last().copied()
    }

    pub(super) fn pop(&mut self) -> Option<NodeId> {
        if self.height() == 0 {
            return None;
        }
        self.objects.pop()
    }

    /// The objects on top, which stay.
    pub(super) fn last<const N: usize>(&self) -> Option<&[NodeId; N]> {
        self.above().last_chunk()
    }

    pub(super) fn pop_array<const N: usize>(&mut self) -> Option<[NodeId; N]> {
        let array = *self.last()?;
        self.objects.truncate(self.objects.len().saturating_sub(N));
        Some(array)
    }

    /// Removes the last mark if nothing is above it.
    pub(super) fn pop_empty_mark(&mut self) -> bool {
        self.height() == 0 && self.pop_mark().is_some()
    }

    /// Removes the last mark and the objects above it.
    pub(super) fn take_marked(&mut self) -> Option<Vec<NodeId>> {
        let mark = self.pop_mark()?;
        Some(self.objects.split_off(mark))
    }

    fn pop_mark(&mut self) -> Option<usize> {
        let mark = self.marks.pop()?;
        self.fence = self.marks.last().copied().unwrap_or(0);
        Some(mark)
    }

    fn above(&self) -> &[NodeId] {
        self.objects.get(self.fence..).unwrap_or(&[])
    }
}
