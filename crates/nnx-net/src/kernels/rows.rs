//! The sums and maxima of rows.
//!
//! A sum is added up in as many lanes as the widest vectors have, on every processor, so that its
//! result does not depend on the processor's instructions.

use super::float::Float;

/// The number of lanes.
const LANES: usize = 16;

/// The largest element that is not NaN; minus infinity where there is none.
#[inline(always)]
pub(crate) fn largest<T: Float>(xs: &[T]) -> T {
    let none = T::NEG_INFINITY;
    fold(xs, none, |x| x, |a, b| if b > a { b } else { a })
}

/// Combines `map` of each element with `combine`, beginning each lane with `start`.
#[inline(always)]
pub(crate) fn fold<T: Copy, A: Copy>(
    xs: &[T],
    start: A,
    map: impl Fn(T) -> A,
    combine: impl Fn(A, A) -> A,
) -> A {
    let mut lanes = [start; LANES];
    let (chunks, rest) = xs.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, map(*x));
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = combine(*lane, map(*x));
    }
    combined(lanes, combine)
}

/// The sum of `map` of the pairs of elements of two rows of equal length.
#[inline(always)]
pub(crate) fn sum_of_pairs<T: Float>(xs: &[T], ys: &[T], map: impl Fn(T, T) -> T) -> T {
    let mut lanes = [T::ZERO; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (xs.as_chunks::<LANES>(), ys.as_chunks::<LANES>());
    for (xs, ys) in xs.iter().zip(ys) {
        for ((lane, x), y) in lanes.iter_mut().zip(xs).zip(ys) {
            *lane += map(*x, *y);
        }
    }
    for ((lane, x), y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
        *lane += map(*x, *y);
    }
    combined(lanes, |a, b| a + b)
}

#[inline(always)]
fn combined<A: Copy>(mut lanes: [A; LANES], combine: impl Fn(A, A) -> A) -> A {
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
    }
    lanes[0]
}
