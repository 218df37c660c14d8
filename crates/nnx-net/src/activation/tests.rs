//! Values and gradients as PyTorch 2.15 prints them, among them the places where branches meet.
//!
//! Made with, for each function `f` of `torch.nn.functional`:
//! `x = torch.tensor(XS, requires_grad=True); y = f(x); y.sum().backward(); print(y, x.grad)`

use candle_core::{Device, Tensor, Var};
use nnx_params::Activations;

use super::activate;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

const XS: [f32; 19] = [
    NAN, INF, -INF, -0.0, 0.0, 1e-8, -1e-8, -1e-3, -0.5, -3.0, -12.0, -30.0, -100.0, 0.5, 3.0,
    19.5, 20.0, 20.5, 100.0,
];

/// The rounding error of a float32 after a few operations, relative to its size.
const RELATIVE: f32 = 1e-6;

/// The rounding error of a derivative that is a difference, such as 1 - tanh²; its size is at most
/// one.
const ABSOLUTE: f32 = 2e-7;

#[track_caller]
fn assert_close(what: &str, xs: &[f32], found: &[f32], expected: &[f32], absolute: f32) {
    assert_eq!(found.len(), expected.len());
    for ((x, found), expected) in xs.iter().zip(found).zip(expected) {
        let near = (found - expected).abs() <= RELATIVE * expected.abs() + absolute;
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(
            same || near,
            "{what} of {x}: found {found}, expected {expected}"
        );
    }
}

#[track_caller]
fn check(activation: Activations, values: [f32; 19], gradients: [f32; 19]) {
    let xs = Var::new(&XS, &Device::Cpu).unwrap();
    let ys = activate(activation, xs.as_tensor()).unwrap();
    assert_close(
        "value",
        &XS,
        &ys.to_vec1().unwrap(),
        &values,
        f32::MIN_POSITIVE,
    );
    let store = ys.sum_all().unwrap().backward().unwrap();
    let found = store.get(xs.as_tensor()).unwrap().to_vec1().unwrap();
    assert_close("gradient", &XS, &found, &gradients, ABSOLUTE);
}

