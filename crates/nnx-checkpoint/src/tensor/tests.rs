//! Views, gathering and bounds.

use super::*;

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
