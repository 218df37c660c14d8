//! The storeys of each crate, as `docs/architecture.md` draws them.
//!
//! Below the heading `## Inside nnx-…`, a block lists the modules of the crate's root, one storey in
//! each line, the highest first. A module may use modules of lower storeys, but not those of its own
//! storey or above.

use std::collections::BTreeMap;

use super::Violation;
use super::circles::{Circle, arrow};
use super::imports::Use;

/// The storeys of a crate: the number of each module's storey, counted from the top.
type Storeys<'a> = BTreeMap<&'a str, usize>;

/// The errors in the drawing of a crate in the document, or in the crate. An error that is part of
/// a circle is not reported a second time.
pub(super) fn check(
    package: &str,
    document: &str,
    files: &[String],
    uses: &[Use],
    circles: &[Circle],
) -> Vec<Violation> {
    let document_says = |rule: String| Violation {
        place: format!("docs/architecture.md, \"Inside {package}\""),
        rule,
    };
    let modules = files.iter().filter_map(|file| {
        let module = file.strip_suffix(".rs")?;
        (!module.contains('/') && !matches!(module, "lib" | "main")).then_some(module)
    });
    let modules: Vec<&str> = modules.collect();
    let storeys = match storeys(package, document) {
        Ok(storeys) => storeys,
        // A crate with one or two files needs no drawing.
        Err(_) if modules.len() < 2 => return Vec::new(),
        Err(rule) => return vec![document_says(rule)],
    };
    let missing = modules.iter().filter(|name| !storeys.contains_key(*name));
    let missing = missing.map(|name| format!("the module `{name}` is not drawn"));
    let unknown = storeys.keys().filter(|name| !modules.contains(*name));
    let unknown = unknown.map(|name| format!("there is no module `{name}`"));
    let mut violations: Vec<Violation> = missing.chain(unknown).map(document_says).collect();
    let in_circle = |from: &String, to: &String| {
        let mut circles = circles.iter();
        circles.any(|circle| circle.modules.contains(from) && circle.modules.contains(to))
    };
    for one in uses {
        let Some((from, to)) = arrow(one) else {
            continue;
        };
        let is_upward = match (storeys.get(from.as_str()), storeys.get(to.as_str())) {
            (Some(from), Some(to)) => to <= from,
            _ => false,
        };
        if is_upward && !in_circle(&from, &to) {
            violations.push(Violation {
                place: format!("crates/{package}/src/{}:{}", one.from, one.line),
                rule: format!(
                    "`{from}` is drawn no higher than `{to}`, so it cannot use `{}`",
                    one.path
                ),
            });
        }
    }
    violations
}

/// Reads the drawing of a crate.
fn storeys<'a>(package: &str, document: &'a str) -> Result<Storeys<'a>, String> {
    let heading = format!("## Inside {package}");
    let section = document.lines().skip_while(|line| *line != heading).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let drawing = section.skip_while(|line| *line != "```").skip(1);
    let mut storeys = Storeys::new();
    for (number, line) in drawing.take_while(|line| *line != "```").enumerate() {
        for name in line.split_whitespace() {
            if storeys.insert(name, number).is_some() {
                return Err(format!("the module `{name}` is drawn twice"));
            }
        }
    }
    if storeys.is_empty() {
        Err("expected a drawing of the crate's modules, found none".to_owned())
    } else {
        Ok(storeys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::circles;

    const DOCUMENT: &str =
        "## Inside nnx-a\n\nText.\n\n```\ntop  side\nbase\n```\n\n## Inside nnx-b\n";

    #[track_caller]
    fn check_uses(files: &[&str], uses: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let uses = uses.iter().map(|(from, to)| Use {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            line: 3,
            path: "crate::X".to_owned(),
        });
        let uses: Vec<Use> = uses.collect();
        let violations = check("nnx-a", DOCUMENT, &files, &uses, &circles::find(&uses));
        let found: Vec<String> = violations.iter().map(Violation::to_string).collect();
        assert_eq!(found, expected);
    }

    const FILES: [&str; 5] = ["lib.rs", "base.rs", "side.rs", "top.rs", "top/inner.rs"];

    #[test]
    fn arrows_point_downwards() {
        check_uses(
            &FILES,
            &[
                ("top/inner.rs", "base.rs"),
                ("side.rs", "base.rs"),
                ("top.rs", "top/inner.rs"),
            ],
            &[],
        );
        check_uses(
            &FILES,
            &[("base.rs", "top/inner.rs"), ("side.rs", "top.rs")],
            &[
                "crates/nnx-a/src/base.rs:3: `base` is drawn no higher than `top`, so it cannot use `crate::X`",
                "crates/nnx-a/src/side.rs:3: `side` is drawn no higher than `top`, so it cannot use `crate::X`",
            ],
        );
    }

    #[test]
    fn every_module_is_drawn_once() {
        check_uses(
            &["lib.rs", "base.rs", "new.rs", "top.rs"],
            &[],
            &[
                "docs/architecture.md, \"Inside nnx-a\": the module `new` is not drawn",
                "docs/architecture.md, \"Inside nnx-a\": there is no module `side`",
            ],
        );
    }

    #[test]
    fn a_crate_needs_a_drawing() {
        let files = ["lib.rs", "a.rs", "b.rs"].map(str::to_owned);
        assert_eq!(check("nnx-b", DOCUMENT, &files, &[], &[]).len(), 1);
        assert_eq!(check("nnx-c", DOCUMENT, &files, &[], &[]).len(), 1);
        assert_eq!(check("nnx-c", DOCUMENT, &files[..2], &[], &[]), []);
    }
}
