//! From the bits of `float32`, or 64 bits, to the bytes of elements.
//!
//! The loops are plain so that the compiler turns them into vector code: a function without
//! branches for each element, over arrays of known size.

use super::Encode;
use crate::Dtype;

/// The bits of infinity in `float32`; above them is NaN.
const INFINITY: u32 = 0x7f80_0000;

/// The bits of `float32` as elements of a float dtype.
pub(super) fn single(dtype: Dtype) -> Option<Encode<u32>> {
    Some(match dtype {
        Dtype::Float64 => |bits, to| each(bits, to, |x| widened(x).to_le_bytes()),
        Dtype::Float32 => |bits, to| each(bits, to, u32::to_le_bytes),
        Dtype::Float16 => |bits, to| each(bits, to, |x| low(float16(x))),
        Dtype::BFloat16 => |bits, to| each(bits, to, |x| low(bfloat16::<0x7fc0>(x))),
        Dtype::Float8E4M3Fn => |bits, to| each(bits, to, |x| lowest(float8_e4m3fn(x))),
        Dtype::Float8E5M2 => |bits, to| each(bits, to, |x| lowest(float8_e5m2(x))),
        Dtype::Float8E4M3FnUz => |bits, to| each(bits, to, |x| lowest(fnuz::<3, 8>(x))),
        Dtype::Float8E5M2FnUz => |bits, to| each(bits, to, |x| lowest(fnuz::<2, 16>(x))),
        Dtype::Float8E8M0Fnu => |bits, to| each(bits, to, |x| lowest(float8_e8m0fnu(x))),
        _ => return None,
    })
}

/// As [`single`] for `bfloat16`, but for NaN: torch's vector code gives another one.
pub(super) fn bfloat16_all_ones_nan(bits: &[u32], to: &mut [u8]) {
    each(bits, to, |x| low(bfloat16::<0xffff>(x)));
}

/// The lower bytes of 64 bits, as elements of an integer dtype.
pub(super) fn integer(dtype: Dtype) -> Option<Encode<u64>> {
    Some(match dtype.size() {
        8 => |bits, to| each(bits, to, u64::to_le_bytes),
        4 => |bits, to| {
            each(bits, to, |x| {
                let [a, b, c, d, ..] = x.to_le_bytes();
                [a, b, c, d]
            });
        },
        2 => |bits, to| {
            each(bits, to, |x| {
                let [a, b, ..] = x.to_le_bytes();
                [a, b]
            });
        },
        1 => |bits, to| {
            each(bits, to, |x| {
                let [a, ..] = x.to_le_bytes();
                [a]
            });
        },
        _ => return None,
    })
}

fn each<const N: usize, T: Copy>(from: &[T], to: &mut [u8], bytes: impl Fn(T) -> [u8; N]) {
    for (to, &from) in to.as_chunks_mut().0.iter_mut().zip(from) {
        *to = bytes(from);
    }
}

fn low(code: u32) -> [u8; 2] {
    let [a, b, ..] = code.to_le_bytes();
    [a, b]
}

fn lowest(code: u32) -> [u8; 1] {
    let [a, ..] = code.to_le_bytes();
    [a]
}

/// Exact; NaN by hand, since Rust leaves its bits open.
fn widened(single: u32) -> u64 {
    let value = f32::from_bits(single);
    if value.is_nan() {
        let sign = u64::from(single & 0x8000_0000) << 32;
        let payload = u64::from(single & 0x007f_ffff) << 29;
        sign | 0x7ff8_0000_0000_0000 | payload
    } else {
        f64::from(value).to_bits()
    }
}

fn float16(single: u32) -> u32 {
    let magnitude = single & 0x7fff_ffff;
    let rounded = rounded::<10, 15>(magnitude);
    let code = if magnitude > INFINITY {
        0x7e00 | magnitude >> 13 & 0x3ff
    } else if rounded > 0x7bff {
        0x7c00
    } else {
        rounded
    };
    code | single >> 16 & 0x8000
}

fn bfloat16<const NAN: u32>(single: u32) -> u32 {
    // Half of the last place that is kept, less one unless the digit that is kept is odd.
    let half = 0x7fff_u32.wrapping_add(single >> 16 & 1);
    if single & 0x7fff_ffff > INFINITY {
        NAN
    } else {
        single.wrapping_add(half) >> 16
    }
}

fn float8_e5m2(single: u32) -> u32 {
    let magnitude = single & 0x7fff_ffff;
    let rounded = rounded::<2, 15>(magnitude);
    let code = if magnitude > INFINITY {
        0x7f
    } else if rounded > 0x7b {
        0x7c
    } else {
        rounded
    };
    code | single >> 24 & 0x80
}

fn float8_e4m3fn(single: u32) -> u32 {
    let magnitude = single & 0x7fff_ffff;
    let rounded = rounded::<3, 7>(magnitude);
    let code = if magnitude > INFINITY {
        0x7f
    } else if rounded > 0x7e {
        0x7e
    } else {
        rounded
    };
    code | single >> 24 & 0x80
}

/// The 8-bit floats whose only NaN has the bits of the negative zero.
fn fnuz<const MANTISSA: u32, const BIAS: u32>(single: u32) -> u32 {
    let rounded = rounded::<MANTISSA, BIAS>(single & 0x7fff_ffff);
    if rounded > 0x7f {
        0x80
    } else if rounded == 0 {
        0
    } else {
        rounded | single >> 24 & 0x80
    }
}

/// The exponent alone, one more from half of a step on; within the smallest step, past half.
fn float8_e8m0fnu(single: u32) -> u32 {
    let magnitude = single & 0x7fff_ffff;
    let half = 0x0040_0000;
    if magnitude >= INFINITY {
        0xff
    } else if magnitude <= half {
        0
    } else {
        magnitude.wrapping_add(half) >> 23
    }
}

/// A magnitude rounded to a float of fewer bits, to nearest even, as if its exponent had no upper
/// bound; of no meaning for NaN.
fn rounded<const MANTISSA: u32, const BIAS: u32>(magnitude: u32) -> u32 {
    let dropped = const { 23 - MANTISSA };
    if magnitude < const { (128 - BIAS) << 23 } {
        // Next to this number, the last place of a `float32` is the smallest subnormal number of
        // the target: the addition leaves the rounded count of them in the mantissa.
        let ruler = const { (151 - BIAS - MANTISSA) << 23 };
        (f32::from_bits(magnitude) + f32::from_bits(ruler))
            .to_bits()
            .wrapping_sub(ruler)
    } else {
        // Half of the last place that is kept, less one unless the digit that is kept is odd.
        let half = const { (1 << (22 - MANTISSA)) - 1_u32 }.wrapping_add(magnitude >> dropped & 1);
        magnitude
            .wrapping_sub(const { (127 - BIAS) << 23 })
            .wrapping_add(half)
            >> dropped
    }
}
