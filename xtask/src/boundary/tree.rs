//! The dependencies that a crate is built with, by the names in `cargo tree`.

use super::Violation;

/// Tensor libraries, async runtimes and HTTP clients. A name also means its family (`hyper`
/// includes `hyper-util`).
const FORBIDDEN: &[&str] = &[
    "async-std",
    "attohttpc",
    "awc",
    "candle",
    "curl",
    "h2",
    "hf-hub",
    "http",
    "hyper",
    "isahc",
    "minreq",
    "native-tls",
    "openssl",
    "reqwest",
    "rustls",
    "smol",
    "surf",
    "tokio",
    "tungstenite",
    "ureq",
];

/// `tree` is one package a line, `name version …`.
pub(super) fn check(package: &str, tree: &str, default_features: bool) -> Vec<Violation> {
    let features = if default_features {
        "default features"
    } else {
        "no default features"
    };
    let mut names: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| is_forbidden(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    let violation = |name| Violation {
        place: format!("crates/{package}/Cargo.toml"),
        rule: format!(
            "`{package}` with {features} builds without tensor and network libraries, not with `{name}`"
        ),
    };
    names.into_iter().map(violation).collect()
}

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.iter().any(|family| {
        name.strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(tree: &str, expected: &[&str]) {
        let found = check("nnx-checkpoint", tree, true);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (violation, name) in found.iter().zip(expected) {
            assert!(violation.rule.ends_with(&format!("`{name}`")));
        }
    }

    #[test]
    fn light_dependencies_pass() {
        check_names(
            "nnx-checkpoint v0.1.0 (/here)\nbytes v1.12.1\nserde v1.0.2 (*)\nhttparse v1.0.0\n",
            &[],
        );
    }

    #[test]
    fn heavy_families_are_named_once() {
        check_names(
            "nnx-checkpoint v0.1.0 (/here)\ncandle-core v0.11.0\ntokio v1.0.0\ntokio v1.0.0 (*)\n\
             hyper-util v0.1.0\nhf-hub v1.0.0\nureq v3.0.0\nreqwest v0.13.0\n",
            &[
                "candle-core",
                "hf-hub",
                "hyper-util",
                "reqwest",
                "tokio",
                "ureq",
            ],
        );
    }
}
