//! Weights that are set from a state dict.

use nnx_checkpoint::{Dtype, Tensor as PlainTensor};
use nnx_params::{NNMoEParams, NNTransformerParams};

use super::*;
use crate::error::ErrorKind;

fn plain(shape: &[usize], value: f32) -> PlainTensor {
    let count: usize = shape.iter().product();
    let bytes: Vec<u8> = std::iter::repeat_n(value.to_le_bytes(), count)
        .flatten()
        .collect();
    PlainTensor::from_bytes(Dtype::Float32, shape, bytes).unwrap()
}

fn values(model: &NNModel, name: &str) -> Vec<f32> {
    let var = model.net().parameters().get(name).unwrap();
    var.as_tensor().flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn what_is_missing_or_unexpected_is_told_and_nothing_else_changes() {
    let state: StateDict = [
        ("layers.0.bias", plain(&[8], 7.0)),
        ("other", plain(&[1], 1.0)),
    ]
    .into_iter()
    .collect();
    let mut model = model(&[4, 8, 2], 0);
    let before = values(&model, "layers.1.bias");
    let ErrorKind::WrongWeights(strict) =
        model.load_state_dict(&state, true).unwrap_err().into_kind()
    else {
        panic!("another kind")
    };
    assert_ne!(values(&model, "layers.0.bias"), [7.0; 8]);
    // load_state_dict(state, strict=False)
    let mismatch = model.load_state_dict(&state, false).unwrap();
    assert_eq!(mismatch, strict);
    assert_eq!(
        mismatch.missing,
        ["layers.0.weight", "layers.1.weight", "layers.1.bias"]
    );
    assert_eq!(mismatch.unexpected, ["other"]);
    assert_eq!(values(&model, "layers.0.bias"), [7.0; 8]);
    assert_eq!(values(&model, "layers.1.bias"), before);
}

#[test]
fn another_shape_is_refused_strict_or_not() {
    let state: StateDict = [
        ("layers.0.weight", plain(&[2, 4], 7.0)),
        ("layers.0.bias", plain(&[3], 7.0)),
    ]
    .into_iter()
    .collect();
    let mut model = model(&[4, 2], 0);
    for strict in [true, false] {
        let error = model.load_state_dict(&state, strict).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the state dict does not fit the net: `layers.0.bias` should have shape `[2]`, has `[3]`"
        );
        assert_ne!(values(&model, "layers.0.weight"), [7.0; 8]);
    }
}

fn transformer(n_layers: usize, d_model: usize) -> NetParams {
    NNTransformerParams::builder()
        .vocab_size(3)
        .n_layers(n_layers)
        .d_model(d_model)
        .n_heads(1)
        .max_seq_len(4)
        .build()
        .unwrap()
        .into()
}

#[test]
fn of_tied_weights_the_last_holds() {
    let params = || NNModelParams::builder(Nets::Transformer).build().unwrap();
    let fresh = NNModel::new(transformer(1, 2), params(), 0).unwrap();
    let names: Vec<_> = fresh
        .net()
        .parameters()
        .iter()
        .map(|(name, _)| name)
        .collect();
    let distinct: Vec<_> = fresh
        .net()
        .parameters()
        .distinct()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names.last(), Some(&"lm_head.weight"));
    assert_eq!(distinct, names[..names.len() - 1]);
    let mut state = fresh.state_dict().unwrap();
    let storage = |name: &str| state.tensor(name).unwrap().storage().identity();
    assert_eq!(storage("tok_embed.weight"), storage("lm_head.weight"));
    state.insert("lm_head.weight", plain(&[3, 2], 7.0));
    // Python: load_state_dict copies one after the other into the same tensor.
    let loaded = NNModel::from_state_dict(transformer(1, 2), params(), &state).unwrap();
    assert_eq!(values(&loaded, "tok_embed.weight"), [7.0; 6]);
    let mut again = fresh;
    again.load_state_dict(&state, true).unwrap();
    assert_eq!(values(&again, "tok_embed.weight"), [7.0; 6]);
}

#[test]
fn layers_and_experts_without_end_allocate_nothing() {
    let params = || NNModelParams::builder(Nets::Transformer).build().unwrap();
    let state = NNModel::new(transformer(1, 2), params(), 0)
        .unwrap()
        .state_dict()
        .unwrap();
    let many = |net_params: NetParams, net: Nets| {
        let params = NNModelParams::builder(net).build().unwrap();
        let error = NNModel::from_state_dict(net_params, params, &state).unwrap_err();
        let ErrorKind::WrongWeights(mismatch) = error.into_kind() else {
            panic!("another kind")
        };
        mismatch.missing.len()
    };
    assert_eq!(many(transformer(1 << 50, 2), Nets::Transformer), 10_001);
    assert!(many(transformer(1, 1 << 50), Nets::Transformer) < 10);
    let experts = NNMoEParams::builder(4, 2, 1 << 50)
        .hidden_dims([3])
        .dropout_prob(0.0)
        .build()
        .unwrap();
    assert_eq!(many(experts.into(), Nets::FeedFwdMoe), 10_001);
}
