//! The lists of values that NNx's frozen dataclasses pickle to.

use indexmap::IndexMap;

use crate::error::{Error, Result};
use crate::pickle::{Call, Graph, NodeId};
use crate::torch::PickledObject;

/// An instance of one of NNx's slotted dataclasses: the values of its fields, by position, as
/// `BUILD` hands them to the class's `__setstate__`.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataclassState<'a> {
    pub(super) graph: &'a Graph,
    pub(super) class: &'static str,
    pub(super) fields: &'static [&'static str],
    /// Fewer values than fields where an older version wrote them, more where a newer one did.
    pub(super) values: &'a [NodeId],
}

impl<'a> DataclassState<'a> {
    /// The class of an object that is an instance made without arguments: module and name.
    pub(super) fn class_of(graph: &Graph, id: NodeId) -> Option<(&str, &str)> {
        match graph.object(id)?.call {
            Call::New { class, .. } => graph.global(class),
            _ => None,
        }
    }

    /// The state of an object that was made without arguments and given nothing but that state.
    pub(super) fn state_of(graph: &Graph, id: NodeId) -> Option<NodeId> {
        let object = graph.object(id)?;
        let Call::New { args, .. } = object.call else {
            return None;
        };
        let bare = graph.sequence(args)?.is_empty();
        let unfilled = object.items.is_empty() && object.pairs.is_empty();
        object.state.filter(|_| bare && unfilled)
    }

    /// The value of a field; none when the list ends before it.
    pub(super) fn get(&self, field: &str) -> Option<NodeId> {
        let position = self.fields.iter().position(|name| *name == field)?;
        self.values.get(position).copied()
    }

    /// [`get`](Self::get) for a field that every version wrote.
    ///
    /// # Errors
    /// When the list ends before it.
    pub(super) fn require(&self, field: &str) -> Result<NodeId> {
        self.get(field).ok_or_else(|| {
            Error::malformed(format!(
                "the {} values of `{}` end before its field `{field}`",
                self.values.len(),
                self.class
            ))
        })
    }

    /// [`get`](Self::get), with `None` taken as absent.
    pub(super) fn optional(&self, field: &str) -> Option<NodeId> {
        self.get(field).filter(|&id| !self.graph.is_none(id))
    }

    /// The fields with their values, as far as the list goes.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, NodeId)> + use<'a> {
        self.fields.iter().copied().zip(self.values.iter().copied())
    }

    /// Values behind the last field that this version knows.
    pub(super) fn unknown_fields(&self) -> &'a [NodeId] {
        self.values.get(self.fields.len()..).unwrap_or_default()
    }
}

/// Values that a newer version of NNx added behind the fields known here, by the place of the
/// object that they belong to, such as `idp.train_edp`.
pub(super) type UnknownFields = IndexMap<String, Vec<PickledObject>>;
