//! Values, weights and gradients of the losses.

use candle_core::{Device, Tensor, Var};
use nnx_net::{NllInput, loss_terms};
use nnx_params::{Losses, NNModelParams, State, Value};
use nnx_tests::{Json, fixtures_dir};

use super::fixture::floats_of_hex;

fn shaped(json: &Json) -> Tensor {
    let shape: Vec<usize> = json.get("shape").items().iter().map(Json::size).collect();
    if let Some(values) = json.find("values") {
        let values = values.items();
        let values = values.iter().map(|value| match value.0 {
            Value::Int(class) => i64::try_from(class).unwrap(),
            ref other => panic!("{other:?} is no class"),
        });
        return Tensor::from_vec(values.collect(), shape, &Device::Cpu).unwrap();
    }
    let values = floats_of_hex(json.get("hex").text());
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn loss_of(name: &str) -> Losses {
    let state = [("net", "feed_fwd"), ("loss", name), ("device", "cpu")];
    NNModelParams::from_state(&State::from_iter(state))
        .unwrap()
        .loss()
}

#[test]
fn losses_and_their_gradients_are_those_of_the_real_library() {
    let cases = Json::read(&fixtures_dir().join("training/losses.json"))
        .get("cases")
        .items();
    let mut farthest: f64 = 0.0;
    for (at, case) in cases.iter().enumerate() {
        let name = case.get("loss");
        let loss = loss_of(name.text());
        let output = Var::from_tensor(&shaped(&case.get("output"))).unwrap();
        let targets = shaped(&case.get("target"));
        let terms = loss_terms(loss, output.as_tensor(), &targets, NllInput::LogSoftmax).unwrap();
        let at = format!("{} of case {at}", name.text());
        assert_eq!(terms.weight, case.get("weight").float(), "{at}");
        let found = terms.loss.to_scalar::<f32>().unwrap();
        let expected = floats_of_hex(case.get("value").text())[0];
        assert_eq!(found.is_nan(), expected.is_nan(), "{at}");
        if !expected.is_nan() {
            let far = f64::from((found - expected).abs() / expected.abs().max(1.0));
            assert!(far <= 2e-7, "{at}: {found} is not {expected}");
        }
        let store = terms.numerator.backward().unwrap();
        let expected = floats_of_hex(case.get("gradient").text());
        let found = store.get(output.as_tensor()).map_or_else(
            || vec![0.0; expected.len()],
            |gradient| gradient.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
        );
        let largest = expected.iter().map(|x| x.abs()).fold(1e-30, f32::max);
        for (found, expected) in found.iter().zip(&expected) {
            let far = f64::from((found - expected).abs() / largest);
            farthest = farthest.max(far);
            assert!(far <= 2e-7, "{at}: the gradient {found} is not {expected}");
        }
    }
    println!(
        "{} losses, gradients within {farthest:.1e} of their largest element",
        cases.len()
    );
    assert_eq!(cases.len(), 12);
}
