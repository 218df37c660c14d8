//! Names that run code, reach into the system, or lead to such names.
//!
//! Python 3's name and Python 2's are side by side, because Python maps the old ones to the new
//! ones when it reads protocols 0 to 2. The names are from the documentation of the modules, from
//! the imports of the modules of Python 2.7 to 3.13, and from the names that scanners of pickles
//! publish.

mod modules;
mod names;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) use self::modules::MODULES;
use self::modules::{LEADS, PLAIN_LEADS};
pub(super) use self::names::NAMES;
use self::names::{ANYWHERE, INTERNALS, TORCH_METHODS};

/// Parts of a module's or another name, more of which serve nothing but to hide something, or to
/// keep a scanner busy.
const MAX_PARTS: usize = 32;

/// The dangerous names of a module.
#[derive(Clone, Copy)]
enum Below {
    /// Everything.
    All,
    /// These names.
    Named(&'static [&'static str]),
}

static BY_MODULE: LazyLock<Table<Below>> = LazyLock::new(|| {
    let modules = MODULES.iter().map(|&module| (module, Below::All));
    let names = NAMES
        .iter()
        .map(|&(module, names)| (module, Below::Named(names)));
    Table::new(modules.chain(names))
});
/// Parts that are dangerous at any place, and whether with underscores in front as well.
static PARTS: LazyLock<Table<bool>> = LazyLock::new(|| {
    let exact = INTERNALS.iter().chain(ANYWHERE).map(|&part| (part, false));
    let leads = LEADS.iter().chain(PLAIN_LEADS).map(|&part| (part, true));
    Table::new(exact.chain(leads))
});

/// A table of texts that is asked very often, mostly for texts that are longer than any of them.
struct Table<T> {
    longest: usize,
    map: HashMap<&'static str, T>,
}

impl<T: Copy> Table<T> {
    fn new(entries: impl Iterator<Item = (&'static str, T)>) -> Self {
        let map: HashMap<_, _> = entries.collect();
        let longest = map.keys().map(|text| text.len()).max().unwrap_or(0);
        Self { longest, map }
    }

    fn get(&self, text: &str) -> Option<T> {
        (text.len() <= self.longest).then(|| self.map.get(text).copied())?
    }
}

/// Plain records in modules that otherwise read and write files: the `.metadata` of a distributed
/// checkpoint consists of them. Making one runs no code but its own, which sets attributes.
pub(super) const RECORDS: &[(&str, &[&str])] = &[
    ("torch.distributed.checkpoint.filesystem", &["_StorageInfo"]),
    (
        "torch.distributed.checkpoint.metadata",
        &[
            "BytesStorageMetadata",
            "ChunkStorageMetadata",
            "Metadata",
            "MetadataIndex",
            "StorageMeta",
            "TensorProperties",
            "TensorStorageMetadata",
            "_MEM_FORMAT_ENCODING",
        ],
    ),
];

/// Whether the name is exactly that of a plain record.
pub(super) fn is_record(module: &str, name: &str) -> bool {
    let mut records = RECORDS.iter();
    records.any(|(own, names)| *own == module && names.contains(&name))
}

/// Whether a pickle that names this could run code with it.
pub(super) fn is_dangerous(module: &str, name: &str) -> bool {
    if is_record(module, name) {
        return false;
    }
    has_too_many(module)
        || has_too_many(name)
        || module
            .split('.')
            .skip(1)
            .any(|part| !part.starts_with('_') && PLAIN_LEADS.contains(&part))
        || name.split('.').any(|part| leads_on(module, part))
        || (name.contains('.') && METHODS_OPEN.contains(&module))
        || lies_in_module(module)
        || holds(module, name)
        || (name.contains('.') && is_dangerous_path(module, name))
        || leads_through(module, name)
}

/// Whether the path to the name goes through something dangerous: an attribute of a function is the
/// function again (`getattr.__call__`), or makes it (`partial.__new__`).
fn leads_through(module: &str, name: &str) -> bool {
    name.match_indices('.').any(|(dot, _)| {
        let (head, _) = split(name, dot);
        holds(module, head) || is_dangerous_path(module, head)
    })
}

fn has_too_many(path: &str) -> bool {
    path.split('.').nth(MAX_PARTS).is_some()
}

/// Python follows the dots of a name from attribute to attribute, and everything that a module
/// imports is an attribute of it, perhaps as `_os`: every split of the path may be the true one.
fn is_dangerous_path(module: &str, name: &str) -> bool {
    let whole = format!("{module}.{name}");
    let start = module.len().saturating_add(1);
    name.match_indices('.').any(|(dot, _)| {
        let (head, tail) = split(name, dot);
        let (path, _) = split(&whole, start.saturating_add(dot));
        let last = head.rsplit('.').next().unwrap_or(head);
        let last = last.trim_start_matches('_');
        [path, head, last].iter().any(|&module| holds(module, tail))
    })
}

/// The text before a dot and the text behind it.
fn split(path: &str, dot: usize) -> (&str, &str) {
    let (head, tail) = path.split_at_checked(dot).unwrap_or((path, ""));
    (head, tail.trim_start_matches('.'))
}

/// Modules whose classes are harmless, though the methods of them open and remove files.
const METHODS_OPEN: &[&str] = &["pathlib", "pathlib._local"];

/// Whether a part of a name is dangerous at any place: the name under which a module imports
/// another one, a function that nobody else calls so, or an attribute that leads from any object to
/// everything.
fn leads_on(module: &str, part: &str) -> bool {
    let bare = part.trim_start_matches('_');
    PARTS.get(part).is_some()
        || (bare.len() < part.len() && PARTS.get(bare) == Some(true))
        || (TORCH_METHODS.contains(&part) && module.split('.').next() == Some("torch"))
}

/// Whether the module, or one that it is in, has nothing that belongs into a checkpoint.
fn lies_in_module(module: &str) -> bool {
    let is_one = |path| matches!(BY_MODULE.get(path), Some(Below::All));
    is_one(module)
        || module
            .match_indices('.')
            .any(|(dot, _)| is_one(split(module, dot).0))
}

/// Whether the name is dangerous in that module, as far as a table says.
fn holds(module: &str, name: &str) -> bool {
    match BY_MODULE.get(module) {
        Some(Below::All) => true,
        Some(Below::Named(names)) => names.contains(&name),
        None => false,
    }
}
