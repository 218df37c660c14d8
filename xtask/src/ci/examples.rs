//! Runs the programs in each crate's `examples/` as their first comment says.
//!
//! That comment has a line with `cargo run …`, as a reader would type it in the root of the
//! workspace. A word that begins with `/tmp/` is a file in an empty folder that is deleted
//! afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use super::succeed;
use crate::Result;
use crate::workspace::{Package, cargo, line_of};

/// The folder for the files of the examples.
const SCRATCH: &str = "/tmp/";

/// The examples of a package, in the order of their names.
pub(super) fn paths(package: &Package) -> Result<Vec<PathBuf>> {
    let folder = package.folder().join("examples");
    let mut paths = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(&folder)? {
            paths.push(entry?.path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    Ok(paths)
}

/// Runs an example.
pub(super) fn run(path: &Path) -> Result<()> {
    let words = command(&fs::read_to_string(path)?).ok_or_else(|| missing(path))?;
    let scratch = tempfile::tempdir()?;
    let mut run = cargo();
    run.args(words.iter().map(|word| match word.strip_prefix(SCRATCH) {
        Some(name) => scratch.path().join(name).into_os_string(),
        None => word.into(),
    }));
    println!("{}", line_of(&run));
    succeed(&mut run)
}

fn missing(path: &Path) -> String {
    format!(
        "expected a line with `cargo run …` in the first comment of {}, found none",
        path.display()
    )
}

/// The words after `cargo` in the first comment.
fn command(text: &str) -> Option<Vec<String>> {
    let comment = text.lines().map_while(|line| line.strip_prefix("//!"));
    let (_, rest) = comment
        .into_iter()
        .find_map(|line| line.split_once("cargo run "))?;
    let rest = rest.split('`').next().unwrap_or(rest);
    let words = rest.split_whitespace().map(str::to_owned);
    Some(["run".to_owned()].into_iter().chain(words).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_the_first_comment_is_run() {
        let text = "//! Says hello:\n//!\n//! `cargo run -p a --example b -- /tmp/c x`, so.\n\nfn main() {}";
        let words = command(text).unwrap();
        assert_eq!(
            words,
            ["run", "-p", "a", "--example", "b", "--", "/tmp/c", "x"]
        );
        let words = command("//! ```sh\n//! cargo run --example d\n//! ```\n").unwrap();
        assert_eq!(words, ["run", "--example", "d"]);
        assert_eq!(command("// cargo run --example e\nfn main() {}"), None);
    }
}
