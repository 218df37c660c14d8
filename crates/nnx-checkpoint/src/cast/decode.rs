//! From the bytes of elements to the bits of `float32`, of `float64`, or of 64-bit integers.
//!
//! The loops are plain so that the compiler turns them into vector code: a function without
//! branches for each element, over arrays of known size.

use super::Decode;
use crate::Dtype;

/// The bits of infinity in `float32`; above them is NaN.
const INFINITY: u32 = 0x7f80_0000;
/// The bit that makes a NaN of `float32` a quiet one.
const QUIET: u32 = 0x0040_0000;
/// The NaN of the 8-bit floats that have but one: torch widens them to a signalling one.
const ONLY_NAN: u32 = 0x7f80_0001;

/// Elements of a float, integer or bool dtype as the bits of `float32`.
pub(super) fn single(dtype: Dtype) -> Option<Decode<u32>> {
    Some(match dtype {
        Dtype::Float64 => |bytes, to| each(bytes, to, |x| narrowed(u64::from_le_bytes(x))),
        Dtype::Float32 => |bytes, to| each(bytes, to, u32::from_le_bytes),
        Dtype::Float16 => |bytes, to| each(bytes, to, |x| float16(u16::from_le_bytes(x).into())),
        Dtype::BFloat16 => |bytes, to| each(bytes, to, |[low, high]| bits([0, 0, low, high])),
        Dtype::Float8E4M3Fn => |bytes, to| each(bytes, to, |[x]| float8_e4m3fn(x.into())),
        Dtype::Float8E5M2 => |bytes, to| each(bytes, to, |[x]| float8_e5m2(x.into())),
        Dtype::Float8E4M3FnUz => |bytes, to| each(bytes, to, |[x]| fnuz::<3, 8>(x.into())),
        Dtype::Float8E5M2FnUz => |bytes, to| each(bytes, to, |[x]| fnuz::<2, 16>(x.into())),
        Dtype::Float8E8M0Fnu => |bytes, to| each(bytes, to, |[x]| float8_e8m0fnu(x.into())),
        Dtype::Bool => |bytes, to| each(bytes, to, |[x]| f32::from(u8::from(x != 0)).to_bits()),
        Dtype::UInt8 => |bytes, to| each(bytes, to, |[x]| f32::from(x).to_bits()),
        Dtype::Int8 => |bytes, to| each(bytes, to, |x| f32::from(i8::from_le_bytes(x)).to_bits()),
        Dtype::UInt16 => {
            |bytes, to| each(bytes, to, |x| f32::from(u16::from_le_bytes(x)).to_bits())
        }
        Dtype::Int16 => |bytes, to| each(bytes, to, |x| f32::from(i16::from_le_bytes(x)).to_bits()),
        Dtype::UInt32 => |bytes, to| each(bytes, to, |x| (u32::from_le_bytes(x) as f32).to_bits()),
        Dtype::Int32 => |bytes, to| each(bytes, to, |x| (i32::from_le_bytes(x) as f32).to_bits()),
        Dtype::UInt64 => |bytes, to| each(bytes, to, |x| (u64::from_le_bytes(x) as f32).to_bits()),
        Dtype::Int64 => |bytes, to| each(bytes, to, |x| (i64::from_le_bytes(x) as f32).to_bits()),
        _ => return None,
    })
}

/// Elements of an integer or bool dtype as the bits of `float64`, in one step.
pub(super) fn integer_as_double(dtype: Dtype) -> Option<Decode<u64>> {
    Some(match dtype {
        Dtype::UInt64 => |bytes, to| each(bytes, to, |x| (u64::from_le_bytes(x) as f64).to_bits()),
        Dtype::Int64 => |bytes, to| each(bytes, to, |x| (i64::from_le_bytes(x) as f64).to_bits()),
        Dtype::UInt32 => {
            |bytes, to| each(bytes, to, |x| f64::from(u32::from_le_bytes(x)).to_bits())
        }
        Dtype::Int32 => |bytes, to| each(bytes, to, |x| f64::from(i32::from_le_bytes(x)).to_bits()),
        Dtype::UInt16 => {
            |bytes, to| each(bytes, to, |x| f64::from(u16::from_le_bytes(x)).to_bits())
        }
        Dtype::Int16 => |bytes, to| each(bytes, to, |x| f64::from(i16::from_le_bytes(x)).to_bits()),
        Dtype::UInt8 => |bytes, to| each(bytes, to, |[x]| f64::from(x).to_bits()),
        Dtype::Int8 => |bytes, to| each(bytes, to, |x| f64::from(i8::from_le_bytes(x)).to_bits()),
        Dtype::Bool => |bytes, to| each(bytes, to, |[x]| f64::from(u8::from(x != 0)).to_bits()),
        _ => return None,
    })
}

