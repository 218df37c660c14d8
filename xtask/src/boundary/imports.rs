//! The uses of one file by another in a crate: every path is followed to the file with its
//! definition.
//!
//! A re-export defines a name and is not a use, so a path is followed through it. A file that uses
//! a name which it re-exports does use it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::parsed::{self, Parsed};
use crate::Result;

/// A use of one file by another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    /// Both are paths from the crate's `src`, with forward slashes.
    pub(super) from: String,
    pub(super) to: String,
    /// The location in `from`, and the name.
    pub(super) line: usize,
    pub(super) path: String,
}

/// The uses in a crate whose root file is `src/lib.rs` or `src/main.rs`, at most one from each file
/// to each other file, and all files of its modules.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn read(src: &Path) -> Result<(Vec<String>, Vec<Use>)> {
    let root = ["lib.rs", "main.rs"];
    let root = root.into_iter().find(|name| src.join(name).is_file());
    let root = root.ok_or_else(|| format!("no lib.rs or main.rs in {}", src.display()))?;
    let mut tree = Tree::default();
    let mut load = |name: &str| -> Result<Option<Parsed>> {
        let path = src.join(name);
        if path.is_file() {
            Ok(Some(parsed::parse(&fs::read_to_string(path)?)))
        } else {
            Ok(None)
        }
    };
    let parsed = load(root)?.unwrap_or_default();
    tree.add(root, "", None, parsed, &mut load)?;
    Ok((tree.files.clone(), tree.uses()))
}

/// All modules of a crate; the first one is its root.
#[derive(Default)]
struct Tree {
    files: Vec<String>,
    modules: Vec<Module>,
}

struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    parsed: Parsed,
}

/// The end of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    Module(usize),
    /// Something that the file declares.
    Item {
        file: usize,
    },
}

/// The largest number of re-exports along one path; more of them are a circle.
const MOST_HOPS: usize = 32;

impl Tree {
    /// Adds a module with everything below it; the files of its children are below `folder`.
    fn add(
        &mut self,
        file: &str,
        folder: &str,
        parent: Option<usize>,
        mut parsed: Parsed,
        load: &mut impl FnMut(&str) -> Result<Option<Parsed>>,
    ) -> Result<usize> {
        let number = match self.files.iter().position(|known| known == file) {
            Some(number) => number,
            None => {
                self.files.push(file.to_owned());
                self.files.len() - 1
            }
        };
        let file_modules = std::mem::take(&mut parsed.file_modules);
        let inline_modules = std::mem::take(&mut parsed.inline_modules);
        let index = self.modules.len();
        self.modules.push(Module {
            file: number,
            parent,
            children: BTreeMap::new(),
            parsed,
        });
        for name in file_modules {
            let path = format!("{folder}{name}.rs");
            if let Some(parsed) = load(&path)? {
                let folder = format!("{folder}{name}/");
                let child = self.add(&path, &folder, Some(index), parsed, load)?;
                self.modules[index].children.insert(name, child);
            }
        }
        for (name, parsed) in inline_modules {
            let folder = format!("{folder}{name}/");
            let child = self.add(file, &folder, Some(index), parsed, load)?;
            self.modules[index].children.insert(name, child);
        }
        Ok(index)
    }

    fn uses(&self) -> Vec<Use> {
        let mut uses: BTreeMap<(usize, usize), (usize, String)> = BTreeMap::new();
        for (index, module) in self.modules.iter().enumerate() {
            let imports = module.parsed.imports.iter().filter(|import| {
                let used = |name: &String| module.parsed.words.contains(name);
                !import.is_reexport || import.name.as_ref().is_some_and(used)
            });
            let imports = imports.map(|import| &import.path);
            for path in imports.chain(&module.parsed.paths) {
                let file = match self.resolve(index, &path.segments, MOST_HOPS) {
                    Some(Target::Item { file }) => file,
                    Some(Target::Module(module)) => self.modules[module].file,
                    None => continue,
                };
                if file != module.file {
                    uses.entry((module.file, file))
                        .or_insert_with(|| (path.line, path.segments.join("::")));
                }
            }
        }
        let uses = uses.into_iter().map(|((from, to), (line, path))| Use {
            from: self.files[from].clone(),
            to: self.files[to].clone(),
            line,
            path,
        });
        uses.collect()
    }

