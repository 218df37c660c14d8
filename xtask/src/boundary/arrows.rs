//! The dependencies between crates: the arrows of `docs/architecture.md`.

use super::Violation;
use crate::workspace::Package;

/// Each published crate and the members that it may depend on, in any dependency table. Crates with
/// a dev-dependency that points back could not be published in any order.
const ARROWS: &[(&str, &[&str])] = &[
    ("nnx-chart", &[]),
    ("nnx-params", &[]),
    ("nnx-checkpoint", &["nnx-params"]),
    ("nnx-net", &["nnx-params", "nnx-checkpoint"]),
    ("nnx-run", &["nnx-params", "nnx-checkpoint"]),
    (
        "nnx-train",
        &["nnx-params", "nnx-checkpoint", "nnx-net", "nnx-run"],
    ),
    (
        "thekaveh-nnx",
        &[
            "nnx-chart",
            "nnx-params",
            "nnx-checkpoint",
            "nnx-net",
            "nnx-run",
            "nnx-train",
            "nnx-hub",
            "nnx-store",
        ],
    ),
    ("nnx-store", &["nnx-checkpoint"]),
    ("nnx-hub", &["nnx-params", "nnx-checkpoint", "nnx-net"]),
    // The loopback Hub is only for its tests, and neither is published.
    ("nnx-cli", &["thekaveh-nnx", "nnx-hub-server"]),
];

pub(super) fn check(packages: &[Package]) -> Vec<Violation> {
    let members: Vec<&str> = packages.iter().map(|package| &*package.name).collect();
    let published = packages.iter().filter(|package| package.is_published());
    let edges = published.map(|package| {
        let dependencies = package.dependencies.iter();
        let names = dependencies.map(|dependency| &*dependency.name);
        let names = names.filter(|name| members.contains(name)).collect();
        (&*package.name, names)
    });
    check_edges(&edges.collect::<Vec<(&str, Vec<&str>)>>())
}

fn check_edges(edges: &[(&str, Vec<&str>)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (from, names) in edges {
        let place = format!("crates/{from}/Cargo.toml");
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| name == from) else {
            violations.push(Violation {
                place,
                rule: "a published crate has its arrows in xtask/src/boundary/arrows.rs".into(),
            });
            continue;
        };
        for name in names.iter().filter(|name| !allowed.contains(name)) {
            violations.push(Violation {
                place: place.clone(),
                rule: format!(
                    "`{from}` may depend on {allowed:?} of the workspace, not on `{name}`"
                ),
            });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(edges: &[(&str, Vec<&str>)], expected: &[&str]) {
        let violations = check_edges(edges);
        assert_eq!(violations.len(), expected.len(), "{violations:?}");
        for (violation, part) in violations.iter().zip(expected) {
            assert!(violation.to_string().contains(part), "{violation}");
        }
    }

    #[test]
    fn the_arrows_as_they_are() {
        check(
            &[
                ("nnx-params", vec![]),
                ("nnx-checkpoint", vec!["nnx-params"]),
                ("nnx-net", vec!["nnx-checkpoint", "nnx-params"]),
                ("nnx-run", vec!["nnx-checkpoint", "nnx-params"]),
                (
                    "thekaveh-nnx",
                    vec!["nnx-checkpoint", "nnx-params", "nnx-net"],
                ),
                ("nnx-hub", vec!["nnx-checkpoint", "nnx-net", "nnx-params"]),
                ("nnx-cli", vec!["thekaveh-nnx"]),
            ],
            &[],
        );
    }

    /// The document's table has a row for each crate, with the same members.
    #[test]
    fn the_document_has_the_same_arrows() {
        const DOCUMENT: &str = include_str!("../../../docs/architecture.md");
        let below = DOCUMENT
            .lines()
            .skip_while(|line| *line != "| crate | may depend on |");
        let rows = below.skip(2).take_while(|line| line.starts_with('|'));
        let mut listed: Vec<(&str, Vec<&str>)> = rows
            .map(|row| {
                // The text in parentheses is a condition.
                let names = row.split('`').skip(1).step_by(2);
                let mut names = names.filter(|name| {
                    ARROWS.iter().any(|(known, _)| known == name) || *name == "nnx-hub-server"
                });
                (names.next().unwrap(), names.collect())
            })
            .collect();
        let mut known: Vec<(&str, Vec<&str>)> = ARROWS
            .iter()
            .map(|(name, members)| (*name, members.to_vec()))
            .collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn nothing_points_back() {
        check(
            &[("nnx-params", vec!["nnx-checkpoint"])],
            &["crates/nnx-params/Cargo.toml: `nnx-params` may depend on []"],
        );
        check(
            &[("nnx-checkpoint", vec!["nnx-params", "nnx-net", "xtask"])],
            &["not on `nnx-net`", "not on `xtask`"],
        );
    }

    #[test]
    fn a_new_crate_must_be_drawn() {
        check(
            &[("nnx-new", vec![])],
            &["crates/nnx-new/Cargo.toml: a published"],
        );
    }
}
