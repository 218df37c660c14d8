//! The entries that PyTorch's quantised modules add to their `state_dict()`.
//!
//! The classes are those of `torch.ao.nn.quantized` (until PyTorch 1.13 `torch.nn.quantized`), its
//! `dynamic` part, and their kin under `torch.ao.nn.intrinsic` and `torch.ao.nn.sparse`; each
//! adds what its `_save_to_state_dict` does. Weights are in a packed object of PyTorch's C++ part (a
//! `torch.ScriptObject`), which `state_dict()` unpacks: to the tuple `(weight, bias)` for a
//! linear layer, to one tensor for an embedding.

use super::{Child, Role, class};
use crate::pickle::{Call, Graph, Node, NodeId, Object};

/// How a class adds one of its attributes.
#[derive(Clone, Copy, Debug)]
enum Addition {
    /// As it is.
    Attribute(&'static str),
    /// `torch.tensor(attribute)`.
    Number(&'static str),
    /// The one weight that a packed embedding holds.
    PackedWeight(&'static str),
}

use Addition::{Attribute, Number, PackedWeight};

const SCALE_AND_ZERO_POINT: &[Addition] = &[Number("scale"), Number("zero_point")];

/// The attributes that a module's class adds, in the order of its `state_dict()`.
fn additions(class: &str) -> &'static [Addition] {
    match class {
        "Linear" | "LinearReLU" | "LinearLeakyReLU" | "LinearTanh" | "QFunctional" => {
            SCALE_AND_ZERO_POINT
        }
        "LinearPackedParams" => &[Attribute("dtype"), Attribute("_packed_params")],
        "EmbeddingPackedParams" => &[Attribute("dtype"), PackedWeight("_packed_weight")],
        "PackedParameter" => &[Attribute("param")],
        "RNNCellBase" | "RNNCell" | "LSTMCell" | "GRUCell" => &[
            Attribute("_packed_weight_ih"),
            Attribute("_packed_weight_hh"),
        ],
        _ => &[],
    }
}

/// The values that quantised convolutions pickle instead of their attributes, in this order.
const CONVOLUTION: [&str; 15] = [
    "in_channels",
    "out_channels",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "transposed",
    "output_padding",
    "groups",
    "padding_mode",
    "weight",
    "bias",
    "scale",
    "zero_point",
    "training",
];

/// The values that sparse packed parameters pickle instead of their attributes, in this order.
const SPARSE_PACKED: [&str; 3] = ["_packed_params", "training", "dtype"];

/// Longer than the module of any of these classes: very many objects may share one name.
const LONGEST_MODULE: usize = 128;

/// The name of a class, if it is one of the quantised modules.
fn quantized_class<'a>(graph: &'a Graph, object: &Object) -> Option<&'a str> {
    let (module, name) = class(graph, object)?;
    let is_one = module.len() <= LONGEST_MODULE
        && (module.starts_with("torch.ao.nn.") || module.starts_with("torch.nn."))
        && module.split('.').any(|part| part == "quantized");
    is_one.then_some(name)
}

/// Adds what the class of a module with those attributes adds to its `state_dict()`; gives the
/// attributes that are told so.
pub(super) fn add<'a>(
    graph: &'a Graph,
    module: &Object,
    attributes: NodeId,
    children: &mut Vec<Child<'a>>,
) -> Vec<&'static str> {
    let Some(class) = quantized_class(graph, module) else {
        return Vec::new();
    };
    let mut told = Vec::new();
    for &addition in additions(class) {
        let (Attribute(name) | Number(name) | PackedWeight(name)) = addition;
        let Some(id) = graph.get(attributes, name) else {
            continue;
        };
        match addition {
            Attribute(_) => children.push(Child::new(name, id)),
            Number(_) => children.push(Child::with_role(name, id, Role::ScalarTensor)),
            PackedWeight(_) => packed_weight(graph, name, id, children),
        }
        told.push(name);
    }
    told
}

/// The weight of a packed embedding, whose state is `(version, [weight], [number], [number])`, by
/// the name of the whole; the rest below that name.
fn packed_weight<'a>(
    graph: &'a Graph,
    name: &'static str,
    packed: NodeId,
    children: &mut Vec<Child<'a>>,
) {
    let weight = || {
        let (state, _) = script_object(graph, graph.object(packed)?)?;
        let members = graph.sequence(state)?;
        match graph.sequence(*members.get(1)?)? {
            &[weight] => Some((weight, members)),
            _ => None,
        }
    };
    let Some((weight, members)) = weight() else {
        children.push(Child::new(name, packed));
        return;
    };
    children.push(Child::new(name, weight));
    for (index, &member) in members.iter().enumerate() {
        if index != 1 {
            let key = format!("{name}.{index}");
            children.push(Child::with_role(key, member, Role::NonPersistent));
        }
    }
}

/// The objects below a quantised module that pickles a tuple instead of its attributes: first what
/// its `state_dict()` has. None for all other objects.
pub(super) fn of_tuple<'a>(graph: &'a Graph, module: &Object) -> Option<Vec<Child<'a>>> {
    let Node::Tuple(values) = graph.node(module.state?) else {
        return None;
    };
    let class = quantized_class(graph, module)?;
    let (names, kept): (&[&str], &[Addition]) = if class.starts_with("Conv") {
        const KEPT: &[Addition] = &[
            Attribute("weight"),
            Attribute("bias"),
            Number("scale"),
            Number("zero_point"),
        ];
        (&CONVOLUTION, KEPT)
    } else if class == "LinearPackedParams" {
        (&SPARSE_PACKED, additions(class))
    } else {
        return None;
    };
    if names.len() != values.len() {
        return None;
    }
    let value = |name: &str| names.iter().zip(values).find(|pair| *pair.0 == name);
    let mut children = Vec::new();
    for addition in kept {
        let (role, Attribute(name) | Number(name) | PackedWeight(name)) = match addition {
            Number(_) => (Role::ScalarTensor, addition),
            _ => (Role::Persistent, addition),
        };
        children.extend(value(name).map(|(_, &id)| Child::with_role(*name, id, role)));
    }
    let is_kept = |name: &str| children.iter().any(|child| child.key == name);
    let rest: Vec<Child<'_>> = names
        .iter()
        .zip(values)
        .filter(|(name, _)| !is_kept(name))
        .map(|(name, &id)| Child::with_role(*name, id, Role::NonPersistent))
        .collect();
    children.extend(rest);
    Some(children)
}

/// The state of an object of PyTorch's C++ part, and the name of its class: such an object is
/// pickled as a `torch.ScriptObject` with the pair of both.
pub(in crate::reader) fn script_object<'a>(
    graph: &'a Graph,
    object: &Object,
) -> Option<(NodeId, &'a str)> {
    let (Call::New { class, .. }
    | Call::NewEx { class, .. }
    | Call::Reduce {
        callable: class, ..
    }) = object.call
    else {
        return None;
    };
    match (graph.global(class)?, graph.sequence(object.state?)?) {
        (("torch" | "torch._C", "ScriptObject"), &[state, name]) => {
            Some((state, graph.text(name)?))
        }
        _ => None,
    }
}
