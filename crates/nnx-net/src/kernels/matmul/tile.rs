//! A tile of a product, whose sums stay in registers.

use std::ops::Range;

use pulp::Simd;

use crate::kernels::element::Element;
use crate::kernels::matrix::Matrix;

/// The vectors in a row of a tile.
pub(super) const VECTORS: usize = 2;
/// The most rows of a tile.
pub(super) const HIGHEST: usize = 12;
/// The fewest rows that are worth a task of their own; the others have a multiple of them.
pub(super) const LEAST: usize = 8;
/// The most elements of a tile, in vectors of 16 floats.
pub(super) const MOST: usize = HIGHEST * VECTORS * 16;

/// The rows of a full tile: its sums, a row of a panel and one number fit into the registers.
#[inline(always)]
pub(super) fn rows<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { HIGHEST } else { 6 }
}

/// Writes the products of some rows of a matrix with a packed panel to `sums`, row after row of the
/// panel's width.
#[inline(always)]
pub(super) fn compute<S: Simd, T: Element>(
    simd: S,
    left: Matrix<'_, T>,
    rows: Range<usize>,
    first: usize,
    depth: usize,
    panel: &[T],
    sums: &mut [T; MOST],
) {
    let two = panel.len() > depth * T::width::<S>();
    macro_rules! heights {
        ($($height:literal)*) => {
            match (rows.len(), two) {
                $(
                    ($height, true) => {
                        let rows: [&[T]; $height] = std::array::from_fn(|at| left.row(rows.start + at, first, depth));
                        sized::<S, T, $height, 2>(simd, rows, panel, sums);
                    }
                    ($height, false) => {
                        let rows: [&[T]; $height] = std::array::from_fn(|at| left.row(rows.start + at, first, depth));
                        sized::<S, T, $height, 1>(simd, rows, panel, sums);
                    }
                )*
                _ => {}
            }
        };
    }
    heights!(1 2 3 4 5 6 7 8 9 10 11 12);
}

#[inline(always)]
fn sized<S: Simd, T: Element, const HEIGHT: usize, const WIDTH: usize>(
    simd: S,
    rows: [&[T]; HEIGHT],
    panel: &[T],
    sums: &mut [T; MOST],
) {
    let mut tile = [[T::splat(simd, T::default()); WIDTH]; HEIGHT];
    let (panel, _) = T::lanes::<S>(panel);
    let (panel, _) = panel.as_chunks::<WIDTH>();
    let rows = rows.map(|row| &row[..panel.len()]);
    for (at, vectors) in panel.iter().enumerate() {
        for (sums, row) in tile.iter_mut().zip(&rows) {
            let number = T::splat(simd, row[at]);
            for (sum, vector) in sums.iter_mut().zip(vectors) {
                *sum = T::mul_add(simd, number, *vector, *sum);
            }
        }
    }
    let (sums, _) = T::lanes_mut::<S>(sums);
    let (sums, _) = sums.as_chunks_mut::<WIDTH>();
    for (sums, row) in sums.iter_mut().zip(tile) {
        *sums = row;
    }
}
