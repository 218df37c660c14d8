use nnx::checkpoint::Dtype;
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(names: &[&str], expected: &Value) {
    let tensors: Vec<TensorLine> = names.iter().map(|name| tensor(name)).collect();
    let tree = serde_json::to_value(Tree::new(&tensors)).unwrap();
    assert_eq!(tree, *expected);
}

fn tensor(name: &str) -> TensorLine {
    TensorLine {
        name: name.to_owned(),
        dtype: Dtype::Float32,
        shape: vec![1],
        bytes: 4,
        storage: None,
        layout: "strided",
        sha256: None,
    }
}

#[test]
fn names_are_nested_by_their_dots() {
    check(&[], &json!({}));
    check(
        &["a.weight", "a.bias", "b.0.weight"],
        &json!({"a": {"weight": 0, "bias": 1}, "b": {"0": {"weight": 2}}}),
    );
}

#[test]
fn a_name_that_is_a_branch_as_well_is_both() {
    check(&["a", "a.b", "a."], &json!({"a": [0, {"b": 1, "": 2}]}));
    check(&["a.b", "a"], &json!({"a": [1, {"b": 0}]}));
    check(&[""], &json!({"": 0}));
}

#[test]
fn dots_alone_do_not_nest_without_end() {
    let name = ".".repeat(100_000);
    let tensors = [tensor(&name)];
    let text = serde_json::to_string(&Tree::new(&tensors)).unwrap();
    assert!(text.len() < name.len() + 1_000);
}
