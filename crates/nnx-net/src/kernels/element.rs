//! The floats that kernels compute with, alone and in vectors.

use candle_core::WithDType;
use pulp::Simd;

/// A float, and the vectors of it that a set of instructions has.
pub(crate) trait Element: WithDType + Default {
    /// A vector.
    type Lanes<S: Simd>: Copy + Send + Sync;

    /// The elements of a slice as vectors, and the rest.
    fn lanes<S: Simd>(slice: &[Self]) -> (&[Self::Lanes<S>], &[Self]);

    /// The elements of a slice as vectors, and the rest.
    fn lanes_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Lanes<S>], &mut [Self]);

    /// A vector of one number.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Lanes<S>;

    /// `a · b + c`, in one step where the instructions have one.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Lanes<S>,
        b: Self::Lanes<S>,
        c: Self::Lanes<S>,
    ) -> Self::Lanes<S>;

    /// The sum of a vector's elements.
    fn sum<S: Simd>(simd: S, x: Self::Lanes<S>) -> Self;

    /// The number of elements in a vector.
    fn width<S: Simd>() -> usize {
        size_of::<Self::Lanes<S>>() / size_of::<Self>()
    }
}

macro_rules! element {
    ($float:ident, $lanes:ident, $split:ident, $split_mut:ident, $splat:ident, $mul_add:ident, $sum:ident) => {
        impl Element for $float {
            type Lanes<S: Simd> = S::$lanes;

            #[inline(always)]
            fn lanes<S: Simd>(slice: &[Self]) -> (&[S::$lanes], &[Self]) {
                S::$split(slice)
            }

            #[inline(always)]
            fn lanes_mut<S: Simd>(slice: &mut [Self]) -> (&mut [S::$lanes], &mut [Self]) {
                S::$split_mut(slice)
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$lanes {
                simd.$splat(x)
            }

            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$lanes, b: S::$lanes, c: S::$lanes) -> S::$lanes {
                simd.$mul_add(a, b, c)
            }

            #[inline(always)]
            fn sum<S: Simd>(simd: S, x: S::$lanes) -> Self {
                simd.$sum(x)
            }
        }
    };
}

element!(
    f32,
    f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    mul_add_e_f32s,
    reduce_sum_f32s
);
element!(
    f64,
    f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    mul_add_e_f64s,
    reduce_sum_f64s
);
