use super::*;
use crate::Storage as Bytes;

/// Random bits make good elements: NaN payloads have to survive too.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        })
        .collect()
}

#[test]
fn every_common_dtype_keeps_its_bits() {
    for (ours, candle) in DTYPES {
        let bytes = noise(6 * ours.size());
        let tensor = Tensor::from_bytes(*ours, &[2, 3], bytes.clone()).unwrap();
        let there = candle_core::Tensor::try_from(&tensor).unwrap();
        assert_eq!((there.dtype(), there.dims()), (*candle, &[2, 3][..]));
        let back = Tensor::try_from(&there).unwrap();
        assert_eq!((back.dtype(), back.shape()), (*ours, &[2, 3][..]));
        assert_eq!(*back.to_bytes().unwrap(), *bytes, "{ours}");
    }
}

#[test]
fn a_scalar_and_an_empty_tensor_convert() {
    for shape in [&[][..], &[0, 3]] {
        let elements: usize = shape.iter().product();
        let tensor = Tensor::from_bytes(Dtype::Float32, shape, noise(4 * elements)).unwrap();
        let there = candle_core::Tensor::try_from(&tensor).unwrap();
        assert_eq!(there.dims(), shape);
        assert_eq!(Tensor::try_from(&there).unwrap().shape(), shape);
    }
}

#[test]
fn a_strided_view_arrives_in_row_major_order() {
    let storage = Bytes::new((0_u8..6).collect::<Vec<_>>());
    let view = Tensor::view(storage, Dtype::UInt8, 0, &[3, 2], &[1, 3]).unwrap();
    let candle = candle_core::Tensor::try_from(&view).unwrap();
    assert_eq!(candle.to_vec2::<u8>().unwrap(), [[0, 3], [1, 4], [2, 5]]);
}

#[test]
fn an_offset_and_a_transpose_of_candle_are_followed() {
    let candle = candle_core::Tensor::arange(0_u8, 6, &Device::Cpu).unwrap();
    let candle = candle.reshape((2, 3)).unwrap().narrow(1, 1, 2).unwrap();
    let plain = Tensor::try_from(&candle).unwrap();
    assert_eq!(*plain.to_bytes().unwrap(), [1, 2, 4, 5]);
    let turned = Tensor::try_from(&candle.t().unwrap()).unwrap();
    assert_eq!(*turned.to_bytes().unwrap(), [1, 4, 2, 5]);
    let tail = candle_core::Tensor::arange(0_i64, 6, &Device::Cpu).unwrap();
    let tail = Tensor::try_from(&tail.narrow(0, 4, 2).unwrap()).unwrap();
    assert_eq!(
        *tail.to_bytes().unwrap(),
        [4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn a_dtype_that_candle_lacks_is_named() {
    for dtype in [
        Dtype::Bool,
        Dtype::UInt16,
        Dtype::Complex64,
        Dtype::Float8E5M2,
    ] {
        let tensor = Tensor::from_bytes(dtype, &[1], vec![0; dtype.size()]).unwrap();
        let error = candle_core::Tensor::try_from(&tensor).unwrap_err();
        assert!(matches!(error.kind(), crate::ErrorKind::Unsupported { .. }));
        assert_eq!(error.to_string(), format!("candle has no dtype `{dtype}`"));
    }
}
