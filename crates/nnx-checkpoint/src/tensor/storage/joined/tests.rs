use super::*;
use crate::{Dtype, contiguous_strides};

/// Chunks of a tensor whose elements are their places in it, one byte each.
fn chunk(shape: &[usize], offsets: &[usize], sizes: &[usize]) -> TensorChunk {
    let strides = contiguous_strides(shape).unwrap();
    let count: usize = sizes.iter().product();
    let inner = contiguous_strides(sizes).unwrap();
    let bytes: Vec<u8> = (0..count)
        .map(|flat| {
            let place = (0..sizes.len()).map(|dim| {
                let index = flat / inner[dim] % sizes[dim];
                (offsets[dim] + index) * strides[dim]
            });
            u8::try_from(place.sum::<usize>()).unwrap()
        })
        .collect();
    TensorChunk {
        offsets: offsets.to_vec(),
        tensor: Tensor::from_bytes(Dtype::UInt8, sizes, bytes).unwrap(),
    }
}

fn joined(shape: &[usize], chunks: Vec<TensorChunk>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    JoinedTensor::new(1, shape.to_vec(), Box::new(chunks)).chunks(&mut |piece| {
        out.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(out)
}

#[test]
fn boxes_become_a_whole_in_whatever_order_they_are() {
    let shape = [3, 4, 5];
    let chunks = vec![
        chunk(&shape, &[1, 0, 2], &[2, 4, 3]),
        chunk(&shape, &[0, 3, 0], &[1, 1, 5]),
        chunk(&shape, &[1, 0, 0], &[2, 4, 2]),
        chunk(&shape, &[3, 0, 0], &[0, 4, 5]),
        chunk(&shape, &[0, 0, 0], &[1, 3, 5]),
    ];
    let expected: Vec<u8> = (0..60).collect();
    assert_eq!(joined(&shape, chunks).unwrap(), expected);
}

#[test]
fn a_scalar_is_a_chunk_without_dimensions() {
    assert_eq!(joined(&[], vec![chunk(&[], &[], &[])]).unwrap(), [0]);
}

#[test]
fn holes_and_overlaps_are_noticed() {
    let shape = [4, 2];
    let first = chunk(&shape, &[0, 0], &[2, 2]);
    let overlapping = vec![first.clone(), chunk(&shape, &[1, 0], &[3, 2])];
    let with_hole = vec![first.clone(), chunk(&shape, &[3, 0], &[1, 2])];
    for chunks in [overlapping, with_hole, vec![first]] {
        let error = joined(&shape, chunks).unwrap_err();
        assert_eq!(error.name(), "malformed", "{error}");
    }
}
