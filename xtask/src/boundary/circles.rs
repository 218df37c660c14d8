//! Modules of one folder that use each other in a circle.
//!
//! A file and the folder of its name are one module, whose files may use each other. Two modules in
//! one folder may not: if something below `a` uses something below `b`, this is an arrow from `a`
//! to `b`, and no path along the arrows may lead back.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Use;

/// Modules of one folder, each of which reaches all others, and the uses between them.
#[derive(Debug, PartialEq)]
pub(super) struct Circle {
    /// Their paths from the crate's `src`, without `.rs`.
    pub(super) modules: BTreeSet<String>,
    pub(super) uses: Vec<Use>,
}

/// All circles of a crate.
pub(super) fn find(uses: &[Use]) -> Vec<Circle> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in uses.iter().filter_map(arrow) {
        arrows.entry(from).or_default().insert(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = arrows
        .keys()
        .map(|module| (module.as_str(), reach(module, &arrows)))
        .collect();
    let mut circles: Vec<Circle> = Vec::new();
    for (module, reaches) in &reached {
        let is_known = circles
            .iter()
            .any(|circle| circle.modules.contains(*module));
        if !reaches.contains(module) || is_known {
            continue;
        }
        let leads_back = |other: &&&str| {
            let from_other = reached.get(**other);
            from_other.is_some_and(|reaches| reaches.contains(module))
        };
        let modules = reaches.iter().filter(leads_back);
        let modules: BTreeSet<String> = modules.map(|module| (*module).to_owned()).collect();
        let within = |one: &&Use| {
            arrow(one).is_some_and(|(from, to)| modules.contains(&from) && modules.contains(&to))
        };
        let uses = uses.iter().filter(within).cloned().collect();
        circles.push(Circle { modules, uses });
    }
    circles
}

/// The two modules of one folder between which a use is an arrow; `None` if one contains the other.
pub(super) fn arrow(one: &Use) -> Option<(String, String)> {
    let (from, to) = (parts(&one.from), parts(&one.to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let path = |parts: &[&str]| parts.get(..=shared).map(|parts| parts.join("/"));
    Some((path(&from)?, path(&to)?))
}

/// The modules on the path to a file; none for the root of a crate.
fn parts(file: &str) -> Vec<&str> {
    match file {
        "lib.rs" | "main.rs" => Vec::new(),
        file => file.trim_end_matches(".rs").split('/').collect(),
    }
}

fn reach<'a>(from: &str, arrows: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in arrows.get(module).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(uses: &[(&str, &str)], expected: &[&[&str]]) {
        let uses = uses.iter().map(|(from, to)| Use {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            line: 1,
            path: String::new(),
        });
        let circles = find(&uses.collect::<Vec<_>>());
        let circles: Vec<Vec<&str>> = circles
            .iter()
            .map(|circle| circle.modules.iter().map(String::as_str).collect())
            .collect();
        assert_eq!(circles, expected);
    }

    #[test]
    fn a_way_back_is_a_circle() {
        check(&[("a.rs", "b.rs"), ("b.rs", "c.rs")], &[]);
        check(
            &[
                ("a.rs", "b.rs"),
                ("b.rs", "c.rs"),
                ("c.rs", "a.rs"),
                ("d.rs", "a.rs"),
            ],
            &[&["a", "b", "c"]],
        );
    }

    #[test]
    fn folders_count_as_the_modules_that_they_are() {
        check(
            &[("a/x.rs", "b/y.rs"), ("b/z.rs", "a/w.rs")],
            &[&["a", "b"]],
        );
        check(
            &[("a/x.rs", "a/y.rs"), ("a/y/z.rs", "a/x.rs")],
            &[&["a/x", "a/y"]],
        );
        check(&[("a/x.rs", "a/y.rs"), ("b/y.rs", "b/x.rs")], &[]);
    }

    #[test]
    fn a_file_and_its_folder_are_one_module() {
        check(&[("a.rs", "a/x.rs"), ("a/x.rs", "a.rs")], &[]);
        check(&[("lib.rs", "a.rs"), ("a.rs", "lib.rs")], &[]);
    }
}
