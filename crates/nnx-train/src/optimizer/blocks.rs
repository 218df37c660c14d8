//! An update in blocks that stay in the processor's cache, with the best instructions it has.

use pulp::{Arch, NullaryFnOnce};

use super::operations::neg;

/// The elements of a block: a handful of arrays of that size are smaller than the first-level cache.
pub(super) const BLOCK: usize = 1024;

/// An update of one parameter. `run` is to be `#[inline(always)]`: inlined code is compiled once
/// for each set of instructions, other code uses those that every processor has.
pub(super) trait Update {
    /// Updates all elements.
    fn run(self);
}

struct Call<U>(U);

impl<U: Update> NullaryFnOnce for Call<U> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run();
    }
}

/// Runs an update with the instructions of the processor that it runs on. All of them give the same
/// bits: a fused multiply-add is exact where the processor has none, only slow.
pub(super) fn run(update: impl Update) {
    Arch::new().dispatch(Call(update));
}

/// A copy of a block to work on, with its signs changed if it is a gradient to go up by.
#[inline(always)]
pub(super) fn copied<'a>(
    scratch: &'a mut [f32; BLOCK],
    block: &[f32],
    maximize: bool,
) -> &'a mut [f32] {
    let copy = scratch.get_mut(..block.len()).unwrap_or_default();
    copy.copy_from_slice(block);
    if maximize {
        neg(copy);
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::super::operations::{add, add_product, add_quotient, denominator, lerp, maximum};
    use super::{BLOCK, Update, copied, run};

    struct All<'a> {
        out: &'a mut [f32],
        other: &'a [f32],
    }

    impl Update for All<'_> {
        #[inline(always)]
        fn run(self) {
            let mut scratch = [0.0; BLOCK];
            for (out, other) in self.out.chunks_mut(BLOCK).zip(self.other.chunks(BLOCK)) {
                let copy = copied(&mut scratch, other, true);
                add(out, other, 0.3);
                lerp(out, copy, 0.1);
                lerp(out, other, 0.7);
                add_product(out, copy, other, 1e-3);
                maximum(out, copy);
                denominator(copy, 0.9, 1e-3);
                add_quotient(out, other, copy, -0.01);
            }
        }
    }

    /// Without the processor's own instructions a fused multiply-add is computed in software.
    #[test]
    fn all_sets_of_instructions_give_the_same_bits() {
        let value = |n: usize| ((n * 7919) % 4093) as f32 / 1000.0 - 2.0;
        for length in [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            let other: Vec<f32> = (0..length).map(|n| value(n + 11)).collect();
            let mut plain: Vec<f32> = (0..length).map(value).collect();
            let mut vectorized = plain.clone();
            let (out, other) = (&mut plain[..], &other[..]);
            All { out, other }.run();
            let out = &mut vectorized[..];
            run(All { out, other });
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&plain), bits(&vectorized), "{length}");
        }
    }

    #[test]
    fn a_nan_on_either_side_is_the_maximum() {
        let mut a = [1.0, 2.0, f32::NAN, 0.0];
        maximum(&mut a, &[2.0, 1.0, 0.0, f32::NAN]);
        assert_eq!(a[..2], [2.0, 2.0]);
        assert!(a[2].is_nan() && a[3].is_nan());
    }
}
