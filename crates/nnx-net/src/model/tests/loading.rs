//! Models from checkpoints.

use nnx_checkpoint::{Dtype, ShapeMismatch, Tensor as PlainTensor};
use nnx_params::{Losses, NNCheckpointTransform, Nets, State, Value};

use super::*;
use crate::error::ErrorKind;

#[test]
fn a_checkpoint_of_the_model_gives_the_model_back() {
    let model = per_layer();
    let checkpoint = model.checkpoint(idp()).unwrap();
    assert_eq!(checkpoint.net_params.as_ref(), Some(model.net_params()));
    assert_eq!(&checkpoint.model_params, model.params());
    let again = NNModel::from_checkpoint(&checkpoint).unwrap();
    assert_eq!(
        bytes_of(&again.state_dict().unwrap()),
        bytes_of(&model.state_dict().unwrap())
    );
    assert_eq!(
        again.forward(&rows()).unwrap().to_vec2::<f32>().unwrap(),
        model.forward(&rows()).unwrap().to_vec2::<f32>().unwrap()
    );
}

#[test]
fn everything_that_does_not_fit_is_reported_at_once() {
    let mut checkpoint = model(&[4, 8, 2], 0).checkpoint(idp()).unwrap();
    let tensor = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        PlainTensor::from_bytes(Dtype::Float32, shape, vec![0; 4 * count]).unwrap()
    };
    checkpoint.net_state = [
        ("layers.0.weight", tensor(&[8, 4])),
        ("layers.0.bias", tensor(&[3])),
        ("layers.1.weight", tensor(&[8, 2])),
        ("layers.2.weight", tensor(&[1])),
        ("head", tensor(&[])),
    ]
    .into_iter()
    .collect();
    let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state dict does not fit the net: missing `layers.1.bias`; unexpected \
         `layers.2.weight`, `head`; `layers.0.bias` should have shape `[8]`, has `[3]`; \
         `layers.1.weight` should have shape `[2, 8]`, has `[8, 2]`"
    );
    let ErrorKind::WrongWeights(mismatch) = error.into_kind() else {
        panic!("another kind")
    };
    assert_eq!(mismatch.missing, ["layers.1.bias"]);
    assert_eq!(mismatch.unexpected, ["layers.2.weight", "head"]);
    assert_eq!(
        mismatch.shape_mismatches[0],
        ShapeMismatch::new("layers.0.bias", &[8], &[3])
    );
}

#[test]
fn a_state_that_asks_for_the_moon_allocates_nothing() {
    let mut checkpoint = model(&[4, 2], 0).checkpoint(idp()).unwrap();
    checkpoint.net_params = Some(net_params(&[1 << 40, 1 << 40]));
    let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::WrongWeights(_)),
        "{error:?}"
    );
    let error = NNModel::new(net_params(&[1 << 40, 1 << 40]), feed_fwd(), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the sizes of `[1099511627776, 1099511627776]` overflow"
    );
}

/// A linear model whose bias is stored as that dtype.
#[track_caller]
fn check_dtype(dtype: Dtype, bytes: &[u8], expected: [f32; 2]) {
    let mut checkpoint = model(&[1, 2], 0).checkpoint(idp()).unwrap();
    let bias = PlainTensor::from_bytes(dtype, &[2], bytes.to_vec()).unwrap();
    checkpoint.net_state.insert("layers.0.bias", bias);
    let model = NNModel::from_checkpoint(&checkpoint).unwrap();
    let zero = Tensor::new(&[[0_f32]], &Device::Cpu).unwrap();
    assert_eq!(
        model.forward(&zero).unwrap().to_vec2::<f32>().unwrap(),
        [expected],
        "{dtype}"
    );
}

#[test]
fn weights_of_other_dtypes_become_float32() {
    // torch.tensor([1.5, -2.0], dtype=…).view(torch.uint8)
    check_dtype(Dtype::Float16, &[0x00, 0x3e, 0x00, 0xc0], [1.5, -2.0]);
    check_dtype(Dtype::BFloat16, &[0xc0, 0x3f, 0x00, 0xc0], [1.5, -2.0]);
    check_dtype(Dtype::Float8E4M3Fn, &[0x3c, 0xc0], [1.5, -2.0]);
    let doubles: Vec<u8> = [1.5_f64, -2.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    check_dtype(Dtype::Float64, &doubles, [1.5, -2.0]);
    // Python's load_state_dict copies integers too.
    let ints: Vec<u8> = [3_i64, -2].iter().flat_map(|v| v.to_le_bytes()).collect();
    check_dtype(Dtype::Int64, &ints, [3.0, -2.0]);
}

#[test]
fn a_model_can_be_moved_to_another_device() {
    let mut checkpoint = model(&[4, 2], 0).checkpoint(idp()).unwrap();
    checkpoint.model_params = NNModelParams::builder(Nets::FeedFwd)
        .device(Devices::Cuda)
        .loss(Losses::BinaryCrossEntropy)
        .build()
        .unwrap();
    let model = NNModel::from_checkpoint_on(&checkpoint, Devices::Cpu).unwrap();
    assert_eq!(model.params().device(), Devices::Cpu);
    assert_eq!(model.params().loss(), Losses::BinaryCrossEntropy);
}

#[cfg(not(any(feature = "cuda", feature = "metal")))]
#[test]
fn an_absent_device_is_named_with_the_way_out() {
    for device in [Devices::Cuda, Devices::Mps] {
        let params = NNModelParams::builder(Nets::FeedFwd)
            .device(device)
            .build()
            .unwrap();
        let error = NNModel::new(net_params(&[4, 2]), params, 0).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported { .. }),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("device `{device}` cannot be used")),
            "{text}"
        );
        assert!(
            text.ends_with("pass another device to `NNModel::from_checkpoint_on`"),
            "{text}"
        );
    }
}

#[test]
fn a_transform_that_is_not_replayed_is_refused_by_name() {
    let mut checkpoint = model(&[4, 2], 0).checkpoint(idp()).unwrap();
    checkpoint.transforms = vec![NNCheckpointTransform::new("torchao_qat", 1, State::new())];
    let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unsupported { .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "the checkpoint's weights belong to a net changed by `torchao_qat`, which this version \
         does not replay"
    );
}

#[test]
fn a_transform_of_a_layer_that_the_net_lacks_is_refused() {
    let mut checkpoint = model(&[4, 2], 0).checkpoint(idp()).unwrap();
    let options = State::from_iter([
        ("targets", Value::List(vec!["layers.7".into()])),
        ("rank", Value::Int(1)),
        ("method", "svd".into()),
    ]);
    checkpoint.transforms = vec![NNCheckpointTransform::new("low_rank", 1, options)];
    let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidConfiguration { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("`layers.7`"), "{error}");
}
