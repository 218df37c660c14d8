//! `cargo xtask boundary`: checks the rules of `docs/architecture.md`.

mod arrows;
mod circles;
mod imports;
mod layers;
mod lexer;
mod parsed;
mod source;
mod tree;

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use circles::Circle;
use imports::Use;

use crate::workspace::{self, Package, cargo, output};
use crate::{Arguments, Result};

/// A broken rule and its location.
#[derive(Debug, PartialEq)]
struct Violation {
    place: String,
    rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.rule)
    }
}

/// Crates without heavy dependencies, and whether this includes their default features.
const LIGHT: [(&str, bool); 3] = [
    ("nnx-checkpoint", true),
    ("nnx-checkpoint", false),
    ("nnx-hub", false),
];

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    arguments.finish()?;
    let packages = workspace::packages()?;
    let mut violations = arrows::check(&packages);
    violations.extend(modules(&packages)?);
    for (package, defaults) in LIGHT {
        let tree = normal_tree(package, defaults)?;
        violations.extend(tree::check(package, &tree, defaults));
    }
    let root = workspace::root();
    let files = rust_files(&root)?;
    for file in &files {
        let text = fs::read_to_string(root.join(file))?;
        violations.extend(source::check(&forward_slashes(file), &text));
    }
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!(
                "boundary: the rules hold in {} source files and the manifests",
                files.len()
            );
            Ok(())
        }
        count => Err(format!("{count} broken rules").into()),
    }
}

/// The errors in the modules within the crates: circles, and upward arrows between storeys.
fn modules(packages: &[Package]) -> Result<Vec<Violation>> {
    let document = fs::read_to_string(workspace::root().join("docs/architecture.md"))?;
    let mut violations = Vec::new();
    for package in packages {
        let src = package.folder().join("src");
        if !src.is_dir() {
            continue;
        }
        let (files, uses) = imports::read(&src)?;
        let circles = circles::find(&uses);
        violations.extend(circles.iter().map(|circle| circle_in(package, circle)));
        if package.is_published() {
            let upward = layers::check(&package.name, &document, &files, &uses, &circles);
            violations.extend(upward);
        }
    }
    Ok(violations)
}

fn circle_in(package: &Package, circle: &Circle) -> Violation {
    let uses = circle.uses.iter().map(|one| {
        let Use {
            from,
            to,
            line,
            path,
        } = one;
        format!("\n    {from}:{line} uses {to} by `{path}`")
    });
    Violation {
        place: package.name.clone(),
        rule: format!(
            "the modules {:?} use each other in a circle:{}",
            circle.modules,
            uses.collect::<String>()
        ),
    }
}

/// The packages that a crate is built with, on any target.
fn normal_tree(package: &str, default_features: bool) -> Result<String> {
    let mut command = cargo();
    command.args(["tree", "--edges=normal", "--target=all", "--prefix=none"]);
    command.args(["--format={p}", "--package", package]);
    if !default_features {
        command.arg("--no-default-features");
    }
    output(&mut command)
}

/// Every Rust file below the root, as a path relative to it, without build outputs and hidden
/// folders.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let path = folder.join(&name);
            if entry.file_type()?.is_dir() {
                let hidden = name.to_string_lossy().starts_with('.');
                // Cargo marks its target folders with a tag file, whatever their names are.
                let built = root.join(&path).join("CACHEDIR.TAG").exists();
                if !hidden && !built {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn forward_slashes(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
