//! Words that only one file may contain.

use super::Violation;
use super::lexer::words;

/// The one file with `unsafe`.
const MAP: &str = "crates/nnx-checkpoint/src/source/map.rs";
/// The folder of the crate whose tensor library is optional, and the only module that names it.
const LIGHT_CRATE: &str = "crates/nnx-checkpoint/";
/// Examples show how the crate is used together with candle.
const EXAMPLES: &str = "crates/nnx-checkpoint/examples/";
const CONVERSIONS: &str = "crates/nnx-checkpoint/src/candle.rs";

/// Judges one Rust file; `path` is relative to the workspace's root, with forward slashes.
pub(super) fn check(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (line, word) in words(text) {
        let rule = if word == "unsafe" && path != MAP {
            format!("`unsafe` is allowed only in {MAP}")
        } else if word.starts_with("candle_")
            && path.starts_with(LIGHT_CRATE)
            && !path.starts_with(EXAMPLES)
            && path != CONVERSIONS
            && !path.starts_with(CONVERSIONS.trim_end_matches(".rs"))
        {
            format!("`{word}` may be named only in {CONVERSIONS}")
        } else {
            continue;
        };
        violations.push(Violation {
            place: format!("{path}:{line}"),
            rule,
        });
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_file(path: &str, text: &str, expected: &[&str]) {
        let found: Vec<_> = check(path, text).iter().map(Violation::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn unsafe_has_one_place() {
        check_file(MAP, "unsafe { map() }", &[]);
        check_file(
            "crates/nnx-net/src/a.rs",
            "fn a() {\n    unsafe { b() }\n}",
            &[
                "crates/nnx-net/src/a.rs:2: `unsafe` is allowed only in crates/nnx-checkpoint/src/source/map.rs",
            ],
        );
    }

    #[test]
    fn candle_has_one_place_in_the_light_crate() {
        let text = "use candle_core::Tensor;";
        check_file(CONVERSIONS, text, &[]);
        check_file("crates/nnx-checkpoint/src/candle/tests.rs", text, &[]);
        check_file("crates/nnx-net/src/a.rs", text, &[]);
        check_file("crates/nnx-checkpoint/examples/a.rs", text, &[]);
        check_file(
            "crates/nnx-checkpoint/src/lib.rs",
            "#[cfg(feature = \"candle\")]\nmod candle;",
            &[],
        );
        check_file(
            "crates/nnx-checkpoint/src/tensor.rs",
            text,
            &[
                "crates/nnx-checkpoint/src/tensor.rs:1: `candle_core` may be named only in crates/nnx-checkpoint/src/candle.rs",
            ],
        );
    }
}
