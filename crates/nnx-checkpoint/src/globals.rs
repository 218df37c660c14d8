//! The classes and functions that pickles name, and how safe they are.
//!
//! Nothing here imports or calls anything: a name is looked up in the tables of this module, and
//! a name in neither of them is suspicious. Python's own unpickler would import whatever is named,
//! which is why a careful reader refuses a file that names `os.system` although it could do no harm
//! here.

mod calls;
mod dangerous;
mod known;
mod mutation;

use std::collections::HashSet;

use self::calls::{JudgedCalls, Use};
use crate::pickle::{Graph, Node, NodeId};

/// The safety of a class or function that a pickle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SafetyLevel {
    /// Plain data, or what PyTorch and NumPy rebuild their own objects with.
    Innocuous,
    /// Neither: a class of somebody's own code, say.
    Suspicious,
    /// Runs code, reaches into the system, or leads to a name that does.
    Dangerous,
}

impl SafetyLevel {
    /// The safety of `module.name`; the names of a module in Python 2 and in Python 3 are equal.
    ///
    /// ```
    /// use nnx_checkpoint::SafetyLevel;
    ///
    /// assert_eq!(SafetyLevel::of_global("collections", "OrderedDict"), SafetyLevel::Innocuous);
    /// assert_eq!(SafetyLevel::of_global("mine.models", "Net"), SafetyLevel::Suspicious);
    /// assert_eq!(SafetyLevel::of_global("__builtin__", "eval"), SafetyLevel::Dangerous);
    /// // Python follows the dots: this is `os.system` as well.
    /// assert_eq!(SafetyLevel::of_global("torch.serialization", "os.system"), SafetyLevel::Dangerous);
    /// ```
    pub fn of_global(module: &str, name: &str) -> Self {
        if dangerous::is_dangerous(module, name) {
            Self::Dangerous
        } else if known::is_known(module, name) {
            Self::Innocuous
        } else {
            Self::Suspicious
        }
    }

    /// The safety of changing the result of a call of `module.name`: adding items or keys to it, or
    /// giving it a state.
    ///
    /// A known class makes an object of its own. A known function may give back its argument, which
    /// can be any function of PyTorch's, say: the object that is filled then is not one that the
    /// pickle made.
    ///
    /// ```
    /// use nnx_checkpoint::SafetyLevel;
    ///
    /// assert_eq!(SafetyLevel::of_mutation("torch.nn", "Parameter"), SafetyLevel::Innocuous);
    /// assert_eq!(
    ///     SafetyLevel::of_mutation("torch.jit._pickle", "build_intlist"),
    ///     SafetyLevel::Dangerous
    /// );
    /// ```
    pub fn of_mutation(module: &str, name: &str) -> Self {
        match Self::of_global(module, name) {
            Self::Innocuous => mutation::of_known(module, name),
            level => level,
        }
    }

    /// The level in one word, for scripts: `known`, `unknown` or `dangerous`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Innocuous => "known",
            Self::Suspicious => "unknown",
            Self::Dangerous => "dangerous",
        }
    }
}

/// A class or function that a pickle names. Nothing was imported or called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobalRef {
    /// The Python module, as the pickle spells it.
    pub module: String,
    /// The name within the module, dotted for nested ones.
    pub name: String,
    /// Where it is named first: bytes from the start of the [`entry`](Self::entry) where there is
    /// one, else of the file.
    pub offset: Option<u64>,
    /// The archive entry of the pickle; behind the shard's name and a slash, where the checkpoint
    /// is sharded.
    pub entry: Option<String>,
    /// Its safety.
    pub level: SafetyLevel,
}

/// A global that a graph names, and whether a careful reader refuses the file because of it.
pub(crate) struct NamedGlobal {
    pub(crate) global: GlobalRef,
    /// Whether the name itself is dangerous, or is used as no sound pickle uses it: not where the
    /// arguments decide and name nothing of that kind.
    pub(crate) is_refused: bool,
    /// The code of an entry of the extension registry.
    pub(crate) extension: Option<u32>,
}

