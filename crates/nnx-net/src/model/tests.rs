//! Expected values are what NNx 0.4.1 on PyTorch 2.15 gives for the lines in the comments.

use candle_core::{DType, Var};
use nnx_checkpoint::{Dtype, Tensor as PlainTensor};
use nnx_params::{
    Activations, Losses, NNCheckpointTransform, NNEvaluationDataPoint, NNMoEParams, NNParams,
    NetDescriptor, Nets, PrecisionFallback, PrecisionMode, PrecisionPolicy, RuntimeModule, State,
    TaskKind, TaskSpec,
};
use sha2::{Digest, Sha256};

use super::*;
use crate::error::{ErrorKind, ShapeMismatch};

fn feed_fwd() -> NNModelParams {
    NNModelParams::builder(Nets::FeedFwd).build().unwrap()
}

fn net_params(dims: &[usize]) -> NetParams {
    let [input, hidden @ .., output] = dims else {
        panic!("too few dims")
    };
    NNParams::builder(*input, *output)
        .hidden_dims(hidden.iter().copied())
        .dropout_prob(0.0)
        .build()
        .unwrap()
        .into()
}

fn model(dims: &[usize], seed: u64) -> NNModel {
    NNModel::new(net_params(dims), feed_fwd(), seed).unwrap()
}

/// The model of the example in the comments:
/// `NNParams(input_dim=4, output_dim=2, hidden_dims=[6, 5, 4], dropout_prob=0.2, activation=RELU,
/// activations=[TANH, SOFTMAX, ELU], dropout_probs=[0.0, 0.25, 0.5])` after `manual_seed(42)`.
fn per_layer() -> NNModel {
    let params = NNParams::builder(4, 2)
        .hidden_dims([6, 5, 4])
        .dropout_prob(0.2)
        .activation(Activations::Relu)
        .activations([Activations::Tanh, Activations::Softmax, Activations::Elu])
        .dropout_probs([0.0, 0.25, 0.5])
        .build()
        .unwrap();
    NNModel::new(params.into(), feed_fwd(), 42).unwrap()
}

fn rows() -> Tensor {
    Tensor::new(
        &[[1_f32, 2.0, 3.0, 4.0], [-0.5, 0.25, 0.0, 8.0]],
        &Device::Cpu,
    )
    .unwrap()
}

fn idp() -> NNIterationDataPoint {
    let edp = NNEvaluationDataPoint::builder().loss(0.5).build().unwrap();
    NNIterationDataPoint::new(0.01, 0, 0, 0, edp)
}

fn bytes_of(state: &StateDict) -> Vec<u8> {
    state
        .tensors()
        .flat_map(|(_, tensor)| tensor.to_bytes().unwrap().into_owned())
        .collect()
}

/// Ten seeds, among them ones that differ in the high half alone:
///
/// ```python
/// for s in SEEDS:
///     torch.manual_seed(s)
///     m = NNModel(NNParams(input_dim=dims[0], output_dim=dims[-1], hidden_dims=dims[1:-1],
///                          dropout_prob=0.5), NNModelParams(net=Nets.FEED_FWD))
///     for v in m.net.state_dict().values(): sha256.update(v.numpy().tobytes())
/// ```
const SEEDS: [u64; 10] = [
    0,
    1,
    2,
    3,
    42,
    1234,
    99_999,
    1 << 31,
    (1 << 32) - 1,
    (1 << 32) + 7,
];

#[track_caller]
fn check_init(dims: &[usize], expected: &str) {
    let mut sha256 = Sha256::new();
    for seed in SEEDS {
        sha256.update(bytes_of(&model(dims, seed).state_dict().unwrap()));
    }
    let digest: String = sha256
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(digest, expected, "{dims:?}");
}

