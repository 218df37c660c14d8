//! Graphs of any objects.

use nnx_checkpoint::pickle::{Call, Graph, Node, NodeId, Object, Text};

use crate::supply::Supply;

/// Objects of a graph, at most: their nesting stays below the limit.
const MAX_OBJECTS: usize = 200;

/// A graph of any objects that pickle protocol `protocol` (2 to 5) can spell. Its lists, dicts,
/// sets and objects may contain each other and themselves; tuples and arguments may not contain
/// themselves without one of those between, for no pickle can say that.
pub(crate) fn graph(supply: &mut Supply<'_>, protocol: u8) -> Graph {
    let mut graph = Graph::new(protocol);
    let mut made = vec![graph.root()];
    while made.len() < MAX_OBJECTS && !supply.is_empty() {
        let node = node(supply, &mut graph, &made, protocol);
        made.push(graph.push(node));
    }
    for &id in &made {
        fill(supply, &mut graph, id, &made);
    }
    // The last ones know the most others.
    let root = made[made.len() - 1 - supply.below(made.len())];
    graph.set_root(root);
    graph
}

fn pick(supply: &mut Supply<'_>, made: &[NodeId]) -> NodeId {
    // Near ones more often than far ones: that nests deeper.
    let back = supply.below(8).min(made.len() - 1);
    if supply.bool() {
        made[made.len() - 1 - back]
    } else {
        made[supply.below(made.len())]
    }
}

fn picks(supply: &mut Supply<'_>, made: &[NodeId]) -> Vec<NodeId> {
    (0..supply.below(6)).map(|_| pick(supply, made)).collect()
}

fn node(supply: &mut Supply<'_>, graph: &mut Graph, made: &[NodeId], protocol: u8) -> Node {
    match supply.below(22) {
        0 => Node::None,
        1 => Node::Bool(supply.bool()),
        2 | 3 => Node::Int(supply.number().cast_signed()),
        4 => {
            // Ten bytes or more, of which the first does not repeat the sign.
            let length = supply.below(300);
            let mut bytes = supply.bytes(9 + length);
            bytes.push(1 + supply.byte() % 0x7e);
            Node::BigInt(bytes.into())
        }
        5 => Node::Float(f64::from_bits(supply.number())),
        6 | 7 => Node::Str(Text::Utf8(supply.text().into())),
        8 => Node::Str(Text::Surrogates(b"a\xed\xa0\x80"[..].into())),
        9 => {
            let length = supply.below(300);
            Node::ByteString(supply.bytes(length).into())
        }
        10 if protocol >= 3 => {
            let length = supply.below(300);
            Node::Bytes(supply.bytes(length).into())
        }
        11 if protocol >= 5 => {
            let length = supply.below(300);
            Node::ByteArray(supply.bytes(length).into())
        }
        12 => Node::Extension(1 + u32::from(supply.byte()) * 300),
        13 | 14 => Node::Tuple(picks(supply, made).into()),
        15 if protocol >= 4 => Node::FrozenSet(picks(supply, made).into()),
        16 if protocol >= 4 => Node::Set(Vec::new()),
        17 => Node::Persistent(pick(supply, made)),
        18 => global(supply),
        19 | 20 => {
            let call = call(supply, graph, made, protocol);
            Node::Object(Box::new(Object {
                call,
                items: Vec::new(),
                pairs: Vec::new(),
                state: None,
            }))
        }
        even if even % 2 == 0 => Node::List(Vec::new()),
        _ => Node::Dict(Vec::new()),
    }
}

fn global(supply: &mut Supply<'_>) -> Node {
    const NAMES: &[(&str, &str)] = &[
        ("collections", "OrderedDict"),
        ("torch._utils", "_rebuild_tensor_v2"),
        ("a.b", "C.d"),
        ("collections", "C.d"),
    ];
    let (module, name) = NAMES[supply.below(NAMES.len())];
    Node::Global {
        module: module.into(),
        name: name.into(),
    }
}

fn call(supply: &mut Supply<'_>, graph: &mut Graph, made: &[NodeId], protocol: u8) -> Call {
    let known = made.iter().copied().find(|&id| graph.global(id).is_some());
    let class = match known {
        Some(class) if supply.bool() => class,
        _ => {
            let class = global(supply);
            graph.push(class)
        }
    };
    let items = picks(supply, made);
    match supply.below(4) {
        0 => {
            let args = graph.push(Node::Tuple(items.into()));
            Call::New { class, args }
        }
        1 if protocol >= 4 => {
            let args = graph.push(Node::Tuple(items.into()));
            let kwargs = graph.push(Node::Dict(Vec::new()));
            Call::NewEx {
                class,
                args,
                kwargs,
            }
        }
        2 => Call::Instance {
            class,
            args: items.into(),
        },
        _ => {
            let args = graph.push(Node::Tuple(items.into()));
            Call::Reduce {
                callable: class,
                args,
            }
        }
    }
}

/// Gives what exists before its members some, made before or after it.
fn fill(supply: &mut Supply<'_>, graph: &mut Graph, id: NodeId, made: &[NodeId]) {
    let items = match graph.node(id) {
        Node::List(_) | Node::Dict(_) | Node::Set(_) | Node::Object(_) => picks(supply, made),
        _ => return,
    };
    let pairs = |items: &[NodeId]| {
        items
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect()
    };
    let (has_items, has_pairs, has_state) = (supply.bool(), supply.bool(), supply.bool());
    match graph.node_mut(id) {
        Node::List(members) | Node::Set(members) => *members = items,
        Node::Dict(members) => *members = pairs(&items),
        Node::Object(object) => {
            if has_pairs {
                object.pairs = pairs(&items);
            }
            if has_state {
                object.state = items.first().copied();
            }
            if has_items {
                object.items = items;
            }
        }
        _ => {}
    }
}
