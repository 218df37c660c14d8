//! Views, gathering and bounds.

use super::*;
use crate::ErrorKind;

fn bytes(count: u8) -> Storage {
    Storage::new((0..count).collect::<Vec<u8>>())
}

#[track_caller]
fn check(offset: usize, shape: &[usize], strides: &[usize], expected: &[u8]) {
    let tensor = Tensor::view(bytes(12), Dtype::UInt8, offset, shape, strides).unwrap();
    assert_eq!(&*tensor.to_bytes().unwrap(), expected);
}

#[test]
fn contiguous_views_are_borrowed() {
    let tensor = Tensor::view(bytes(12), Dtype::UInt8, 2, &[2, 3], &[3, 1]).unwrap();
    assert!(matches!(
        tensor.to_bytes().unwrap(),
        Cow::Borrowed([2, 3, 4, 5, 6, 7])
    ));
}

#[test]
fn strided_views_are_gathered_as_torch_reads_them() {
    check(0, &[4, 3], &[1, 4], &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    check(1, &[3], &[3], &[1, 4, 7]);
    check(0, &[2, 2], &[0, 1], &[0, 1, 0, 1]);
    check(0, &[2, 2, 2], &[6, 1, 3], &[0, 3, 1, 4, 6, 9, 7, 10]);
    check(5, &[], &[], &[5]);
    check(0, &[1, 3], &[99, 1], &[0, 1, 2]);
    check(100, &[0, 3], &[3, 1], &[]);
}

#[test]
fn a_view_outside_its_storage_is_refused() {
    for (offset, shape, strides) in [
        (0, vec![13], vec![1]),
        (11, vec![2], vec![1]),
        (0, vec![2, 2], vec![11, 1]),
        (usize::MAX, vec![1], vec![1]),
        (0, vec![usize::MAX, 2], vec![0, 0]),
        (0, vec![2], vec![usize::MAX]),
        (0, vec![2], vec![1, 1]),
    ] {
        assert!(Tensor::view(bytes(12), Dtype::UInt8, offset, &shape, &strides).is_err());
    }
}

#[test]
fn a_broadcast_bomb_meets_the_limit() {
    let bomb = Tensor::view(bytes(1), Dtype::UInt8, 0, &[1 << 40], &[0]).unwrap();
    let error = bomb.to_bytes().unwrap_err();
    assert!(error.to_string().contains("max_expanded_bytes"), "{error}");
    let small = Tensor::view(bytes(1), Dtype::UInt8, 0, &[3], &[0]).unwrap();
    assert!(
        small
            .to_bytes_within(&Limits::default().max_expanded_bytes(1))
            .is_err()
    );
    assert!(
        small
            .to_bytes_within(&Limits::default().max_expanded_bytes(2))
            .is_ok()
    );
}

/// The elements one by one, as the definition of strides has them.
fn one_by_one(tensor: &Tensor) -> Vec<u8> {
    let size = tensor.dtype().size();
    let mut out = Vec::new();
    for element in 0..tensor.elements() {
        let (mut rest, mut at) = (element, tensor.offset());
        for (dim, stride) in tensor.shape().iter().zip(tensor.strides()).rev() {
            at += rest % dim * stride;
            rest /= dim;
        }
        out.extend_from_slice(&tensor.storage().bytes().unwrap()[at * size..(at + 1) * size]);
    }
    out
}

#[track_caller]
fn check_gathered(offset: usize, shape: &[usize], strides: &[usize]) {
    for dtype in [
        Dtype::UInt8,
        Dtype::Int16,
        Dtype::Float32,
        Dtype::Float64,
        Dtype::Complex128,
    ] {
        let last: usize = shape
            .iter()
            .zip(strides)
            .map(|(dim, stride)| (dim - 1) * stride)
            .sum();
        let len = (offset + last + 1) * dtype.size();
        let bytes: Vec<u8> = (0..len).map(|byte| (byte * 167 % 251) as u8).collect();
        let storage = Storage::new(bytes);
        let tensor = Tensor::view(storage, dtype, offset, shape, strides).unwrap();
        let gathered = tensor.to_bytes().unwrap();
        assert!(
            *gathered == one_by_one(&tensor),
            "{dtype} {shape:?} {strides:?}"
        );
    }
}

#[test]
fn views_of_every_form_are_gathered_element_by_element() {
    // Transposed: whole blocks, parts of one, and both.
    for (rows, columns) in [(64, 64), (128, 64), (1, 70), (70, 2), (33, 65), (100, 129)] {
        check_gathered(3, &[rows, columns], &[1, rows]);
        check_gathered(0, &[rows, columns], &[2, 2 * rows + 1]);
    }
    // Channels last, a batch of transposed matrices, all dimensions turned round.
    check_gathered(0, &[2, 3, 9, 7], &[189, 1, 21, 3]);
    check_gathered(5, &[2, 64, 8, 8], &[64 * 64, 1, 8 * 64, 64]);
    check_gathered(0, &[3, 70, 66], &[70 * 66, 1, 70]);
    check_gathered(0, &[66, 5, 67], &[1, 66, 330]);
    // Steps, overlapping windows, repeated elements, sizes of one with any stride.
    check_gathered(1, &[40, 30], &[90, 3]);
    check_gathered(0, &[40, 30], &[1, 1]);
    check_gathered(0, &[4, 1, 70, 65], &[0, 99, 0, 1]);
    check_gathered(0, &[70, 65], &[1, 0]);
    check_gathered(0, &[65, 70, 2], &[0, 1, 70]);
    check_gathered(7, &[1, 1], &[0, 1234]);
}

#[test]
fn the_dtypes_whose_elements_share_bytes_are_read_whole() {
    #[track_caller]
    fn check(dtype: Dtype, shape: &[usize], byte_len: usize) {
        let strides = contiguous_strides(shape).unwrap();
        let tensor =
            Tensor::view(Storage::new(vec![0; byte_len]), dtype, 0, shape, &strides).unwrap();
        assert_eq!(tensor.byte_len(), byte_len);
        assert_eq!(tensor.to_bytes().unwrap().len(), byte_len);
        if let Some(too_few) = byte_len.checked_sub(1) {
            Tensor::view(Storage::new(vec![0; too_few]), dtype, 0, shape, &strides).unwrap_err();
        }
    }
    // The lengths of PyTorch's `int_repr()` for these shapes.
    check(Dtype::QUInt4x2, &[2, 4], 4);
    check(Dtype::QUInt4x2, &[2, 3], 3);
    check(Dtype::QUInt4x2, &[3, 5], 8);
    check(Dtype::QUInt4x2, &[1, 1], 1);
    check(Dtype::QUInt4x2, &[2, 3, 3], 9);
    check(Dtype::QUInt2x4, &[2, 4], 2);
    check(Dtype::QUInt2x4, &[2, 3], 2);
    check(Dtype::QUInt2x4, &[3, 5], 4);
    check(Dtype::QUInt2x4, &[1, 1], 1);
    check(Dtype::QUInt2x4, &[2, 3, 3], 5);
    check(Dtype::QUInt2x4, &[0, 3], 0);
}

#[test]
fn a_view_into_shared_bytes_is_refused() {
    for (offset, shape, strides) in [(3, [1, 3], [3, 1]), (0, [2, 2], [1, 2])] {
        let error = Tensor::view(bytes(12), Dtype::QUInt4x2, offset, &shape, &strides).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }));
        assert!(error.to_string().contains("share bytes"), "{error}");
    }
}