#[test]
fn fresh_weights_are_those_of_torch_bit_for_bit() {
    check_init(
        &[1, 1],
        "880e5bd4e481d053ad38e4488673f5cbf5cb8f987afcbb36ce1745ad59ee64b1",
    );
    check_init(
        &[4, 8, 2],
        "9b40a025dc452988a96613510dbbbe6ca440f9617ce0ff6fc3d5a071c16f411b",
    );
    check_init(
        &[3, 7, 5, 11, 2],
        "8f71d788bdbf4def8cb149047da5fcab71fac36e9b588968eba9c78dbf221bf3",
    );
    check_init(
        &[17, 1, 1, 19],
        "a1cce74878904e60c37d506d1a781ccba053869a9e95131b8b0f413619acf7a4",
    );
    check_init(
        &[784, 64, 10],
        "f1352fb9393b10640b07d2d863c4548244bce871aed3680619ccbcfba46912f9",
    );
    check_init(
        &[1000, 3, 3],
        "aae9510cd2e1c97edf2412714909d57064d5f209129a81948a96bf1497a4385b",
    );
}

#[test]
fn the_weight_is_drawn_before_the_bias() {
    // torch.manual_seed(0), dims [2, 1]: the bits of the weight, then of the bias.
    let state = model(&[2, 1], 0).state_dict().unwrap();
    let bits: Vec<u32> = bytes_of(&state)
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!(bits, [3_148_708_130, 1_052_915_356, 3_205_823_665]);
}

#[test]
fn state_dicts_have_the_names_order_and_modules_of_python() {
    let state = model(&[4, 8, 2], 0).state_dict().unwrap();
    let entries: Vec<_> = state.tensors().map(|(name, t)| (name, t.shape())).collect();
    assert_eq!(
        entries,
        [
            ("layers.0.weight", &[8, 4][..]),
            ("layers.0.bias", &[8]),
            ("layers.1.weight", &[2, 8]),
            ("layers.1.bias", &[2]),
        ]
    );
    assert!(
        state
            .tensors()
            .all(|(_, tensor)| tensor.dtype() == Dtype::Float32)
    );
    let Modules::Versions(modules) = state.modules() else {
        panic!("no module versions")
    };
    let modules: Vec<_> = modules
        .iter()
        .map(|(path, version)| (path.as_str(), *version))
        .collect();
    assert_eq!(
        modules,
        [("", 1), ("layers", 1), ("layers.0", 1), ("layers.1", 1)]
    );
}

#[test]
fn logits_are_those_of_the_float64_net() {
    // m.net.double()(x.double())
    let expected = [
        [-0.185_543_885_744_206_24, -0.388_334_200_784_277_7],
        [-0.181_129_437_675_601_49, -0.400_888_811_156_881_63],
    ];
    let found = per_layer()
        .forward(&rows())
        .unwrap()
        .to_vec2::<f32>()
        .unwrap();
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!(
            (f64::from(*found) - expected).abs() < 1e-7,
            "{found} is not {expected}"
        );
    }
}

#[test]
fn inputs_are_flattened_behind_the_first_axis() {
    let model = per_layer();
    let flat = model.forward(&rows()).unwrap().to_vec2::<f32>().unwrap();
    let square = rows().reshape((2, 2, 2)).unwrap();
    assert_eq!(
        model.forward(&square).unwrap().to_vec2::<f32>().unwrap(),
        flat
    );
    // Python takes torch.tensor([1., 2.]) as two rows of one number.
    let input = Tensor::new(&[1_f32, 2.0], &Device::Cpu).unwrap();
    assert_eq!(
        self::model(&[1, 3], 0).forward(&input).unwrap().dims(),
        [2, 3]
    );
}

#[track_caller]
fn check_refused(input: &Tensor, found: &str) {
    let error = model(&[4, 2], 0).forward(input).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Input {
                net: "feed_fwd",
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        format!("feed_fwd takes at least one float32 row of `4` numbers, got {found}")
    );
}

#[test]
fn other_inputs_are_refused() {
    let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, &Device::Cpu).unwrap();
    check_refused(&zeros(&[3, 5], DType::F32), "the shape `[3, 5]`");
    check_refused(&zeros(&[4], DType::F32), "the shape `[4]`");
    check_refused(&zeros(&[0, 4], DType::F32), "the shape `[0, 4]`");
    check_refused(&zeros(&[3, 4, 0], DType::F32), "the shape `[3, 4, 0]`");
    check_refused(&zeros(&[], DType::F32), "the shape `[]`");
    check_refused(&zeros(&[3, 4], DType::F64), "the dtype `float64`");
    check_refused(&zeros(&[3, 4], DType::I64), "the dtype `int64`");
}

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
    let ErrorKind::StateDict(mismatch) = error.into_kind() else {
        panic!("another kind")
    };
    assert_eq!(mismatch.missing, ["layers.1.bias"]);
    assert_eq!(mismatch.unexpected, ["layers.2.weight", "head"]);
    assert_eq!(
        mismatch.misshaped[0],
        ShapeMismatch {
            name: "layers.0.bias".into(),
            expected: vec![8],
            found: vec![3]
        }
    );
}

