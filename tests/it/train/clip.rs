//! Norms and clipped gradients of `clip.json`.

use candle_core::{Device, Tensor, Var};
use nnx_tests::Json;
use nnx_train::{Gradients, Parameter, clip_grad_norm, vector_norm};

use super::fixture::folder;
use super::recorded::bits;

fn floats(hex: &str) -> Vec<f32> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let (all, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    all.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[test]
fn norms_and_clipped_gradients_are_the_library_s_bit_for_bit() {
    let cases = Json::read(&folder().join("clip.json")).get("cases").items();
    assert_eq!(cases.len(), 5);
    let mut judged = 0;
    for case in &cases {
        let mut gradients = Gradients::new();
        let mut parameters = Vec::new();
        let norms = case.get("norms").texts();
        let (shapes, given) = (case.get("shapes").items(), case.get("grads").texts());
        for ((shape, gradient), norm) in shapes.iter().zip(&given).zip(&norms) {
            let shape: Vec<usize> = shape.items().iter().map(Json::size).collect();
            let gradient = floats(gradient);
            assert_eq!(bits(&[vector_norm(&gradient)]), bits(&floats(norm)));
            let zeros = Tensor::zeros(shape, candle_core::DType::F32, &Device::Cpu).unwrap();
            let name = parameters.len().to_string();
            let parameter = Parameter::new(name, Var::from_tensor(&zeros).unwrap());
            gradients.set(&parameter, gradient);
            parameters.push(parameter);
        }
        // One that no batch reached takes no part.
        let unreached = Var::from_tensor(&Tensor::new(&[1f32], &Device::Cpu).unwrap()).unwrap();
        parameters.insert(1, Parameter::new("unreached", unreached));
        let max_norm = case.get("max_norm").float();
        let total = clip_grad_norm(&mut gradients, &parameters, max_norm);
        assert_eq!(bits(&[total]), bits(&floats(case.get("total").text())));
        assert!(gradients.get(&parameters.remove(1)).is_none());
        let clipped = case.get("clipped").texts();
        assert_eq!(clipped.len(), parameters.len());
        for (parameter, expected) in parameters.iter().zip(&clipped) {
            let found = gradients.get(parameter).unwrap();
            assert_eq!(bits(found), bits(&floats(expected)), "{}", parameter.name);
            judged += found.len();
        }
    }
    println!("clipped elements judged: {judged}");
    assert_eq!(judged, 1417);
}
