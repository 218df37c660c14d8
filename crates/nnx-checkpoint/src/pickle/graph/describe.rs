//! Objects in words, for messages to people.

use super::{Call, Graph, Node, NodeId};
use crate::error::{shown, shown_path};

impl Graph {
    /// A short description of an object, such as ``a dict of 6 items``, ``the integer `5` `` or
    /// ``an object of `torch.nn.Linear` ``.
    ///
    /// ```
    /// use nnx_checkpoint::pickle::{Graph, Node};
    ///
    /// let mut graph = Graph::new(2);
    /// let list = graph.push(Node::List(vec![graph.root()]));
    /// assert_eq!(graph.describe(list), "a list of 1 item");
    /// ```
    pub fn describe(&self, id: NodeId) -> String {
        match self.node(id) {
            Node::None => "`None`".to_owned(),
            Node::Bool(true) => "`True`".to_owned(),
            Node::Bool(false) => "`False`".to_owned(),
            Node::Int(value) => format!("the integer `{value}`"),
            Node::BigInt(bytes) => format!("an integer of {}", count(bytes.len(), "byte")),
            Node::Float(value) => format!("the float `{value}`"),
            Node::Str(text) => match text.as_str() {
                Some(text) => format!("the text `{}`", shown(text)),
                None => "a text with lone surrogates".to_owned(),
            },
            Node::ByteString(bytes) => format!("a byte string of {}", count(bytes.len(), "byte")),
            Node::Bytes(bytes) => format!("`bytes` of {}", count(bytes.len(), "byte")),
            Node::ByteArray(bytes) => format!("a bytearray of {}", count(bytes.len(), "byte")),
            Node::Tuple(items) => format!("a tuple of {}", count(items.len(), "item")),
            Node::List(items) => format!("a list of {}", count(items.len(), "item")),
            Node::Dict(pairs) => format!("a dict of {}", count(pairs.len(), "item")),
            Node::Set(items) => format!("a set of {}", count(items.len(), "item")),
            Node::FrozenSet(items) => format!("a frozenset of {}", count(items.len(), "item")),
            Node::Global { module, name } => {
                format!("the class or function `{}`", shown_path(module, name))
            }
            Node::Extension(code) => format!("the `copyreg` extension {code}"),
            Node::Persistent(_) => "an object outside the pickle".to_owned(),
            Node::Object(object) => self.describe_call(&object.call),
        }
    }

    fn describe_call(&self, call: &Call) -> String {
        let (class, makes_its_own) = match call {
            Call::Reduce { callable, args } => match self.global(*callable) {
                // Protocols 0 and 1 make ordinary objects so: `_reconstructor(class, base, state)`.
                Some(("copyreg" | "copy_reg", "_reconstructor")) => (
                    self.sequence(*args)
                        .and_then(|args| args.first())
                        .unwrap_or(callable),
                    true,
                ),
                Some((_, name)) => (callable, looks_like_a_class(name)),
                None => (callable, false),
            },
            Call::New { class, .. } | Call::NewEx { class, .. } | Call::Instance { class, .. } => {
                (class, true)
            }
        };
        let Some((module, name)) = self.global(*class) else {
            return "an object of a class made on the way".to_owned();
        };
        let path = shown_path(module, name);
        if makes_its_own {
            format!("an object of `{path}`")
        } else {
            format!("what a call of `{path}` makes")
        }
    }
}

/// Whether the last part of a dotted name begins as classes do. Names longer than any in use are
/// not searched: very many objects may share one.
fn looks_like_a_class(name: &str) -> bool {
    const LONGEST: usize = 1024;
    name.len() <= LONGEST
        && name
            .rsplit('.')
            .next()
            .is_some_and(|last| last.starts_with(char::is_uppercase))
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
