//! Copying the elements of a strided view into row-major order.

use super::Tensor;
use crate::error::{Error, Result};

/// An empty vector with room for that many bytes.
pub(super) fn reserved(len: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.try_reserve_exact(len)
        .map_err(|_| Error::unsupported(format!("no memory for {len} bytes")))?;
    Ok(out)
}

/// Copies the elements of a strided view into row-major order.
pub(super) fn gather(tensor: &Tensor) -> Result<Vec<u8>> {
    let mut out = reserved(tensor.byte_len())?;
    out.resize(tensor.byte_len(), 0);
    let bytes: &[u8] = tensor.storage.bytes();
    let dims = coalesced(&tensor.shape, &tensor.strides);
    match tensor.dtype.size() {
        1 => copy::<1>(bytes, &mut out, tensor.offset, &dims),
        2 => copy::<2>(bytes, &mut out, tensor.offset, &dims),
        4 => copy::<4>(bytes, &mut out, tensor.offset, &dims),
        8 => copy::<8>(bytes, &mut out, tensor.offset, &dims),
        16 => copy::<16>(bytes, &mut out, tensor.offset, &dims),
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

/// Elements along each side of a block: two of them fit the first-level cache for every size of
/// element.
const BLOCK: usize = 32;

/// Copies elements of `S` bytes; none when one lies outside.
fn copy<const S: usize>(bytes: &[u8], out: &mut [u8], offset: usize, dims: &[Dim]) -> Option<()> {
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
        copy_blocks(from, to, at, start, across, inner)
    })
}

/// Copies one row whose elements lie `step` apart.
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
fn copy_blocks<const S: usize>(
    from: &[[u8; S]],
    to: &mut [[u8; S]],
    at: usize,
    start: usize,
    across: Dim,
    inner: Dim,
) -> Option<()> {
    for first_row in (0..across.size).step_by(BLOCK) {
        let rows = first_row..first_row.saturating_add(BLOCK).min(across.size);
        for first in (0..inner.size).step_by(BLOCK) {
            let len = inner.size.saturating_sub(first).min(BLOCK);
            let at = first.checked_mul(inner.from)?.checked_add(at)?;
            for row in rows.clone() {
                let start = row
                    .checked_mul(across.to)?
                    .checked_add(first)?
                    .checked_add(start)?;
                let to = to.get_mut(start..start.checked_add(len)?)?;
                copy_row(
                    from,
                    to,
                    row.checked_mul(across.from)?.checked_add(at)?,
                    inner.from,
                )?;
            }
        }
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