/// The classes and functions that one graph names, each once, in the order of their first naming.
/// `entry` is the archive entry that the pickle fills, `start` the byte of it where it begins.
/// In a TorchScript archive the classes of `__torch__` are those of the program beside the pickle.
pub(crate) fn in_graph(
    graph: &Graph,
    entry: Option<&str>,
    start: u64,
    is_script: bool,
) -> Vec<NamedGlobal> {
    // A graph has very many nodes and few names: it is gone through once.
    let is_named = |node: &Node| matches!(node, Node::Global { .. } | Node::Extension(_));
    let names: Vec<(NodeId, &Node)> = graph.nodes().filter(|(_, node)| is_named(node)).collect();
    let calls = JudgedCalls::new(graph, names.iter().map(|(id, _)| *id));
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (id, node) in names {
        let mut extension = None;
        let (module, name, level, is_refused) = match node {
            Node::Global { module, name } => {
                if !seen.insert((&**module, &**name)) {
                    continue;
                }
                let (level, is_refused) = match calls.of_global(module, name) {
                    Some(Use::Sound) => (SafetyLevel::Innocuous, false),
                    Some(used) => (SafetyLevel::Dangerous, used == Use::Hostile),
                    None => match SafetyLevel::of_global(module, name) {
                        SafetyLevel::Suspicious if is_script && is_of_script(module) => {
                            (SafetyLevel::Innocuous, false)
                        }
                        level => (level, level == SafetyLevel::Dangerous),
                    },
                };
                (module.to_string(), name.to_string(), level, is_refused)
            }
            // The registry is Python's own, filled by whatever ran before: nobody can tell.
            Node::Extension(code) => {
                extension = Some(*code);
                let name = format!("extension {code}");
                ("copyreg".to_owned(), name, SafetyLevel::Suspicious, false)
            }
            _ => continue,
        };
        let global = GlobalRef {
            module,
            name,
            offset: graph.offset(id).map(|offset| offset.saturating_add(start)),
            entry: entry.map(str::to_owned),
            level,
        };
        found.push(NamedGlobal {
            global,
            is_refused,
            extension,
        });
    }
    found
}

/// Module and name of the first dangerous class or function that the root of a graph leads to: a
/// pickle written of the graph would name it.
pub(crate) fn first_dangerous(graph: &Graph) -> Option<(String, String)> {
    let named = in_graph(graph, None, 0, false);
    let is_dangerous = |named: &NamedGlobal| named.global.level == SafetyLevel::Dangerous;
    if !named.iter().any(is_dangerous) {
        return None;
    }
    let reached = graph.reachable(graph.root());
    let reached = reached.iter().filter_map(|id| graph.global(*id));
    let reached: HashSet<_> = reached.collect();
    named.into_iter().find_map(|named| {
        let GlobalRef { module, name, .. } = &named.global;
        (is_dangerous(&named) && reached.contains(&(module.as_str(), name.as_str())))
            .then(|| (module.clone(), name.clone()))
    })
}

/// The `getattr`s and `functools.partial`s that a graph names and uses in their innocuous forms
/// alone (see `docs/security.md`), as nodes of the graph.
pub(crate) fn soundly_called(graph: &Graph) -> HashSet<NodeId> {
    let calls = JudgedCalls::new(graph, graph.ids());
    let is_sound = |id: &NodeId| {
        let global = graph.global(*id);
        global.and_then(|(module, name)| calls.of_global(module, name)) == Some(Use::Sound)
    };
    graph.ids().filter(is_sound).collect()
}

/// A sentence about what is dangerous among the names, if anything is.
pub(crate) fn note(globals: &[GlobalRef]) -> Option<String> {
    /// Names that are spelled out.
    const SHOWN: usize = 3;
    let mut names: Vec<String> = Vec::new();
    for global in globals {
        let name = format!(
            "`{}`",
            crate::error::shown_path(&global.module, &global.name)
        );
        if global.level == SafetyLevel::Dangerous && !names.contains(&name) {
            names.push(name);
        }
    }
    let rest = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    if rest > 0 {
        names.push(format!("{rest} more"));
    }
    let last = names.pop()?;
    let names = match names.as_slice() {
        [] => last,
        names => format!("{} and {last}", names.join(", ")),
    };
    Some(format!(
        "the file names {names}, which can run code when Python unpickles the file; nothing was \
         executed here"
    ))
}

/// Whether a class of the module is one that the program of a TorchScript archive defines.
pub(crate) fn is_of_script(module: &str) -> bool {
    module == "__torch__" || module.starts_with("__torch__.")
}

/// The function by which Python's own `pickle` restores a storage: it unpickles its argument.
pub(crate) const LOADS_BYTES: (&str, &str) = ("torch.storage", "_load_from_bytes");

/// Takes the function that restores a storage for known where all its calls were read, so that the
/// graph has a storage in the place of each: the names in their arguments are in the list as well.
pub(crate) fn settle(globals: &mut [GlobalRef], graph: &Graph) {
    let mut uses = globals
        .iter_mut()
        .filter(|global| (&*global.module, &*global.name) == LOADS_BYTES);
    // With a second list of names there is a second pickle, whose graph is not at hand.
    let (Some(only), None) = (uses.next(), uses.next()) else {
        return;
    };
    let is_loader = |id| graph.global(id) == Some(LOADS_BYTES);
    let mut is_left = is_loader(graph.root());
    for id in graph.ids() {
        graph.each_member(id, |member| is_left |= is_loader(member));
    }
    if !is_left {
        only.level = SafetyLevel::Innocuous;
    }
}

#[cfg(test)]
mod tests;
