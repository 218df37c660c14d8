//! Cases that the corpus does not reach: lookups, the slot list of a pickle, and texts of errors.

use crate::{Activations, Error, NNParams, NetParams, Number, State, Value};

fn fields() -> State {
    State::from_iter([
        ("dropout_prob", Value::Float(0.2)),
        ("n_heads", Value::None),
        ("activation", "relu".into()),
        ("activations", vec!["relu", "relu"].into()),
        ("dropout_probs", Value::None),
        ("input_dim", 4.into()),
        ("output_dim", 3.into()),
        ("hidden_dims", vec![8, 5].into()),
        ("_dims", vec![4, 8, 5, 3].into()),
    ])
}

#[test]
fn a_slot_list_keeps_what_the_state_leaves_out() {
    let fields = fields();
    assert_eq!(fields.keys().collect::<Vec<_>>(), NNParams::FIELDS);
    let params = NNParams::from_fields(&fields).unwrap();
    assert_eq!(params.activations(), Some(&[Activations::Relu; 2][..]));
    assert!(!params.state().contains_key("activations"));
}

#[track_caller]
fn error(field: &str, value: impl Into<Value>) -> Error {
    let mut fields = fields();
    fields.insert(field, value);
    NetParams::from_fields("NNParams", &fields).unwrap_err()
}

#[test]
fn faults_are_named() {
    let check = |error: Error, message: &str| assert_eq!(error.to_string(), message);
    check(
        error("_dims", vec![4, 3]),
        "NNParams._dims must be [4, 8, 5, 3] as the other sizes have it, found `[4, 3]` (list)",
    );
    check(
        error("hidden_dims", vec![8, 0]),
        "NNParams.hidden_dims must be a list of integers > 0, found `[8, 0]` (list)",
    );
    check(
        error("hidden_dims", vec![8.0]),
        "NNParams.hidden_dims[0] must be an integer > 0, found `8.0` (float)",
    );
    check(
        error("input_dim", i128::MAX),
        &format!(
            "NNParams.input_dim must be an integer of at most 64 bits, found `{}` (int)",
            i128::MAX
        ),
    );
    check(
        error("dropout_prob", "0.1"),
        "NNParams.dropout_prob must be a number, found `'0.1'` (str)",
    );
    check(
        error("dropout_prob", i128::MAX),
        &format!(
            "NNParams.dropout_prob must be a number >= 0 and <= 1, found `{}` (int)",
            i128::MAX
        ),
    );
    check(
        error("activations", vec!["relu"]),
        "NNParams.activations must be one entry for each hidden layer (2), found 1 entries",
    );
    check(
        error("activations", vec!["relu", "gelu"]),
        "NNParams.activations[1] must be one of `elu`, `selu`, `tanh`, `relu`, `softmax`, `sigmoid`, `softplus`, `leaky_relu`, found `'gelu'` (str)",
    );
    check(error("zzz", 1), "NNParams has no field `zzz`");
    check(
        error("n_heads", "x".repeat(1000)),
        &format!(
            "NNParams.n_heads must be an integer > 0, found `'{}…` (str, 1002 characters)",
            "x".repeat(119)
        ),
    );
}

#[test]
fn bad_texts_name_their_field() {
    let mut state = NNParams::from_fields(&fields()).unwrap().state();
    state.insert("hidden_dims", "[8");
    let error = NNParams::from_state(&state).unwrap_err();
    assert_eq!(
        error.to_string(),
        "NNParams.hidden_dims: expected `,` or the closing bracket in a Python literal at byte 2, found the end"
    );
    assert_eq!(
        (error.class(), error.field()),
        (Some("NNParams"), Some("hidden_dims"))
    );
}

#[test]
fn layers_without_own_values_share_the_nets() {
    let params = NNParams::builder(2, 2)
        .hidden_dims([3, 3])
        .activation(None)
        .dropout_prob(0.5)
        .dropout_probs([Number::from(0), Number::from(0.25)])
        .build()
        .unwrap();
    assert_eq!(params.hidden_dropout(0), 0.0);
    assert_eq!(params.hidden_dropout(1), 0.25);
    assert_eq!(
        params.hidden_activation(0).unwrap_err().field(),
        Some("activation")
    );
    let params = NNParams::builder(2, 2).dropout_prob(0.5).build().unwrap();
    assert_eq!(params.hidden_dropout(0), 0.5);
    assert_eq!(params.hidden_activation(0).unwrap(), Activations::LeakyRelu);
}

#[test]
fn nets_of_unknown_classes_are_refused() {
    assert!(NetParams::from_fields("NNRnnParams", &fields()).is_err());
    assert_eq!(NetParams::fields_of("NNRnnParams"), None);
    assert_eq!(
        NetParams::fields_of("NNViTParams").map(<[_]>::len),
        Some(17)
    );
}