    /// Follows a path that is written in a module; `None` if it leads out of the crate.
    fn resolve(&self, from: usize, segments: &[String], hops: usize) -> Option<Target> {
        let mut segments = segments.iter().map(String::as_str).peekable();
        let mut at = match segments.next()? {
            "crate" => Target::Module(0),
            "self" => Target::Module(from),
            "super" => Target::Module(self.modules[from].parent?),
            name => self.lookup(from, name, hops)?,
        };
        for name in segments {
            at = match at {
                Target::Item { .. } => return Some(at),
                Target::Module(module) if name == "super" => {
                    Target::Module(self.modules[module].parent?)
                }
                // Without a declaration, the name is defined by a macro of the file.
                Target::Module(module) => self.lookup(module, name, hops).unwrap_or(Target::Item {
                    file: self.modules[module].file,
                }),
            };
        }
        Some(at)
    }

    /// The meaning of a name in a module.
    fn lookup(&self, module: usize, name: &str, hops: usize) -> Option<Target> {
        let hops = hops.checked_sub(1)?;
        let Module {
            file,
            children,
            parsed,
            ..
        } = &self.modules[module];
        // A module and a function may have the same name; a path through it then means the module.
        if let Some(child) = children.get(name) {
            return Some(Target::Module(*child));
        }
        if parsed.items.contains(name) {
            return Some(Target::Item { file: *file });
        }
        let named = parsed.imports.iter();
        let mut named = named.filter(|import| import.name.as_deref() == Some(name));
        if let Some(import) = named.next() {
            // `use a;` of a crate: the name means itself.
            let is_itself = import
                .path
                .segments
                .first()
                .is_some_and(|first| first == name);
            return if is_itself {
                None
            } else {
                self.resolve(module, &import.path.segments, hops)
            };
        }
        let globs = parsed.imports.iter().filter(|import| import.name.is_none());
        globs
            .filter_map(|import| self.resolve(module, &import.path.segments, hops))
            .find_map(|target| match target {
                Target::Module(from) if from != module => self.lookup(from, name, hops),
                _ => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The uses in a crate of those files.
    fn uses(files: &[(&str, &str)]) -> (Vec<String>, Vec<Use>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        read(folder.path()).unwrap()
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let (_, uses) = uses(files);
        let mut found: Vec<_> = uses
            .iter()
            .map(|found| (found.from.as_str(), found.to.as_str()))
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_path_leads_through_re_exports_to_its_file() {
        check(
            &[
                ("lib.rs", "mod a; mod b; pub use b::B;"),
                ("a.rs", "use crate::B; fn f(_: B) {}"),
                ("b.rs", "mod inner; pub use inner::B;"),
                ("b/inner.rs", "pub struct B;"),
            ],
            &[("a.rs", "b/inner.rs")],
        );
    }

    #[test]
    fn a_re_export_that_is_named_is_a_use() {
        check(
            &[
                ("lib.rs", "mod a;"),
                ("a.rs", "mod b; pub use b::B; fn f(_: B) {}"),
                ("a/b.rs", "pub struct B; use super::f;"),
            ],
            &[("a.rs", "a/b.rs"), ("a/b.rs", "a.rs")],
        );
    }

    #[test]
    fn paths_by_a_module_count() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod c;"),
                (
                    "a.rs",
                    "use crate::b; use std::fs; fn f() { b::g(); fs::read(); super::c::h!() }",
                ),
                ("b.rs", "pub fn g() {}"),
                ("c.rs", "made! { fn h() {} }"),
            ],
            &[("a.rs", "b.rs"), ("a.rs", "c.rs")],
        );
    }

    #[test]
    fn modules_of_a_file_belong_to_it() {
        check(
            &[
                (
                    "main.rs",
                    "pub mod raw { pub use crate::a::A; pub mod b { pub fn c() {} } } mod a;",
                ),
                (
                    "a.rs",
                    "pub struct A; fn f() { crate::raw::b::c() } use crate::raw::A as B;",
                ),
            ],
            &[("a.rs", "main.rs")],
        );
    }

    /// No such crate compiles; reading it ends all the same.
    #[test]
    fn circles_of_re_exports_end() {
        let (files, _) = uses(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub use crate::b::X; use X;"),
            (
                "b.rs",
                "pub use crate::a::X; pub use crate::a::*; pub use super::b::*;",
            ),
        ]);
        assert_eq!(files.len(), 3);
    }
}
