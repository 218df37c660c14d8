//! What runs code, reaches into the system, or leads to what does.
//!
//! Python 3's name and Python 2's stand beside each other, for Python maps the old ones to the new
//! ones when it reads protocols 0 to 2. Taken from the documentation of the modules named, from what
//! the modules of Python 2.7 to 3.13 import, and from the names that scanners of pickles publish.

mod modules;
mod names;

use self::modules::{LEADS, MODULES, PLAIN_LEADS};
use self::names::{ANYWHERE, INTERNALS, NAMES, TORCH_METHODS};

/// Parts of a name, more of which serve nothing but to hide something, or to keep a scanner busy.
const MAX_PARTS: usize = 32;

/// Whether a pickle that names this could run code with it.
pub(super) fn is_dangerous(module: &str, name: &str) -> bool {
    is_named(module, name)
        || name.split('.').count() > MAX_PARTS
        || module
            .split('.')
            .skip(1)
            .any(|part| !part.starts_with('_') && PLAIN_LEADS.contains(&part))
        || name.split('.').any(|part| leads_on(module, part))
        || (name.contains('.') && METHODS_OPEN.contains(&module))
        // Python follows the dots of a name from attribute to attribute, and what a module imports
        // is an attribute of it, perhaps as `_os`: every split of the path may be the true one.
        || name.match_indices('.').any(|(dot, _)| {
            let (head, tail) = name.split_at(dot);
            let tail = tail.trim_start_matches('.');
            let last = head.rsplit('.').next().unwrap_or(head);
            is_named(&format!("{module}.{head}"), tail)
                || is_named(head, tail)
                || is_named(last.trim_start_matches('_'), tail)
        })
}

/// Modules whose classes are harmless, though the methods of them open and remove files.
const METHODS_OPEN: &[&str] = &["pathlib", "pathlib._local"];

/// Whether a part of a name is dangerous wherever it stands: it is what a module is known by that
/// another module imports, or a function that nobody else calls so, or an attribute that leads from
/// any object to everything.
fn leads_on(module: &str, part: &str) -> bool {
    INTERNALS.contains(&part)
        || ANYWHERE.contains(&part)
        || [part, part.trim_start_matches('_')]
            .iter()
            .any(|part| LEADS.contains(part) || PLAIN_LEADS.contains(part))
        || (TORCH_METHODS.contains(&part) && module.split('.').next() == Some("torch"))
}

fn is_named(module: &str, name: &str) -> bool {
    let mut folder = Some(module);
    while let Some(path) = folder {
        if MODULES.contains(&path) {
            return true;
        }
        folder = path.rsplit_once('.').map(|(above, _)| above);
    }
    NAMES
        .iter()
        .any(|(m, names)| *m == module && names.contains(&name))
}