#[test]
fn a_state_that_asks_for_the_moon_allocates_nothing() {
    let mut checkpoint = model(&[4, 2], 0).checkpoint(idp()).unwrap();
    checkpoint.net_params = Some(net_params(&[1 << 40, 1 << 40]));
    let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::StateDict(_)), "{error:?}");
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
fn transforms_are_refused_by_name() {
    let mut checkpoint = model(&[4, 2], 0).checkpoint(idp()).unwrap();
    checkpoint.transforms = ["lora", "low_rank"]
        .map(|name| NNCheckpointTransform::new(name, 1, State::new()))
        .into();
    let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unsupported { .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "the checkpoint's weights belong to a net changed by `lora`, `low_rank`, which this \
         version does not replay"
    );
}

#[track_caller]
fn check_build(net: Option<NetDescriptor>, params: NetParams, expected: &str) {
    let model_params = NNModelParams::builder(net).build().unwrap();
    let error = NNModel::new(params, model_params, 0).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_cannot_be_built_is_named() {
    let moe = || {
        NetParams::from(
            NNMoEParams::builder(4, 2, 2)
                .hidden_dims([3])
                .dropout_prob(0.0)
                .build()
                .unwrap(),
        )
    };
    // Python: Nets.CONV requires NNConvParams; got NNParams
    check_build(
        Nets::Conv.into(),
        net_params(&[4, 2]),
        "net `conv` needs `NNConvParams`, got `NNParams`",
    );
    // Python: NNMoEParams is only compatible with Nets.FEED_FWD_MOE; got Nets.FEED_FWD
    check_build(
        Nets::FeedFwd.into(),
        moe(),
        "net `feed_fwd` needs `NNParams`, got `NNMoEParams`",
    );
    // Python: NNModelParams.net is required
    check_build(
        None,
        net_params(&[4, 2]),
        "the model parameters name no net, one of `Nets` is needed",
    );
    check_build(
        Nets::FeedFwdMoe.into(),
        moe(),
        "net `feed_fwd_moe` cannot run in this version, only `feed_fwd` can",
    );
    check_build(
        Nets::GraphConv.into(),
        net_params(&[4, 2]),
        "net `graph_conv` cannot run in this version, only `feed_fwd` can",
    );
    let module = RuntimeModule::new("my.Net", "d41d8cd98f00b204e9800998ecf8427e").unwrap();
    check_build(
        module.into(),
        net_params(&[4, 2]),
        "net `my.Net` is a Python module that no configuration can rebuild",
    );
}

#[test]
fn a_hidden_layer_needs_an_activation() {
    // Python: activation must be set when no per-layer activation override is available
    let params = NNParams::builder(4, 2)
        .hidden_dims([3])
        .activation(None)
        .dropout_prob(0.0);
    let error = NNModel::new(params.build().unwrap().into(), feed_fwd(), 0).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Params(_)), "{error:?}");
}

#[test]
fn predictions_ignore_and_keep_the_mode() {
    let mut model = per_layer();
    let before = model.predict(&rows()).unwrap();
    // m.predict(x)
    assert_eq!(before.classes.to_vec1::<i64>().unwrap(), [0, 0]);
    model.train_mode();
    let after = model.predict(&rows()).unwrap();
    assert!(model.is_training());
    assert_eq!(
        before.logits.to_vec2::<f32>().unwrap(),
        after.logits.to_vec2::<f32>().unwrap()
    );
}

