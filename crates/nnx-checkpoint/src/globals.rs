//! The classes and functions that pickles name, and what is known of them.
//!
//! Nothing here imports or calls anything: a name is looked up in the tables of this module, and
//! what stands in none of them is unknown. Python's own unpickler would import whatever is named,
//! which is why a file that names `os.system` is refused even though it could do no harm here.

mod calls;
mod dangerous;
mod filling;
mod known;

use self::calls::{JudgedCalls, Use};
use crate::pickle::{Graph, Node, NodeId};

/// What is known of a class or function that a pickle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Standing {
    /// Plain data, or what PyTorch and NumPy rebuild their own objects with.
    Known,
    /// Neither: a class of somebody's own code, say.
    Unknown,
    /// Runs code, reaches into the system, or leads to what does.
    Dangerous,
}

impl Standing {
    /// What is known of `module.name`, with Python 2's and Python 3's names of a module alike.
    ///
    /// ```
    /// use nnx_checkpoint::Standing;
    ///
    /// assert_eq!(Standing::of("collections", "OrderedDict"), Standing::Known);
    /// assert_eq!(Standing::of("mine.models", "Net"), Standing::Unknown);
    /// assert_eq!(Standing::of("__builtin__", "eval"), Standing::Dangerous);
    /// // Python follows the dots: this is `os.system` as well.
    /// assert_eq!(Standing::of("torch.serialization", "os.system"), Standing::Dangerous);
    /// ```
    pub fn of(module: &str, name: &str) -> Self {
        if dangerous::is_dangerous(module, name) {
            Self::Dangerous
        } else if known::is_known(module, name) {
            Self::Known
        } else {
            Self::Unknown
        }
    }

    /// What is known of filling what a call of `module.name` gives, with items, keys or a state.
    ///
    /// A known class makes an object of its own. A known function may give back its argument, which
    /// can be any function of PyTorch's, say: what is filled then is not what the pickle made.
    ///
    /// ```
    /// use nnx_checkpoint::Standing;
    ///
    /// assert_eq!(Standing::of_filling("torch.nn", "Parameter"), Standing::Known);
    /// assert_eq!(
    ///     Standing::of_filling("torch.jit._pickle", "build_intlist"),
    ///     Standing::Dangerous
    /// );
    /// ```
    pub fn of_filling(module: &str, name: &str) -> Self {
        match Self::of(module, name) {
            Self::Known => filling::of_known(module, name),
            standing => standing,
        }
    }

    /// The standing in one word, for scripts: `known`, `unknown` or `dangerous`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Unknown => "unknown",
            Self::Dangerous => "dangerous",
        }
    }
}

/// A class or function that a pickle names. Nothing was imported or called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobalUse {
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
    /// What is known of it.
    pub standing: Standing,
}

/// What one graph names, and whether a careful reader refuses the file for it.
pub(crate) struct NamedGlobal {
    pub(crate) global: GlobalUse,
    /// Whether the name itself is dangerous, or is used as no sound pickle uses it: not where the
    /// arguments decide and name nothing of that kind.
    pub(crate) is_refused: bool,
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
    let calls = JudgedCalls::new(graph);
    let mut seen = std::collections::HashSet::new();
    let mut found = Vec::new();
    for (id, node) in graph.nodes() {
        let (module, name, standing, is_refused) = match node {
            Node::Global { module, name } => {
                if !seen.insert((&**module, &**name)) {
                    continue;
                }
                let (standing, is_refused) = match calls.of_global(module, name) {
                    Some(Use::Sound) => (Standing::Known, false),
                    Some(used) => (Standing::Dangerous, used == Use::Hostile),
                    None => match Standing::of(module, name) {
                        Standing::Unknown if is_script && is_of_script(module) => {
                            (Standing::Known, false)
                        }
                        standing => (standing, standing == Standing::Dangerous),
                    },
                };
                (module.to_string(), name.to_string(), standing, is_refused)
            }
            // The registry is Python's own, filled by whatever ran before: nobody can tell.
            Node::Extension(code) => (
                "copyreg".to_owned(),
                format!("extension {code}"),
                Standing::Unknown,
                false,
            ),
            _ => continue,
        };
        let global = GlobalUse {
            module,
            name,
            offset: graph.offset(id).map(|offset| offset.saturating_add(start)),
            entry: entry.map(str::to_owned),
            standing,
        };
        found.push(NamedGlobal { global, is_refused });
    }
    found
}

/// Module and name of the first dangerous class or function that the root of a graph leads to: what
/// a pickle written of the graph would name.
pub(crate) fn first_dangerous(graph: &Graph) -> Option<(String, String)> {
    let named = in_graph(graph, None, 0, false);
    let is_dangerous = |named: &NamedGlobal| named.global.standing == Standing::Dangerous;
    if !named.iter().any(is_dangerous) {
        return None;
    }
    let reached = graph.reachable(graph.root());
    let reached = reached.iter().filter_map(|id| graph.global(*id));
    let reached: std::collections::HashSet<_> = reached.collect();
    named.into_iter().find_map(|named| {
        let GlobalUse { module, name, .. } = &named.global;
        (is_dangerous(&named) && reached.contains(&(module.as_str(), name.as_str())))
            .then(|| (module.clone(), name.clone()))
    })
}

/// The `getattr`s and `functools.partial`s that a graph names and uses in their innocuous forms
/// alone (see `docs/security.md`), as nodes of the graph.
pub fn soundly_called(graph: &Graph) -> std::collections::HashSet<NodeId> {
    let calls = JudgedCalls::new(graph);
    let is_sound = |id: &NodeId| {
        let global = graph.global(*id);
        global.and_then(|(module, name)| calls.of_global(module, name)) == Some(Use::Sound)
    };
    graph.ids().filter(is_sound).collect()
}

/// A sentence about what is dangerous among the names, if anything is.
pub(crate) fn note(globals: &[GlobalUse]) -> Option<String> {
    /// Names that are spelled out.
    const SHOWN: usize = 3;
    let mut names: Vec<String> = Vec::new();
    for global in globals {
        let name = format!(
            "`{}`",
            crate::error::shown_path(&global.module, &global.name)
        );
        if global.standing == Standing::Dangerous && !names.contains(&name) {
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
fn is_of_script(module: &str) -> bool {
    module == "__torch__" || module.starts_with("__torch__.")
}

/// The function by which Python's own `pickle` restores a storage: it unpickles its argument.
pub(crate) const LOADS_BYTES: (&str, &str) = ("torch.storage", "_load_from_bytes");

/// Takes the function that restores a storage for known where all its calls were read, so that the
/// graph has a storage in the place of each: what their arguments name stands in the list on its own.
pub(crate) fn settle(globals: &mut [GlobalUse], graph: &Graph) {
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
        only.standing = Standing::Known;
    }
}

#[cfg(test)]
mod tests;
