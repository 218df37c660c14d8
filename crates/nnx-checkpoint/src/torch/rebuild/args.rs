//! Arguments of rebuild calls.

use crate::Dtype;
use crate::error::{Error, Result, shown};
use crate::pickle::{Call, Graph, Node, NodeId};

/// An offset, a size or a stride.
pub(super) fn count(graph: &Graph, id: NodeId) -> Result<usize> {
    graph
        .int(id)
        .and_then(|value| usize::try_from(value).ok())
        .ok_or_else(|| {
            Error::malformed(format!(
                "offsets, sizes and strides must be whole numbers from 0, got {}",
                graph.describe(id)
            ))
        })
}

/// Dimensions that a tensor may have. PyTorch's own operators stop at 64; many tensors can share one
/// shape in the file, and each would get a copy of it.
pub(in crate::torch) const MAX_RANK: usize = 128;

/// Refuses a tensor of more than [`MAX_RANK`] dimensions.
pub(in crate::torch) fn check_dimensions(rank: usize) -> Result<()> {
    if rank <= MAX_RANK {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "a tensor of {rank} dimensions is not read, only those of up to {MAX_RANK} are"
    )))
}

/// Attributes that a tensor may have. Many tensors can share one dict of them in the file, and it is
/// searched for each.
const MAX_ATTRIBUTES: usize = 1024;

/// Refuses a tensor of more than [`MAX_ATTRIBUTES`] attributes.
pub(super) fn check_attributes(count: usize) -> Result<()> {
    if count <= MAX_ATTRIBUTES {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "a tensor with {count} attributes is not read, only those with up to {MAX_ATTRIBUTES} are"
    )))
}

/// Sizes or strides: a tuple, or a `torch.Size` of one.
pub(super) fn counts(graph: &Graph, id: NodeId) -> Result<Vec<usize>> {
    let members = graph
        .sequence(id)
        .or_else(|| size_members(graph, id))
        .ok_or_else(|| {
            Error::malformed(format!(
                "sizes and strides must be tuples, got {}",
                graph.describe(id)
            ))
        })?;
    check_dimensions(members.len())?;
    members.iter().map(|&id| count(graph, id)).collect()
}

/// The members of a `torch.Size`.
fn size_members(graph: &Graph, id: NodeId) -> Option<&[NodeId]> {
    let object = graph.object(id)?;
    let (Call::Reduce {
        callable: class,
        args,
    }
    | Call::New { class, args }) = object.call
    else {
        return None;
    };
    match (graph.global(class)?, graph.sequence(args)?) {
        (("torch", "Size"), &[members]) => graph.sequence(members),
        _ => None,
    }
}

/// A truth value.
pub(super) fn boolean(graph: &Graph, id: NodeId, what: &str) -> Result<bool> {
    graph.bool(id).ok_or_else(|| {
        Error::malformed(format!(
            "`{what}` must be a bool, got {}",
            graph.describe(id)
        ))
    })
}

/// The backward hooks of a tensor, of which there must be none: they are code.
pub(super) fn no_hooks(graph: &Graph, id: NodeId) -> Result<()> {
    let is_none = match graph.node(id) {
        Node::None => true,
        Node::Dict(pairs) => pairs.is_empty(),
        Node::List(items) => items.is_empty(),
        Node::Tuple(items) => items.is_empty(),
        Node::Object(object) => {
            object.items.is_empty()
                && object.pairs.is_empty()
                && is_empty_ordered_dict(graph, &object.call)
        }
        _ => false,
    };
    if is_none && graph.changes(id).is_empty() {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "a tensor with backward hooks is not read, because they are code; they are {}",
        graph.describe(id)
    )))
}

/// Whether a call makes an `OrderedDict` of nothing.
fn is_empty_ordered_dict(graph: &Graph, call: &Call) -> bool {
    let (Call::Reduce {
        callable: class,
        args,
    }
    | Call::New { class, args }) = *call
    else {
        return false;
    };
    graph.global(class) == Some(("collections", "OrderedDict"))
        && match graph.sequence(args) {
            Some([]) => true,
            Some(&[arg]) => {
                graph.sequence(arg).is_some_and(<[NodeId]>::is_empty)
                    && graph.changes(arg).is_empty()
            }
            _ => false,
        }
}

/// A dtype, such as `torch.float32`.
pub(super) fn dtype(graph: &Graph, id: NodeId) -> Result<Dtype> {
    match graph.global(id) {
        Some(("torch", name)) => Dtype::from_name(name).ok_or_else(|| {
            Error::unsupported(format!("`torch.{}` is no dtype known here", shown(name)))
        }),
        _ => Err(Error::malformed(format!(
            "a tensor's dtype must be a dtype of `torch`, got {}",
            graph.describe(id)
        ))),
    }
}

/// The lazy bits `{'conj': True, 'neg': True}` that follow the other arguments, where there are some.
/// PyTorch sets a bit when its key is there, whatever the value.
pub(super) fn lazy_bits(graph: &Graph, metadata: Option<NodeId>) -> Result<(bool, bool)> {
    let pairs = match metadata.map(|id| (id, graph.node(id))) {
        None | Some((_, Node::None)) => return Ok((false, false)),
        Some((_, Node::Dict(pairs))) => pairs,
        Some((id, _)) => {
            return Err(Error::malformed(format!(
                "a tensor's metadata must be a dict, got {}",
                graph.describe(id)
            )));
        }
    };
    check_attributes(pairs.len())?;
    let (mut conj, mut neg) = (false, false);
    for &(key, value) in pairs {
        match graph.text(key) {
            Some("conj") => {
                boolean(graph, value, "conj")?;
                conj = true;
            }
            Some("neg") => {
                boolean(graph, value, "neg")?;
                neg = true;
            }
            _ => {
                return Err(Error::unsupported(format!(
                    "a tensor's metadata is `conj` or `neg`, got {}",
                    graph.describe(key)
                )));
            }
        }
    }
    Ok((conj, neg))
}
