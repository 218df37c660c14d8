//! The functions of floats that kernels need, in a form that the compiler turns into vectors.

use super::element::Element;

/// A float with its functions.
pub(crate) trait Float: Element {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Minus infinity.
    const NEG_INFINITY: Self;

    /// `e` to the power of this number, within two units in the last place; NaN of NaN.
    fn exp(self) -> Self;

    /// The natural logarithm.
    fn ln(self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;
}

/// The items of both types that are those of the standard library.
macro_rules! standard {
    ($float:ident) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const NEG_INFINITY: Self = $float::NEG_INFINITY;

        #[inline(always)]
        fn ln(self) -> Self {
            $float::ln(self)
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            $float::sqrt(self)
        }
    };
}

impl Float for f32 {
    standard!(f32);

    #[inline(always)]
    fn exp(self) -> Self {
        // Below the first the power is zero, above the second it is infinite. NaN stays.
        let x = self.clamp(-104.0, 89.0);
        // Adding this number rounds to an integer, which is then in the lowest bits.
        const ROUNDING: f32 = 12_582_912.0;
        let rounded = x * std::f32::consts::LOG2_E + ROUNDING;
        let n = rounded - ROUNDING;
        // ln 2 in two parts; the product with the first is exact.
        let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
        // Taylor's polynomial of e^r for |r| ≤ ln 2 / 2.
        let mut power = 1.0 / 5040.0;
        for coefficient in [
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ] {
            power = power * r + coefficient;
        }
        // Times 2^n in two steps, as the exponent of one float does not reach from -150 to 128.
        let n = rounded
            .to_bits()
            .wrapping_sub(ROUNDING.to_bits())
            .cast_signed();
        let half = n >> 1;
        power * power_of_two(half) * power_of_two(n.wrapping_sub(half))
    }
}

/// `2^n` for exponents of normal numbers.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127).cast_unsigned()) << 23)
}

impl Float for f64 {
    standard!(f64);

    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Float;

    #[test]
    fn powers_are_within_two_units_in_the_last_place() {
        for step in -4_200_000..3_600_000 {
            #[expect(clippy::cast_possible_truncation, reason = "any float32 will do")]
            let x = (f64::from(step) * 2.5e-5) as f32;
            let expected = f64::from(x).exp();
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the nearest float32 is wanted"
            )]
            let nearest = expected as f32;
            let unit = f64::from(nearest.next_up()) - f64::from(nearest);
            let found = Float::exp(x);
            let distance = (f64::from(found) - expected).abs();
            assert!(
                found == nearest || distance <= 2.0 * unit,
                "e^{x} is {found:e}"
            );
        }
    }

    #[test]
    fn the_ends_of_the_range_are_those_of_the_standard_library() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for x in [
            0.0, -0.0, 1.0, 88.722_83, 88.722_84, 89.0, 1e30, inf, -inf, -103.0, -104.0, -1e30,
        ] {
            let distance = Float::exp(x).to_bits().abs_diff(f32::exp(x).to_bits());
            assert!(distance <= 2, "e^{x} is {}", Float::exp(x));
        }
        assert!(Float::exp(nan).is_nan());
    }
}