#[test]
fn training_mode_drops_by_the_seed() {
    let mut model = per_layer();
    let calm = model.forward(&rows()).unwrap().to_vec2::<f32>().unwrap();
    let mut run = |seed| {
        model.train_mode();
        model.seed(seed);
        let first = model.forward(&rows()).unwrap().to_vec2::<f32>().unwrap();
        let second = model.forward(&rows()).unwrap().to_vec2::<f32>().unwrap();
        assert_ne!(first, second);
        first
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), calm);
    model.eval_mode();
    assert_eq!(
        model.forward(&rows()).unwrap().to_vec2::<f32>().unwrap(),
        calm
    );
}

#[test]
fn training_mode_gives_the_gradients_of_torch() {
    // torch.manual_seed(42); NNParams(input_dim=2, output_dim=1, hidden_dims=[2],
    // dropout_prob=0.0, activation=TANH); m.net(torch.tensor([[1., 2.]])).sum().backward()
    let params = NNParams::builder(2, 1)
        .hidden_dims([2])
        .dropout_prob(0.0)
        .activation(Activations::Tanh)
        .build()
        .unwrap();
    let mut model = NNModel::new(params.into(), feed_fwd(), 42).unwrap();
    model.train_mode();
    let input = Tensor::new(&[[1_f32, 2.0]], &Device::Cpu).unwrap();
    let store = model
        .forward(&input)
        .unwrap()
        .sum_all()
        .unwrap()
        .backward()
        .unwrap();
    let expected: [&[f32]; 4] = [
        &[-0.055_823_896, -0.111_647_79, 0.111_375_004, 0.222_750_01],
        &[-0.055_823_896, 0.111_375_004],
        &[0.915_337_7, 0.855_454_27],
        &[1.0],
    ];
    for ((name, var), expected) in model.net().parameters().iter().zip(expected) {
        let gradient = store.get(Var::as_tensor(var)).unwrap();
        let gradient = gradient.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(gradient.len(), expected.len(), "{name}");
        for (found, expected) in gradient.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 3e-7,
                "{name}: {found} is not {expected}"
            );
        }
    }
}

#[test]
fn regression_predicts_values() {
    let params = NNModelParams::builder(Nets::FeedFwd)
        .loss(Losses::MeanSquaredError)
        .task(TaskSpec::builder(TaskKind::Regression).build().unwrap())
        .build()
        .unwrap();
    let model = NNModel::new(net_params(&[4, 2]), params, 0).unwrap();
    let prediction = model.predict(&rows()).unwrap();
    assert_eq!(
        prediction.classes.to_vec2::<f32>().unwrap(),
        prediction.logits.to_vec2::<f32>().unwrap()
    );
}

#[test]
fn a_task_that_does_not_fit_is_refused() {
    let params = NNModelParams::builder(Nets::FeedFwd)
        .task(TaskSpec::builder(TaskKind::Regression).build().unwrap())
        .build()
        .unwrap();
    let error = NNModel::new(net_params(&[4, 2]), params, 0).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Configuration { .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "a regression task needs the loss `mean_squared_error`, got `cross_entropy`"
    );
}

#[track_caller]
fn check_precision(mode: PrecisionMode, fallback: PrecisionFallback, builds: bool, predicts: bool) {
    let params = NNModelParams::builder(Nets::FeedFwd)
        .precision(PrecisionPolicy::new(mode, fallback))
        .build()
        .unwrap();
    let model = NNModel::new(net_params(&[4, 2]), params, 0);
    assert_eq!(model.is_ok(), builds, "{mode} {fallback}");
    if let Ok(model) = model {
        assert!(model.forward(&rows()).is_ok());
        assert_eq!(
            model.predict(&rows()).is_ok(),
            predicts,
            "{mode} {fallback}"
        );
    }
}

#[test]
fn a_precision_policy_is_not_ignored() {
    use PrecisionFallback::{Error, Fp32};
    check_precision(PrecisionMode::Fp32, Error, true, true);
    // Python raises PrecisionUnsupportedError for fp16 on the CPU, and falls back when told to.
    check_precision(PrecisionMode::Fp16, Error, false, false);
    check_precision(PrecisionMode::Fp16, Fp32, true, true);
    // Python predicts in bfloat16 on the CPU; its numbers differ from float32 in the third digit.
    check_precision(PrecisionMode::Bf16, Error, true, false);
    check_precision(PrecisionMode::Bf16, Fp32, true, false);
}
