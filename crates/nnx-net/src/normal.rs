//! PyTorch's normal numbers on the CPU: the Box-Muller transform in two forms.

use std::f64::consts::PI;

use crate::error::Result;
use crate::rng::Generator;

/// From this many numbers on, PyTorch transforms blocks of float32 with its vector code.
const BLOCK: usize = 16;

impl Generator {
    /// `count` numbers with mean zero in row-major order, as `Tensor.normal_(0, std)` draws them.
    ///
    /// # Errors
    /// When there is no memory for that many.
    pub(crate) fn normal_vec(&mut self, count: usize, std: f64) -> Result<Vec<f32>> {
        if count < BLOCK {
            return Ok((0..count).map(|_| self.normal(std)).collect());
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "PyTorch's vector code has the deviation in float32, its other code does not"
        )]
        let std = std as f32;
        let mut values = self.uniform_vec(count, 0.0, 1.0)?;
        let mut blocks = values.chunks_exact_mut(BLOCK);
        for block in &mut blocks {
            transform(block, std);
        }
        if !blocks.into_remainder().is_empty()
            && let Some(last) = values.last_chunk_mut::<BLOCK>()
        {
            // As in PyTorch, the last 16 numbers are drawn again if the blocks do not cover them all.
            for value in last.iter_mut() {
                *value = self.uniform(0.0, 1.0);
            }
            transform(last, std);
        }
        Ok(values)
    }

    /// One number, computed in float64. Numbers are computed in pairs; the second one is kept.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "PyTorch rounds the number to the dtype of the tensor"
    )]
    fn normal(&mut self, std: f64) -> f32 {
        if let Some(normal) = self.next_normal.take() {
            return (normal * std) as f32;
        }
        let angle = 2.0 * PI * self.unit_f64();
        let radius = (-2.0 * (-self.unit_f64()).ln_1p()).sqrt();
        self.next_normal = Some(radius * angle.sin());
        (radius * angle.cos() * std) as f32
    }
}

/// Turns 16 uniform numbers into normal ones: the first eight give the radii, the others the angles.
fn transform(block: &mut [f32], std: f32) {
    let (radii, angles) = block.split_at_mut(BLOCK / 2);
    for (radius, angle) in radii.iter_mut().zip(angles) {
        let length = (-2.0 * ln(1.0 - *radius)).sqrt();
        let (sin, cos) = sin_cos(std::f32::consts::TAU * *angle);
        *radius = (length * cos).mul_add(std, 0.0);
        *angle = (length * sin).mul_add(std, 0.0);
    }
}

/// The logarithm of a positive number by the polynomial of the Cephes library, rounded at the same
/// steps as in PyTorch's vector code.
fn ln(x: f32) -> f32 {
    let bits = x.max(f32::MIN_POSITIVE).to_bits();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_wrap,
        reason = "eight bits"
    )]
    let mut exponent = ((bits >> 23) as i32 - 126) as f32;
    let mut x = f32::from_bits(bits & 0x007f_ffff | 0x3f00_0000);
    if x < std::f32::consts::FRAC_1_SQRT_2 {
        exponent -= 1.0;
        x = x - 1.0 + x;
    } else {
        x -= 1.0;
    }
    let square = x * x;
    let series = LN[1..].iter().fold(LN[0], |sum, c| sum.mul_add(x, *c)) * x;
    let series = series.mul_add(square, exponent * LN_2_LOW);
    let series = square.mul_add(-0.5, series);
    exponent.mul_add(LN_2_HIGH, x + series)
}

/// Sine and cosine of an angle that is not negative, by the same method.
fn sin_cos(angle: f32) -> (f32, f32) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the angles are from 0 to 2 pi"
    )]
    let octant = ((angle * FOUR_OVER_PI) as u32 + 1) & !1;
    #[expect(clippy::cast_precision_loss, reason = "at most 8")]
    let turns = octant as f32;
    let x = PI_OVER_4
        .iter()
        .fold(angle, |x, part| turns.mul_add(*part, x));
    let z = x * x;
    let cos = COS[1..].iter().fold(COS[0], |sum, c| sum.mul_add(z, *c)) * z;
    let cos = cos.mul_add(z, -(z * 0.5)) + 1.0;
    let sin = SIN[1..].iter().fold(SIN[0], |sum, c| sum.mul_add(z, *c)) * z;
    let sin = sin.mul_add(x, x);
    let (sin, cos) = if octant & 2 == 0 {
        (sin, cos)
    } else {
        (cos, sin)
    };
    let negate = |x: f32, is_negative: bool| if is_negative { -x } else { x };
    (
        negate(sin, octant & 4 != 0),
        negate(cos, octant.wrapping_sub(2) & 4 == 0),
    )
}

const LN: [f32; 9] = [
    7.037_683_6e-2,
    -1.151_461e-1,
    1.167_699_84e-1,
    -1.242_014_1e-1,
    1.424_932_3e-1,
    -1.666_805_8e-1,
    2.000_071_4e-1,
    -2.499_999_4e-1,
    3.333_333e-1,
];
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
const FOUR_OVER_PI: f32 = 1.273_239_5;
/// Minus a quarter of pi as a sum of three parts, so that the reduction of an angle is exact.
const PI_OVER_4: [f32; 3] = [-0.785_156_25, -2.418_756_5e-4, -3.774_895e-8];
const COS: [f32; 3] = [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2];
const SIN: [f32; 3] = [-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1];

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn few_numbers_are_those_of_torch() {
        // torch.manual_seed(0); torch.empty(5).normal_().view(torch.int32)
        let values = Generator::new(0).normal_vec(5, 1.0).unwrap();
        let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
        assert_eq!(
            bits,
            [
                0x3fc5_3f5c,
                0xbe96_3c50,
                0xc00b_7149,
                0x3f11_84b6,
                0xbf8a_d1a1
            ]
        );
    }

    /// `torch.manual_seed(seed); sha256(torch.empty(count).normal_(0, std).numpy().tobytes())` of
    /// PyTorch 2.15.
    #[track_caller]
    fn check(seed: u64, count: usize, std: f64, expected: &str) {
        let values = Generator::new(seed).normal_vec(count, std).unwrap();
        let mut sha256 = Sha256::new();
        for value in values {
            sha256.update(value.to_le_bytes());
        }
        let digest: String = sha256
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(digest, expected, "{count} numbers of the seed {seed}");
    }

    #[test]
    fn many_numbers_are_those_of_torch() {
        check(
            0,
            16,
            1.0,
            "7648137a31024642604465428f1598d06f595259ac993612918498d7cde9b70c",
        );
        check(
            0,
            17,
            1.0,
            "6d2169852e19b6d18ed57d5a11b37c14723e147e06b2b3868a4e6d8a30017923",
        );
        check(
            3,
            31,
            0.02,
            "5b922450ea8bae4a05ce39d1b35d93b86523baa5591057e1c643a8200f26902f",
        );
        check(
            5,
            15,
            0.02,
            "5d302a82b246d141959b36e5376cda512785976b4ba0a567f42493d735e04a04",
        );
        check(
            7,
            1000000,
            1.0,
            "3a5d93c34d996dc218e1122085b37a49e5a5cc73d0744c67033814312aad51a7",
        );
        check(
            8,
            1000003,
            0.02,
            "30e90dca11fc51769216f21e77f1edf2e1ca3d13527df0db922561ab5b45929e",
        );
    }
}