#[test]
fn a_quantizer_fits_its_tensor() {
    let per_channel = |axis, count| Quantizer::PerChannel {
        axis,
        scales: vec![0.5; count],
        zero_points: vec![0; count],
    };
    let tensor = |dtype| Tensor::from_bytes(dtype, &[2, 3], vec![0; 6]).unwrap();
    assert!(
        tensor(Dtype::QInt8)
            .with_quantizer(per_channel(1, 3))
            .is_ok()
    );
    assert!(
        tensor(Dtype::QInt8)
            .with_quantizer(per_channel(1, 2))
            .is_err()
    );
    assert!(
        tensor(Dtype::QInt8)
            .with_quantizer(per_channel(2, 2))
            .is_err()
    );
    assert!(
        tensor(Dtype::Int8)
            .with_quantizer(per_channel(1, 3))
            .is_err()
    );
}

/// The bytes are those of `torch._neg_view(tensor).resolve_neg()` and
/// `tensor.conj().resolve_conj()`, torch 2.15.
#[test]
fn lazy_bits_are_resolved_as_torch_resolves_them() {
    #[track_caller]
    fn check(dtype: Dtype, [conj, neg]: [bool; 2], bytes: &[u8], expected: &[u8]) {
        let elements = bytes.len() / dtype.size();
        let tensor = Tensor::from_bytes(dtype, &[elements], bytes.to_vec()).unwrap();
        let tensor = tensor.with_lazy_bits(conj, neg).unwrap();
        assert_eq!(&*tensor.to_bytes().unwrap(), expected);
    }
    let neg = [false, true];
    check(
        Dtype::Float16,
        neg,
        &[1, 0x7c, 0, 0x80, 0, 0x3c],
        &[1, 0xfe, 0, 0, 0, 0xbc],
    );
    check(
        Dtype::BFloat16,
        neg,
        &[0x81, 0xff, 0x80, 0x3f],
        &[0xc0, 0x7f, 0x80, 0xbf],
    );
    check(
        Dtype::Float32,
        neg,
        &[1, 0, 0x80, 0x7f],
        &[1, 0, 0x80, 0xff],
    );
    check(Dtype::Int16, neg, &[0, 0x80, 1, 0], &[0, 0x80, 0xff, 0xff]);
    check(Dtype::UInt8, neg, &[0, 1, 255], &[0, 255, 1]);
    let halves = [1, 0x7c, 1, 0x7c];
    check(
        Dtype::Complex32,
        [true, false],
        &halves,
        &[1, 0x7c, 1, 0xfe],
    );
    for dtype in [Dtype::Bool, Dtype::Float8E4M3Fn, Dtype::UInt16] {
        let tensor = Tensor::from_bytes(dtype, &[1], vec![0; dtype.size()]).unwrap();
        assert!(tensor.with_lazy_bits(false, true).is_err(), "{dtype}");
    }
}
