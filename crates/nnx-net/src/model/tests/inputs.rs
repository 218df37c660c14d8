//! Inputs that a net cannot take.

use candle_core::DType;
use nnx_params::{NNConvParams, NNMoEParams, NNParams, NNTransformerParams, NNViTParams, Nets};

use super::*;
use crate::error::ErrorKind;

fn model_of(net: Nets, params: impl Into<NetParams>) -> NNModel {
    let model_params = NNModelParams::builder(net).build().unwrap();
    NNModel::new(params.into(), model_params, 0).unwrap()
}

fn zeros(shape: &[usize], dtype: DType) -> Tensor {
    Tensor::zeros(shape, dtype, &Device::Cpu).unwrap()
}

fn ids<A: candle_core::NdArray>(ids: A) -> Tensor {
    Tensor::new(ids, &Device::Cpu).unwrap()
}

#[track_caller]
fn check(model: &NNModel, inputs: &[Tensor], expected: &str) {
    for error in [
        model.forward(inputs).unwrap_err(),
        model.predict(inputs).unwrap_err(),
    ] {
        assert!(
            matches!(error.kind(), ErrorKind::WrongInput { .. }),
            "{error:?}"
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn experts() {
    let params = NNMoEParams::builder(4, 2, 3)
        .hidden_dims([3])
        .dropout_prob(0.0);
    let model = model_of(Nets::FeedFwdMoe, params.build().unwrap());
    let takes = "feed_fwd_moe takes at least one float32 row of `4` numbers, got";
    check(
        &model,
        &[zeros(&[2, 5], DType::F32)],
        &format!("{takes} the shape `[2, 5]`"),
    );
    check(
        &model,
        &[zeros(&[2, 4], DType::F64)],
        &format!("{takes} the dtype `float64`"),
    );
    check(
        &model,
        &[zeros(&[0, 4], DType::F32)],
        &format!("{takes} the shape `[0, 4]`"),
    );
    check(&model, &[], &format!("{takes} `0` inputs"));
}

#[test]
fn images_of_conv() {
    let params = NNConvParams::builder(64, 2, [3])
        .kernel_size(3)
        .dropout_prob(0.0);
    let model = model_of(Nets::Conv, params.build().unwrap());
    let takes = "conv takes at least one float32 row of `64` numbers, got";
    check(
        &model,
        &[zeros(&[2, 1, 9, 8], DType::F32)],
        &format!("{takes} the shape `[2, 1, 9, 8]`"),
    );
    check(
        &model,
        &[zeros(&[2, 64], DType::I64)],
        &format!("{takes} the dtype `int64`"),
    );
    assert_eq!(
        model
            .forward(&zeros(&[2, 1, 8, 8], DType::F32))
            .unwrap()
            .dims(),
        [2, 2]
    );
}

#[test]
fn tokens() {
    let params = NNTransformerParams::builder()
        .vocab_size(5)
        .n_layers(1)
        .d_model(4)
        .n_heads(1)
        .max_seq_len(3);
    let model = model_of(Nets::Transformer, params.build().unwrap());
    let takes = "transformer takes int64 token ids of shape `[N, T]` with `T` from `1` to `3`, got";
    check(
        &model,
        &[zeros(&[1, 4], DType::I64)],
        &format!("{takes} the shape `[1, 4]`"),
    );
    check(
        &model,
        &[zeros(&[1, 0], DType::I64)],
        &format!("{takes} the shape `[1, 0]`"),
    );
    check(
        &model,
        &[zeros(&[0, 2], DType::I64)],
        &format!("{takes} the shape `[0, 2]`"),
    );
    check(
        &model,
        &[zeros(&[2], DType::I64)],
        &format!("{takes} the shape `[2]`"),
    );
    check(
        &model,
        &[zeros(&[1, 2], DType::F32)],
        &format!("{takes} the dtype `float32`"),
    );
    let takes = "transformer takes token ids from `0` to `4`, got";
    check(
        &model,
        &[ids(&[[0_i64, 5]])],
        &format!("{takes} the id `5`"),
    );
    check(
        &model,
        &[ids(&[[-1_i64, 1]])],
        &format!("{takes} the id `-1`"),
    );
    // PyTorch's embedding takes int32 too, and uint32 is candle's usual integer.
    for dtype in [DType::I32, DType::U32] {
        let tokens = ids(&[[0_i64, 4]]).to_dtype(dtype).unwrap();
        assert_eq!(model.forward(&tokens).unwrap().dims(), [1, 2, 5]);
    }
}

#[test]
fn images_of_vit() {
    let params = NNViTParams::builder()
        .input_dim(48)
        .output_dim(4)
        .dropout_prob(0.0)
        .image_size(4)
        .patch_size(2)
        .in_channels(3)
        .d_model(4)
        .n_layers(1)
        .n_heads(1);
    let model = model_of(Nets::Vit, params.build().unwrap());
    let takes = "vit takes at least one float32 image of shape `[3, 4, 4]`, got";
    check(
        &model,
        &[zeros(&[2, 48], DType::F32)],
        &format!("{takes} the shape `[2, 48]`"),
    );
    check(
        &model,
        &[zeros(&[0, 3, 4, 4], DType::F32)],
        &format!("{takes} the shape `[0, 3, 4, 4]`"),
    );
    check(
        &model,
        &[zeros(&[2, 3, 4, 4], DType::U8)],
        &format!("{takes} the dtype `uint8`"),
    );
    let images = || zeros(&[2, 3, 4, 4], DType::F32);
    let takes = "vit takes a uint8 mask of shape `[2, 4]` that keeps the same number of patches of \
         every image, got";
    check(
        &model,
        &[images(), zeros(&[2, 5], DType::U8)],
        &format!("{takes} the shape `[2, 5]`"),
    );
    check(
        &model,
        &[images(), zeros(&[2, 4], DType::F32)],
        &format!("{takes} the dtype `float32`"),
    );
    check(
        &model,
        &[images(), ids(&[[1_u8, 1, 0, 0], [1, 0, 0, 0]])],
        &format!("{takes} one that keeps `[2, 1]`"),
    );
}

#[test]
fn graphs() {
    for net in [Nets::GraphConv, Nets::GraphSage, Nets::GraphAtt] {
        let params = NNParams::builder(4, 2).n_heads(1).dropout_prob(0.0);
        let model = model_of(net, params.build().unwrap());
        let nodes = || zeros(&[3, 4], DType::F32);
        let takes = format!("{net} takes two inputs, nodes and edges, got");
        check(&model, &[nodes()], &format!("{takes} `1` inputs"));
        let takes = format!("{net} takes at least one float32 row of `4` numbers as nodes, got");
        let edges = || zeros(&[2, 1], DType::I64);
        check(
            &model,
            &[zeros(&[3, 5], DType::F32), edges()],
            &format!("{takes} the shape `[3, 5]`"),
        );
        check(
            &model,
            &[zeros(&[0, 4], DType::F32), edges()],
            &format!("{takes} the shape `[0, 4]`"),
        );
        check(
            &model,
            &[zeros(&[3, 4], DType::F16), edges()],
            &format!("{takes} the dtype `float16`"),
        );
        let takes = format!("{net} takes edges of shape `[2, M]` and dtype `int64`, got");
        check(
            &model,
            &[nodes(), zeros(&[3, 2], DType::I64)],
            &format!("{takes} the shape `[3, 2]`"),
        );
        check(
            &model,
            &[nodes(), zeros(&[2, 2], DType::U32)],
            &format!("{takes} the dtype `uint32`"),
        );
        let takes = format!("{net} takes edges between nodes `0` to `2`, got");
        check(
            &model,
            &[nodes(), ids(&[[0_i64], [3]])],
            &format!("{takes} an edge at node `3`"),
        );
        check(
            &model,
            &[nodes(), ids(&[[-1_i64], [0]])],
            &format!("{takes} an edge at node `-1`"),
        );
    }
}