/// Elements of an integer or bool dtype, extended to 64 bits by their sign.
pub(super) fn integer(dtype: Dtype) -> Option<Decode<u64>> {
    Some(match dtype {
        Dtype::Bool => |bytes, to| each(bytes, to, |[x]| (x != 0).into()),
        Dtype::UInt8 => |bytes, to| each(bytes, to, |[x]| x.into()),
        Dtype::UInt16 => |bytes, to| each(bytes, to, |x| u16::from_le_bytes(x).into()),
        Dtype::UInt32 => |bytes, to| each(bytes, to, |x| u32::from_le_bytes(x).into()),
        Dtype::Int8 => |bytes, to| each(bytes, to, |x| extended(i8::from_le_bytes(x))),
        Dtype::Int16 => |bytes, to| each(bytes, to, |x| extended(i16::from_le_bytes(x))),
        Dtype::Int32 => |bytes, to| each(bytes, to, |x| extended(i32::from_le_bytes(x))),
        _ => return None,
    })
}

fn each<const N: usize, T>(bytes: &[u8], to: &mut [T], value: impl Fn([u8; N]) -> T) {
    for (to, &bytes) in to.iter_mut().zip(bytes.as_chunks().0) {
        *to = value(bytes);
    }
}

fn bits(bytes: [u8; 4]) -> u32 {
    u32::from_le_bytes(bytes)
}

fn extended(value: impl Into<i64>) -> u64 {
    value.into().cast_unsigned()
}

/// Rounded to nearest even by the processor; NaN by hand, since Rust leaves its bits open.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the upper half of 64 bits, and a rounding that is meant"
)]
fn narrowed(double: u64) -> u32 {
    let value = f64::from_bits(double);
    let sign = (double >> 32) as u32 & 0x8000_0000;
    let payload = (double >> 29) as u32 & 0x007f_ffff;
    if value.is_nan() {
        sign | INFINITY | QUIET | payload
    } else {
        (value as f32).to_bits()
    }
}

fn float16(code: u32) -> u32 {
    with_infinity::<10, 15>(code & 0x7fff) | (code & 0x8000) << 16
}

fn float8_e5m2(code: u32) -> u32 {
    with_infinity::<2, 15>(code & 0x7f) | (code & 0x80) << 24
}

fn float8_e4m3fn(code: u32) -> u32 {
    let magnitude = code & 0x7f;
    let widened = if magnitude == 0x7f {
        INFINITY | magnitude << 20
    } else {
        finite::<3, 7>(magnitude)
    };
    widened | (code & 0x80) << 24
}

/// The 8-bit floats whose only NaN has the bits of the negative zero.
fn fnuz<const MANTISSA: u32, const BIAS: u32>(code: u32) -> u32 {
    if code == 0x80 {
        ONLY_NAN
    } else {
        finite::<MANTISSA, BIAS>(code & 0x7f) | (code & 0x80) << 24
    }
}

fn float8_e8m0fnu(code: u32) -> u32 {
    match code {
        // 2⁻¹²⁷ is a subnormal number of `float32`.
        0 => 0x0040_0000,
        0xff => ONLY_NAN,
        _ => code << 23,
    }
}

/// A magnitude of a float laid out as IEEE's are, with 5 bits of exponent.
fn with_infinity<const MANTISSA: u32, const BIAS: u32>(magnitude: u32) -> u32 {
    let infinity = 0x1f << MANTISSA;
    let special = INFINITY | magnitude << const { 23 - MANTISSA };
    if magnitude > infinity {
        special | QUIET
    } else if magnitude == infinity {
        INFINITY
    } else {
        finite::<MANTISSA, BIAS>(magnitude)
    }
}

/// The value of a magnitude that is a number, as the bits of `float32`: always exact.
fn finite<const MANTISSA: u32, const BIAS: u32>(magnitude: u32) -> u32 {
    let shifted = magnitude << const { 23 - MANTISSA };
    if shifted < 1 << 23 {
        // With the exponent of the smallest normal number put in front, the mantissa reads as that
        // number plus the wanted value; the processor takes the number away and normalises.
        let smallest = const { (128 - BIAS) << 23 };
        (f32::from_bits(smallest | shifted) - f32::from_bits(smallest)).to_bits()
    } else {
        shifted.wrapping_add(const { (127 - BIAS) << 23 })
    }
}