#[test]
#[rustfmt::skip]
fn elu() {
    check(
        Activations::Elu,
        [NAN, INF, -1.0, -0.0, 0.0, 1.0e-8, -1.0e-8, -9.995_002e-4, -3.934_693_3e-1,
         -9.502_129_6e-1, -9.999_938_6e-1, -1.0, -1.0, 5.0e-1, 3.0, 1.95e1, 2.0e1, 2.05e1,
         1.0e2],
        [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 9.990_005e-1, 6.065_306_7e-1, 4.978_706_7e-2,
         6.144_212_4e-6, 9.357_623e-14, 3.8e-44, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    );
}

#[test]
#[rustfmt::skip]
fn selu() {
    check(
        Activations::Selu,
        [NAN, INF, -1.758_099_3, -0.0, 0.0, 1.050_701e-8, -1.758_099_3e-8, -1.757_220_6e-3,
         -6.917_581_6e-1, -1.670_568_7, -1.758_088_5, -1.758_099_3, -1.758_099_3, 5.253_505e-1,
         3.152_103, 2.048_867e1, 2.101_402e1, 2.153_937_1e1, 1.050_701e2],
        [1.050_701, 1.050_701, 0.0, 1.758_099_3, 1.758_099_3, 1.050_701, 1.758_099_3,
         1.756_342, 1.066_341_2, 8.753_060_5e-2, 1.080_213_6e-5, 1.645_163_1e-13, 6.6e-44,
         1.050_701, 1.050_701, 1.050_701, 1.050_701, 1.050_701, 1.050_701],
    );
}

#[test]
#[rustfmt::skip]
fn tanh() {
    check(
        Activations::Tanh,
        [NAN, 1.0, -1.0, -0.0, 0.0, 1.0e-8, -1.0e-8, -9.999_997e-4, -4.621_171_7e-1,
         -9.950_548e-1, -1.0, -1.0, -1.0, 4.621_171_7e-1, 9.950_548e-1, 1.0, 1.0, 1.0, 1.0],
        [NAN, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 9.999_99e-1, 7.864_477e-1, 9.865_981_5e-3, 0.0,
         0.0, 0.0, 7.864_477e-1, 9.865_981_5e-3, 0.0, 0.0, 0.0, 0.0],
    );
}

#[test]
#[rustfmt::skip]
fn relu() {
    check(
        Activations::Relu,
        [NAN, INF, 0.0, -0.0, 0.0, 1.0e-8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0e-1, 3.0,
         1.95e1, 2.0e1, 2.05e1, 1.0e2],
        [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0,
         1.0, 1.0],
    );
}

#[test]
#[rustfmt::skip]
fn sigmoid() {
    check(
        Activations::Sigmoid,
        [NAN, 1.0, 0.0, 5.0e-1, 5.0e-1, 5.0e-1, 5.0e-1, 4.997_500_2e-1, 3.775_406_8e-1,
         4.742_587_4e-2, 6.144_174e-6, 9.357_623_6e-14, 0.0, 6.224_593_5e-1, 9.525_741_3e-1,
         1.0, 1.0, 1.0, 1.0],
        [NAN, 0.0, 0.0, 2.5e-1, 2.5e-1, 2.5e-1, 2.5e-1, 2.499_999_4e-1, 2.350_037_1e-1,
         4.517_666e-2, 6.144_136_5e-6, 9.357_623_6e-14, 0.0, 2.350_037_1e-1, 4.517_665_5e-2,
         0.0, 0.0, 0.0, 0.0],
    );
}

#[test]
#[rustfmt::skip]
fn softplus() {
    check(
        Activations::Softplus,
        [NAN, INF, 0.0, 6.931_472e-1, 6.931_472e-1, 6.931_472e-1, 6.931_472e-1, 6.926_473e-1,
         4.740_77e-1, 4.858_735_2e-2, 6.144_193_3e-6, 9.357_623e-14, 3.8e-44, 9.740_77e-1,
         3.048_587_3, 1.95e1, 2.0e1, 2.05e1, 1.0e2],
        [NAN, 1.0, 0.0, 5.0e-1, 5.0e-1, 5.0e-1, 5.0e-1, 4.9975e-1, 3.775_406_8e-1,
         4.742_587_4e-2, 6.144_174e-6, 9.357_623e-14, 3.8e-44, 6.224_593_5e-1, 9.525_741_3e-1,
         1.0, 1.0, 1.0, 1.0],
    );
}

#[test]
#[rustfmt::skip]
fn leaky_relu() {
    check(
        Activations::LeakyRelu,
        [NAN, INF, -INF, -0.0, 0.0, 1.0e-8, -9.999_999_4e-11, -1.000_000_1e-5, -5.0e-3,
         -3.0e-2, -1.2e-1, -2.999_999_8e-1, -1.0, 5.0e-1, 3.0, 1.95e1, 2.0e1, 2.05e1, 1.0e2],
        [1.0e-2, 1.0, 1.0e-2, 1.0e-2, 1.0e-2, 1.0, 1.0e-2, 1.0e-2, 1.0e-2, 1.0e-2, 1.0e-2,
         1.0e-2, 1.0e-2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    );
}

#[test]
fn softmax() {
    // torch.softmax(torch.tensor([[0.1, -0.2, 0.3], [1000.0, 999.0, -50.0]]), -1), and the gradient
    // of (y * torch.tensor([1.0, 2.0, 3.0])).sum()
    let xs = [0.1, -0.2, 0.3, 1000.0, 999.0, -50.0];
    let values = [
        0.337_584_5,
        0.250_088_75,
        0.412_326_66,
        0.731_058_6,
        0.268_941_43,
        0.0,
    ];
    let gradients = [
        -0.362_816_18,
        -0.018_692_093,
        0.381_508_62,
        -0.196_611_93,
        0.196_611_94,
        0.0,
    ];
    let input = Var::from_slice(&xs, (2, 3), &Device::Cpu).unwrap();
    let ys = activate(Activations::Softmax, input.as_tensor()).unwrap();
    let flat = ys.flatten_all().unwrap().to_vec1().unwrap();
    assert_close("value", &xs, &flat, &values, 0.0);

    let weights = Tensor::new(&[1_f32, 2.0, 3.0], &Device::Cpu).unwrap();
    let sum = ys.broadcast_mul(&weights).unwrap().sum_all().unwrap();
    let store = sum.backward().unwrap();
    let gradient = store.get(input.as_tensor()).unwrap();
    let found = gradient.flatten_all().unwrap().to_vec1().unwrap();
    assert_close("gradient", &xs, &found, &gradients, ABSOLUTE);
}

#[test]
fn softmax_of_what_has_no_softmax_is_nan() {
    // torch.softmax gives three NaN for each of these rows.
    for row in [[NAN, 1.0, 2.0], [INF, 1.0, 2.0], [-INF, -INF, -INF]] {
        let xs = Tensor::new(&[row], &Device::Cpu).unwrap();
        let ys = activate(Activations::Softmax, &xs).unwrap();
        let ys: Vec<f32> = ys.flatten_all().unwrap().to_vec1().unwrap();
        assert!(ys.iter().all(|y| y.is_nan()), "{row:?} gave {ys:?}");
    }
}

#[test]
fn softmax_runs_over_the_last_axis() {
    // torch.softmax(torch.zeros(1, 2, 4), -1)
    let xs = Tensor::zeros((1, 2, 4), candle_core::DType::F32, &Device::Cpu).unwrap();
    let ys = activate(Activations::Softmax, &xs).unwrap();
    assert_eq!(ys.to_vec3::<f32>().unwrap(), [[[0.25; 4]; 2]]);
}
