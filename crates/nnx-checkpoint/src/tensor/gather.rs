//! Copying the elements of a strided view into row-major order.

use super::Tensor;
use crate::error::{Error, Result};
use crate::source::prefer_huge_pages;

/// An empty vector with room for that many values, in huge pages where the system has them.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    out.try_reserve_exact(len)
        .map_err(|_| Error::unsupported(format!("no memory for {len} values")))?;
    prefer_huge_pages(out.spare_capacity_mut());
    Ok(out)
}

/// Copies the elements of a strided view into row-major order.
pub(super) fn gather(tensor: &Tensor) -> Result<Vec<u8>> {
    // Ask for the memory in a way that can fail, then take it from the system zeroed: filling it
    // here would touch every page twice.
    drop(reserved::<u8>(tensor.byte_len())?);
    let mut out = vec![0; tensor.byte_len()];
    prefer_huge_pages(&mut out);
    let bytes: &[u8] = tensor.storage.bytes()?;
    let dims = coalesced(&tensor.shape, &tensor.strides);
    match tensor.dtype.size() {
        1 => copy::<1, 64>(bytes, &mut out, tensor.offset, &dims),
        2 => copy::<2, 32>(bytes, &mut out, tensor.offset, &dims),
        4 => copy::<4, 32>(bytes, &mut out, tensor.offset, &dims),
        8 => copy::<8, 16>(bytes, &mut out, tensor.offset, &dims),
        16 => copy::<16, 8>(bytes, &mut out, tensor.offset, &dims),
        _ => None,
    }
    .ok_or_else(|| Error::malformed("a tensor lies outside its storage"))?;
    Ok(out)
}

/// A dimension of the view: elements along it, and elements of the storage and of the copy between
/// neighbours.
#[derive(Clone, Copy, Debug)]
struct Dim {
    size: usize,
    from: usize,
    to: usize,
}

/// The dimensions of a view with those merged that are stepped through as one, none of size one, the
/// last one innermost.
fn coalesced(shape: &[usize], strides: &[usize]) -> Vec<Dim> {
    let mut dims: Vec<Dim> = Vec::with_capacity(shape.len());
    let mut to = 1usize;
    for (&size, &from) in shape.iter().zip(strides).rev() {
        if size == 1 {
            continue;
        }
        match dims.last_mut() {
            Some(inner) if inner.from.checked_mul(inner.size) == Some(from) => {
                inner.size = inner.size.saturating_mul(size);
            }
            _ => dims.push(Dim { size, from, to }),
        }
        to = to.saturating_mul(size);
    }
    dims.reverse();
    dims
}

/// Copies elements of `S` bytes, in blocks of `B` by `B` where rows would waste the cache; none when
/// one is outside.
fn copy<const S: usize, const B: usize>(
    bytes: &[u8],
    out: &mut [u8],
    offset: usize,
    dims: &[Dim],
) -> Option<()> {
    let (from, _) = bytes.as_chunks::<S>();
    let (to, _) = out.as_chunks_mut::<S>();
    let Some((&inner, outer)) = dims.split_last() else {
        *to.first_mut()? = *from.get(offset)?;
        return Some(());
    };
    // Where another dimension steps through the storage in smaller steps than the innermost one,
    // the two are copied block by block, so that a cache line is used up before it is dropped.
    let across = (0..outer.len())
        .filter(|&index| outer.get(index).is_some_and(|dim| dim.from < inner.from))
        .min_by_key(|&index| outer.get(index).map(|dim| dim.from));
    let Some(across) = across else {
        return each(outer, offset, &mut |at, start| {
            let row = to.get_mut(start..start.checked_add(inner.size)?)?;
            copy_row(from, row, at, inner.from)
        });
    };
    let mut rest = outer.to_vec();
    let across = rest.remove(across);
    each(&rest, offset, &mut |at, start| {
        copy_plane::<S, B>(from, to, at, start, across, inner)
    })
}

/// Copies one row whose elements are `step` apart.
fn copy_row<const S: usize>(
    from: &[[u8; S]],
    row: &mut [[u8; S]],
    at: usize,
    step: usize,
) -> Option<()> {
    let last = row
        .len()
        .checked_sub(1)?
        .checked_mul(step)?
        .checked_add(at)?;
    let from = from.get(at..=last)?;
    match step {
        0 => row.fill(*from.first()?),
        1 => row.copy_from_slice(from),
        _ => {
            for (to, from) in row.iter_mut().zip(from.iter().step_by(step)) {
                *to = *from;
            }
        }
    }
    Some(())
}

/// Copies a plane of two dimensions block by block.
fn copy_plane<const S: usize, const B: usize>(
    from: &[[u8; S]],
    to: &mut [[u8; S]],
    at: usize,
    start: usize,
    across: Dim,
    inner: Dim,
) -> Option<()> {
    for row in (0..across.size).step_by(B) {
        let rows = across.size.saturating_sub(row).min(B);
        let at = row.checked_mul(across.from)?.checked_add(at)?;
        let start = row.checked_mul(across.to)?.checked_add(start)?;
        for column in (0..inner.size).step_by(B) {
            let columns = inner.size.saturating_sub(column).min(B);
            let at = column.checked_mul(inner.from)?.checked_add(at)?;
            let start = start.checked_add(column)?;
            if (rows, columns, across.from) == (B, B, 1) {
                copy_block::<S, B>(from, to, at, start, across, inner)?;
                continue;
            }
            for row in 0..rows {
                let at = row.checked_mul(across.from)?.checked_add(at)?;
                let start = row.checked_mul(across.to)?.checked_add(start)?;
                let row = to.get_mut(start..start.checked_add(columns)?)?;
                copy_row(from, row, at, inner.from)?;
            }
        }
    }
    Some(())
}

/// Copies a whole block whose columns are together in the storage. It goes through a buffer, as
/// steps of a large power of two would have the block's lines push each other out of the cache.
fn copy_block<const S: usize, const B: usize>(
    from: &[[u8; S]],
    to: &mut [[u8; S]],
    at: usize,
    start: usize,
    across: Dim,
    inner: Dim,
) -> Option<()> {
    let mut block = [[[0; S]; B]; B];
    let mut at = at;
    for column in &mut block {
        *column = *from.get(at..)?.first_chunk::<B>()?;
        at = at.checked_add(inner.from)?;
    }
    let mut start = start;
    for row in 0..B {
        let to = to.get_mut(start..)?.first_chunk_mut::<B>()?;
        for (to, column) in to.iter_mut().zip(&block) {
            *to = *column.get(row)?;
        }
        start = start.checked_add(across.to)?;
    }
    Some(())
}

/// Calls `visit` with the place in the storage and in the copy for each index of some dimensions,
/// the last one stepping fastest.
fn each(
    dims: &[Dim],
    offset: usize,
    visit: &mut impl FnMut(usize, usize) -> Option<()>,
) -> Option<()> {
    let mut index = vec![0usize; dims.len()];
    let (mut from, mut to) = (offset, 0usize);
    loop {
        visit(from, to)?;
        let mut carried = true;
        for (count, dim) in index.iter_mut().zip(dims).rev() {
            *count = count.saturating_add(1);
            from = from.saturating_add(dim.from);
            to = to.saturating_add(dim.to);
            if *count < dim.size {
                carried = false;
                break;
            }
            from = from.saturating_sub(dim.from.saturating_mul(dim.size));
            to = to.saturating_sub(dim.to.saturating_mul(dim.size));
            *count = 0;
        }
        if carried {
            return Some(());
        }
    }
}
