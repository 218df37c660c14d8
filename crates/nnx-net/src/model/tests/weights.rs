//! Fresh weights and the state dict.

use nnx_checkpoint::Dtype;
use sha2::{Digest, Sha256};

use super::*;

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
    let StateDictMetadata::Versions(modules) = state.modules() else {
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
