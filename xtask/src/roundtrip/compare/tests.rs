use super::super::facts::{Layout, sha256};
use super::*;

fn tensor(name: &str, values: &[f32]) -> Entry {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Entry {
        name: name.into(),
        content: Content::Tensor(TensorFacts {
            dtype: "float32".into(),
            shape: vec![values.len()],
            sha256: sha256(&bytes),
            bytes: Some(bytes),
            layout: Layout {
                strides: vec![1],
                offset: 0,
                storage: usize::from(name.as_bytes()[0]),
            },
            class: Some((false, false)),
        }),
    }
}

fn facts() -> Facts {
    Facts {
        states: vec![
            (
                "net_params",
                r#"{"input_dim": 4, "dropout_prob": 0.0}"#.into(),
            ),
            ("idp", r#"{"train_edp": {"extra": {"a": [1, NaN]}}}"#.into()),
        ],
        entries: vec![tensor("b", &[1.0, 2.0]), tensor("a", &[3.0])],
        forward: Some(Forward::Output {
            shape: vec![1, 2],
            data: vec![0.5, 0.25],
            reference: Some(vec![0.500_000_1, 0.25]),
        }),
    }
}

fn change(facts: &mut Facts, at: usize, change: impl FnOnce(&mut TensorFacts)) {
    if let Content::Tensor(tensor) = &mut facts.entries[at].content {
        change(tensor);
    }
}

/// Both sides start equal; `edit` changes the one that was found.
#[track_caller]
fn check(form: Form, outputs: Outputs, edit: impl FnOnce(&mut Facts), expected: &[&str]) {
    let mut found = facts();
    edit(&mut found);
    assert_eq!(compare(&facts(), &found, form, outputs), expected);
}

#[track_caller]
fn check_pickle(edit: impl FnOnce(&mut Facts), expected: &str) {
    check(Form::Pickle, Outputs::Exact, edit, &[expected]);
}

#[test]
fn equal_readings_have_no_difference() {
    check(Form::Pickle, Outputs::Exact, |_| {}, &[]);
    check(
        Form::SafeTensors,
        Outputs::Close,
        |found| found.entries.reverse(),
        &[],
    );
}

#[test]
fn a_state_names_its_value() {
    check_pickle(
        |found| found.states[0].1 = r#"{"input_dim": 4, "dropout_prob": 0}"#.into(),
        "net_params.dropout_prob: expected `0.0`, found `0`",
    );
    check_pickle(
        |found| found.states[1].1 = r#"{"train_edp": {"extra": {"a": [1, Infinity]}}}"#.into(),
        "idp.train_edp.extra.a[1]: expected `NaN`, found `Infinity`",
    );
    check_pickle(
        |found| found.states[0].1 = r#"{"dropout_prob": 0.0, "input_dim": 4}"#.into(),
        r#"net_params: expected `{"input_dim": 4, "dropout_prob": 0.0}`, found `{"dropout_prob": 0.0, "input_dim": 4}`"#,
    );
    check_pickle(
        |found| found.states[0].1 = r#"{"input_dim":4,"dropout_prob":0.0}"#.into(),
        r#"net_params: expected the text `{"input_dim": 4, "dropout_prob": 0.0}`, found `{"input_dim":4,"dropout_prob":0.0}`"#,
    );
}

#[test]
fn a_tensor_names_its_element() {
    check_pickle(
        |found| found.entries[0] = tensor("b", &[1.0, 2.5]),
        "tensor `b`: element 1: expected 2 (bytes 00000040), found 2.5 (bytes 00002040)",
    );
    check_pickle(
        |found| found.entries[1] = tensor("a", &[3.0, 3.0]),
        "tensor `a`: shape: expected [1], found [2]",
    );
    check_pickle(
        |found| change(found, 0, |tensor| tensor.dtype = "int32".into()),
        "tensor `b`: dtype: expected \"float32\", found \"int32\"",
    );
}

#[test]
fn a_missing_or_moved_tensor_is_a_difference() {
    check_pickle(
        |found| drop(found.entries.pop()),
        r#"tensor names: expected ["b", "a"], found ["b"]"#,
    );
    check_pickle(
        |found| found.entries.reverse(),
        r#"tensor names: expected ["b", "a"], found ["a", "b"]"#,
    );
    check(
        Form::SafeTensors,
        Outputs::Exact,
        |_| {},
        &[r#"tensor names: expected ["a", "b"], found ["b", "a"]"#],
    );
}

#[test]
fn a_pickle_keeps_layout_sharing_and_class() {
    check_pickle(
        |found| change(found, 0, |tensor| tensor.layout.strides = vec![2]),
        "tensor `b`: strides: expected [1], found [2]",
    );
    check_pickle(
        |found| change(found, 0, |tensor| tensor.layout.offset = 1),
        "tensor `b`: offset: expected 0, found 1",
    );
    check_pickle(
        |found| change(found, 0, |tensor| tensor.class = Some((true, false))),
        "tensor `b`: (is a parameter, requires grad): expected (false, false), found (true, false)",
    );
    check_pickle(
        |found| change(found, 0, |tensor| tensor.layout.storage = usize::from(b'a')),
        "shared storages: expected [0, 1], found [0, 0]",
    );
}

fn set_output(found: &mut Facts, values: [f64; 2]) {
    found.forward = Some(Forward::Output {
        shape: vec![1, 2],
        data: values.into(),
        reference: None,
    });
}

#[test]
fn outputs_are_exact_or_close() {
    check(
        Form::Pickle,
        Outputs::Close,
        |found| set_output(found, [0.500_001, 0.25]),
        &[],
    );
    check(
        Form::Pickle,
        Outputs::Close,
        |found| set_output(found, [0.500_002, 0.25]),
        &["output element 0: expected 0.5000001, found 0.500002"],
    );
    check_pickle(
        |found| set_output(found, [0.5, 0.250_000_03]),
        "output element 1: expected 0.25, found 0.25000003",
    );
    check(
        Form::Pickle,
        Outputs::Close,
        |found| set_output(found, [f64::NAN, 0.25]),
        &["output element 0: expected 0.5000001, found NaN"],
    );
    check_pickle(
        |found| found.forward = Some(Forward::Refused("no".into())),
        "forward: expected an output, the model was refused: no",
    );
}
