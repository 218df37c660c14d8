//! The forward pass, in both modes.

use candle_core::{DType, Var};
use nnx_params::{Activations, NNParams};

use super::*;
use crate::error::ErrorKind;

#[test]
fn logits_are_those_of_the_float64_net() {
    // m.net.double()(x.double())
    let expected = [
        [-0.185_543_885_744_206_24, -0.388_334_200_784_277_7],
        [-0.181_129_437_675_601_5, -0.400_888_811_156_881_63],
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
            ErrorKind::WrongInput {
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
