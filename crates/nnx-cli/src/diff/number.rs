//! The numeric values of elements, and the differences between them.

use nnx::checkpoint::Dtype;

/// The number of elements that are not the same bit for bit, and their largest absolute difference;
/// `None` if the elements are not floats.
pub(super) fn compare(dtype: Dtype, left: &[u8], right: &[u8]) -> (u64, Option<f64>) {
    let (mut different, mut largest) = (0, None);
    let size = dtype.size();
    for (left, right) in left.chunks_exact(size).zip(right.chunks_exact(size)) {
        if left != right {
            different += 1;
            if let Some(distance) = distance(dtype, left, right) {
                largest = Some(largest.map_or(distance, |largest| larger(largest, distance)));
            }
        }
    }
    (different, largest)
}

/// The larger of two differences; NaN is larger than every number.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// The difference between two elements: for floats the absolute difference, for complex numbers the
/// modulus of the difference, `None` for other dtypes.
fn distance(dtype: Dtype, left: &[u8], right: &[u8]) -> Option<f64> {
    match dtype {
        Dtype::Complex32 | Dtype::Complex64 | Dtype::Complex128 => {
            let half = dtype.component_size();
            let part = match dtype {
                Dtype::Complex32 => Dtype::Float16,
                Dtype::Complex64 => Dtype::Float32,
                _ => Dtype::Float64,
            };
            let (left, right) = (left.split_at_checked(half)?, right.split_at_checked(half)?);
            let real = apart(float(part, left.0)?, float(part, right.0)?);
            let imaginary = apart(float(part, left.1)?, float(part, right.1)?);
            // `hypot` of an infinity and a NaN is infinite; a NaN must not be overlooked.
            Some(if real.is_nan() || imaginary.is_nan() {
                f64::NAN
            } else {
                real.hypot(imaginary)
            })
        }
        Dtype::Float4E2M1FnX2 => {
            let halves = |bytes: &[u8]| bytes.first().map(|&byte| (byte & 15, byte >> 4));
            let (left, right) = (halves(left)?, halves(right)?);
            let apart = |a: u8, b: u8| apart(E2M1.value(a.into()), E2M1.value(b.into()));
            Some(larger(apart(left.0, right.0), apart(left.1, right.1)))
        }
        _ => Some(apart(float(dtype, left)?, float(dtype, right)?)),
    }
}

/// The absolute difference; `None` between equal infinities or two NaN, whatever their bits.
fn apart(a: f64, b: f64) -> f64 {
    if a == b || a.is_nan() && b.is_nan() {
        0.0
    } else {
        (a - b).abs()
    }
}

/// The value of a float; `None` for other dtypes.
fn float(dtype: Dtype, bytes: &[u8]) -> Option<f64> {
    let narrow = || bytes.first().copied().map(u32::from);
    let half = || Some(u32::from(u16::from_le_bytes(*bytes.first_chunk()?)));
    match dtype {
        Dtype::Float64 => Some(f64::from_le_bytes(*bytes.first_chunk()?)),
        Dtype::Float32 => Some(f32::from_le_bytes(*bytes.first_chunk()?).into()),
        Dtype::BFloat16 => Some(f32::from_bits(half()? << 16).into()),
        Dtype::Float16 => Some(HALF.value(half()?)),
        Dtype::Float8E4M3Fn => Some(E4M3FN.value(narrow()?)),
        Dtype::Float8E5M2 => Some(E5M2.value(narrow()?)),
        Dtype::Float8E4M3FnUz => Some(E4M3FNUZ.value(narrow()?)),
        Dtype::Float8E5M2FnUz => Some(E5M2FNUZ.value(narrow()?)),
        Dtype::Float8E8M0Fnu => Some(power_of_two(narrow()?)),
        _ => None,
    }
}

/// A float of few bits: a sign, an exponent, and a mantissa.
struct Small {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

/// The patterns of a [`Small`] float that are not ordinary numbers.
#[derive(PartialEq)]
enum Special {
    /// As in IEEE 754: the highest exponent means infinity or NaN.
    Ieee,
    /// All bits one, except the sign, means NaN.
    AllOnes,
    /// The pattern of a negative zero is NaN.
    NegativeZero,
    None,
}

const fn small(exponent_bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> Small {
    Small {
        exponent_bits,
        mantissa_bits,
        bias,
        special,
    }
}

/// The parameters are those of the ONNX and OCP specifications that PyTorch's names refer to.
const HALF: Small = small(5, 10, 15, Special::Ieee);
const E5M2: Small = small(5, 2, 15, Special::Ieee);
const E4M3FN: Small = small(4, 3, 7, Special::AllOnes);
const E4M3FNUZ: Small = small(4, 3, 8, Special::NegativeZero);
const E5M2FNUZ: Small = small(5, 2, 16, Special::NegativeZero);
const E2M1: Small = small(2, 1, 1, Special::None);

impl Small {
    fn value(&self, bits: u32) -> f64 {
        let sign = bits >> (self.exponent_bits + self.mantissa_bits) & 1;
        let ones = (1 << self.exponent_bits) - 1;
        let exponent = bits >> self.mantissa_bits & ones;
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let all_ones = mantissa == (1 << self.mantissa_bits) - 1;
        let magnitude = match self.special {
            Special::Ieee if exponent == ones && mantissa == 0 => f64::INFINITY,
            Special::Ieee if exponent == ones => f64::NAN,
            Special::AllOnes if exponent == ones && all_ones => f64::NAN,
            Special::NegativeZero if sign == 1 && exponent == 0 && mantissa == 0 => f64::NAN,
            _ => {
                // Below the smallest exponent, numbers have the same spacing as at it.
                let hidden = if exponent == 0 {
                    0
                } else {
                    1 << self.mantissa_bits
                };
                let scale =
                    exponent.max(1).cast_signed() - self.bias - self.mantissa_bits.cast_signed();
                f64::from(hidden + mantissa) * f64::from(scale).exp2()
            }
        };
        if sign == 1 { -magnitude } else { magnitude }
    }
}

/// The value of a float that has only an exponent.
fn power_of_two(bits: u32) -> f64 {
    if bits == 255 {
        f64::NAN
    } else {
        (f64::from(bits) - 127.0).exp2()
    }
}

#[cfg(test)]
mod tests;
