//! Values and gradients as PyTorch 2.15 prints them, zeros among the logits.

use candle_core::{Device, Var};

use super::*;

const LOGITS: [[f32; 3]; 2] = [[0.5, -1.0, 0.0], [2.0, 0.0, -3.0]];

/// The rounding error of a float32 after a few operations on numbers of order one.
const TOLERANCE: f32 = 3e-7;

#[track_caller]
fn check_of(
    logits: &Var,
    (loss, nll): (Losses, NllInput),
    targets: &Tensor,
    value: f32,
    gradient: &[f32],
) {
    let terms = loss_terms(loss, logits.as_tensor(), targets, nll).unwrap();
    let found = terms.loss.to_scalar::<f32>().unwrap();
    assert!((found - value).abs() <= TOLERANCE, "{found} is not {value}");
    let store = terms.loss.backward().unwrap();
    let found = store.get(logits.as_tensor()).unwrap();
    let found = found.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    for (found, expected) in found.iter().zip(gradient) {
        assert!(
            (found - expected).abs() <= TOLERANCE,
            "{found} is not {expected} in the gradient"
        );
    }
}

#[track_caller]
fn check(loss: Losses, nll: NllInput, targets: &Tensor, value: f32, gradient: [f32; 6]) {
    let logits = Var::new(&LOGITS, &Device::Cpu).unwrap();
    check_of(&logits, (loss, nll), targets, value, &gradient);
}

fn tensor<A: candle_core::NdArray>(values: A) -> Tensor {
    Tensor::new(values, &Device::Cpu).unwrap()
}

#[test]
fn losses_of_class_indices() {
    // F.cross_entropy(x, torch.tensor([2, -100]))
    check(
        Losses::CrossEntropy,
        NllInput::LogSoftmax,
        &tensor(&[2_i64, -100]),
        1.104_130_6,
        [0.546_549_4, 0.121_951_63, -0.668_501, 0.0, 0.0, 0.0],
    );
    let targets = tensor(&[2_i64, 1]);
    // F.nll_loss(F.log_softmax(x, 1), torch.tensor([2, 1])), then F.nll_loss(x, …)
    check(
        Losses::NegativeLogLikelihood,
        NllInput::LogSoftmax,
        &targets,
        1.618_487_8,
        [
            0.273_274_7,
            0.060_975_816,
            -0.334_250_5,
            0.437_800_3,
            -0.440_750_2,
            0.002_949_874_8,
        ],
    );
    check(
        Losses::NegativeLogLikelihood,
        NllInput::Logits,
        &targets,
        0.0,
        [0.0, 0.0, -0.5, 0.0, -0.5, 0.0],
    );
}

#[test]
fn the_classes_lie_along_axis_1() {
    // F.cross_entropy(torch.tensor([[[0.5, -1.], [0., 2.], [0., -3.]]]), torch.tensor([[1, 2]]))
    let logits = Var::new(&[[[0.5_f32, -1.0], [0.0, 2.0], [0.0, -3.0]]], &Device::Cpu).unwrap();
    check_of(
        &logits,
        (Losses::CrossEntropy, NllInput::LogSoftmax),
        &tensor(&[[1_i64, 2]]),
        3.174_681,
        &[
            0.225_931_38,
            0.023_561_707,
            -0.362_965_7,
            0.473_249_6,
            0.137_034_3,
            -0.496_811_27,
        ],
    );
}

#[test]
fn the_loss_of_probabilities() {
    // F.cross_entropy(x, torch.tensor([[.2, .3, .5], [1., 0, 0]]))
    check(
        Losses::CrossEntropy,
        NllInput::LogSoftmax,
        &tensor(&[[0.2_f32, 0.3, 0.5], [1.0, 0.0, 0.0]]),
        0.718_488,
        [
            0.173_274_7,
            -0.089_024_186,
            -0.084_250_525,
            -0.062_199_71,
            0.059_249_833,
            0.002_949_874_8,
        ],
    );
}

#[test]
fn losses_of_elements() {
    // F.binary_cross_entropy_with_logits(x, torch.tensor([[1., 0, 1], [0, 1, .5]]))
    check(
        Losses::BinaryCrossEntropy,
        NllInput::LogSoftmax,
        &tensor(&[[1_f32, 0.0, 1.0], [0.0, 1.0, 0.5]]),
        0.974_858_1,
        [
            -0.062_923_44,
            0.044_823_572,
            -0.083_333_336,
            0.146_799_5,
            -0.083_333_336,
            -0.075_429_02,
        ],
    );
    // F.mse_loss(x, torch.tensor([1., 2, 3]))
    check(
        Losses::MeanSquaredError,
        NllInput::LogSoftmax,
        &tensor(&[1_f32, 2.0, 3.0]),
        9.875,
        [-0.166_666_67, -1.0, -1.0, 0.333_333_34, -0.666_666_7, -2.0],
    );
}

#[test]
fn where_nothing_counts_the_loss_is_nan_and_the_numerator_zero() {
    let logits = tensor(&LOGITS);
    let targets = tensor(&[IGNORE_INDEX; 2]);
    let terms = loss_terms(Losses::CrossEntropy, &logits, &targets, NllInput::default()).unwrap();
    assert!(terms.loss.to_scalar::<f32>().unwrap().is_nan());
    assert_eq!(terms.numerator.to_scalar::<f32>().unwrap(), 0.0);
    assert_eq!(terms.weight, 0.0);
}
