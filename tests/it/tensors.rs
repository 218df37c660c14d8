//! Tensors in fixtures.

use candle_core::{DType, Device, Tensor};
use nnx_tests::Json;

/// A tensor of a fixture.
pub(crate) fn tensor(json: &Json) -> Tensor {
    let dtype = json.get("dtype");
    let shape: Vec<usize> = json.get("shape").items().iter().map(Json::size).collect();
    tensor_of(dtype.text(), shape, &json.get("data").items())
}

/// A tensor of numbers of a fixture.
pub(crate) fn tensor_of(dtype: &str, shape: Vec<usize>, items: &[Json]) -> Tensor {
    let floats = items.iter().map(Json::float);
    match dtype {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the numbers were float32 when printed"
        )]
        "float32" => Tensor::from_vec(floats.map(|x| x as f32).collect(), shape, &Device::Cpu),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the numbers are small integers"
        )]
        "int64" => Tensor::from_vec(floats.map(|x| x as i64).collect(), shape, &Device::Cpu),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the numbers are 0 and 1"
        )]
        "uint8" => Tensor::from_vec(floats.map(|x| x as u8).collect(), shape, &Device::Cpu),
        other => panic!("a tensor of dtype {other}"),
    }
    .expect("a tensor")
}

/// Compares shape, dtype and values with those of a fixture.
#[track_caller]
pub(crate) fn assert_tensor(at: &str, found: &Tensor, expected: &Json, tolerance: f64) {
    let expected = tensor(expected);
    assert_eq!(found.dims(), expected.dims(), "{at}");
    assert_eq!(found.dtype(), expected.dtype(), "{at}");
    let values = |tensor: &Tensor| -> Vec<f64> {
        let flat = tensor.flatten_all().unwrap();
        flat.to_dtype(DType::F64).unwrap().to_vec1().unwrap()
    };
    for (found, expected) in values(found).into_iter().zip(values(&expected)) {
        assert!(
            (found - expected).abs() <= tolerance || (found.is_nan() && expected.is_nan()),
            "{at}: {found} is not {expected}"
        );
    }
}
