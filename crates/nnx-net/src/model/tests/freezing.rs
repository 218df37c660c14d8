//! Frozen parameters and the summary.

use candle_core::DType;
use nnx_params::{NNConvParams, NNMoEParams, NNTransformerParams, State, Value};

use super::*;

fn trainable(model: &NNModel) -> Vec<&str> {
    model.trainable().map(|(name, _)| name).collect()
}

#[test]
fn patterns_freeze_and_unfreeze() {
    let mut model = model(&[4, 8, 2], 0);
    assert_eq!(model.trainable().count(), 4);
    // m.freeze("*.bias", "layers.0.*") and so on
    assert_eq!(model.freeze(&["*.bias", "layers.0.*"]).unwrap(), 3);
    assert_eq!(trainable(&model), ["layers.1.weight"]);
    assert_eq!(model.freeze(&["*"]).unwrap(), 1);
    assert_eq!(model.unfreeze(&["layers.?.bias"]).unwrap(), 2);
    assert_eq!(trainable(&model), ["layers.0.bias", "layers.1.bias"]);
    assert_eq!(model.freeze(&["nothing"]).unwrap(), 0);
    assert_eq!(
        model.freeze(&[]).unwrap_err().to_string(),
        "`freeze` needs at least one pattern; `*` matches every parameter"
    );
}

/// A language model whose head, tied to the embedding, has LoRA beside it.
fn tied_with_lora() -> NNModel {
    let net_params = NNTransformerParams::builder()
        .vocab_size(5)
        .n_layers(1)
        .d_model(4)
        .n_heads(1)
        .max_seq_len(3)
        .build()
        .unwrap();
    let params = NNModelParams::builder(Nets::Transformer).build().unwrap();
    let options = State::from_iter([
        ("targets", Value::List(vec!["lm_head".into()])),
        ("r", Value::Int(2)),
        ("alpha", Value::Float(1.0)),
        ("dropout", Value::Float(0.0)),
    ]);
    let transforms = [NNCheckpointTransform::new("lora", 1, options)];
    NNModel::with_transforms(net_params.into(), params, &transforms, 0).unwrap()
}

#[test]
fn lora_freezes_what_it_stands_beside_and_what_is_tied_to_that() {
    let model = tied_with_lora();
    let names: Vec<_> = model
        .net()
        .parameters()
        .iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names[names.len() - 3..],
        ["lm_head.lora_A", "lm_head.lora_B", "lm_head.base.weight"]
    );
    // apply_lora_to(net, "lm_head") leaves tok_embed.weight with requires_grad False.
    let trainable = trainable(&model);
    assert!(!trainable.contains(&"tok_embed.weight"));
    assert!(trainable.contains(&"lm_head.lora_A"));
    // lora_B is zero at first.
    let tokens = Tensor::new(&[[1_i64, 2, 0]], &Device::Cpu).unwrap();
    let plain = NNModel::new(model.net_params().clone(), model.params().clone(), 0);
    let logits = |model: &NNModel| model.forward(&tokens).unwrap().to_vec3::<f32>().unwrap();
    assert_eq!(logits(&model).concat().concat().len(), 15);
    assert_eq!(plain.unwrap().forward(&tokens).unwrap().dims(), [1, 3, 5]);
}

#[test]
fn summaries_list_the_layers() {
    let params = NNConvParams::builder(64, 2, [3])
        .hidden_dims([5])
        .kernel_size(3)
        .dropout_prob(0.0);
    let model_params = NNModelParams::builder(Nets::Conv).build().unwrap();
    let mut model = NNModel::new(params.build().unwrap().into(), model_params, 0).unwrap();
    model.freeze(&["fcs.1.*"]).unwrap();
    let input = Tensor::zeros((2, 64), DType::F32, &Device::Cpu).unwrap();
    assert_eq!(
        model.summary(&input).unwrap().to_string(),
        "\
layer    class   output        parameters
convs.0  Conv2d  [2, 3, 6, 6]          30
fcs.0    Linear  [2, 5]               140
fcs.1    Linear  [2, 2]                12
182 parameters, 170 trainable"
    );
}

#[test]
fn a_layer_of_experts_is_one_line() {
    let params = NNMoEParams::builder(4, 2, 3)
        .hidden_dims([5])
        .dropout_prob(0.0);
    let model_params = NNModelParams::builder(Nets::FeedFwdMoe).build().unwrap();
    let model = NNModel::new(params.build().unwrap().into(), model_params, 0).unwrap();
    let input = Tensor::zeros((1, 4), DType::F32, &Device::Cpu).unwrap();
    let summary = model.summary(&input).unwrap();
    let lines: Vec<_> = summary
        .layers
        .iter()
        .map(|layer| (layer.path.as_str(), layer.class, layer.parameters))
        .collect();
    // 3 experts of 4 · 5 + 5, and a router of 3 · 4
    assert_eq!(
        lines,
        [("layers.0", "MoELinear", 87), ("layers.1", "Linear", 12)]
    );
    assert_eq!(summary.parameters, 99);
}

#[test]
fn every_parameter_is_counted_once() {
    let model = tied_with_lora();
    let tokens = Tensor::new(&[[1_i64, 2, 0]], &Device::Cpu).unwrap();
    let summary = model.summary(&tokens).unwrap();
    let lines: usize = summary.layers.iter().map(|layer| layer.parameters).sum();
    assert_eq!(lines, summary.parameters);
    let head = summary.layers.last().unwrap();
    assert_eq!((head.class, head.parameters), ("LoRALinear", 2 * 4 + 5 * 2));
    assert_eq!(summary.parameters - summary.trainable, 5 * 4);
}
