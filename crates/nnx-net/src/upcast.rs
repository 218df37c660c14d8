//! Weights of any float dtype, as float32.

use candle_core::{DType, Device, Tensor};
use nnx_checkpoint::Dtype;

use crate::error::Result;

/// The values of a tensor in float32 on the CPU, as PyTorch's `copy_` converts them.
///
/// # Errors
/// When candle does not convert the dtype and it is not one of the float8 formats below.
pub(crate) fn to_float32(tensor: &nnx_checkpoint::Tensor) -> Result<Tensor> {
    let Some(format) = Float8::from_dtype(tensor.dtype()) else {
        return Ok(Tensor::try_from(tensor)?.to_dtype(DType::F32)?);
    };
    let values: Vec<f32> = tensor
        .to_bytes()?
        .iter()
        .map(|byte| format.value(*byte))
        .collect();
    Ok(Tensor::from_vec(values, tensor.shape(), &Device::Cpu)?)
}

/// The formats of eight bits that candle does not support.
///
/// Source: the bit layouts that the PyTorch documentation gives for `torch.float8_*`.
#[derive(Clone, Copy, Debug)]
enum Float8 {
    /// The upper half of an IEEE float16, infinities included.
    Ieee,
    /// No infinities; the byte of the negative zero is NaN.
    FiniteUnsignedZero { mantissa_bits: u8, bias: i32 },
    /// Only an exponent.
    PowerOfTwo,
}

impl Float8 {
    fn from_dtype(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::Float8E5M2 => Some(Self::Ieee),
            Dtype::Float8E4M3FnUz => Some(Self::FiniteUnsignedZero {
                mantissa_bits: 3,
                bias: 8,
            }),
            Dtype::Float8E5M2FnUz => Some(Self::FiniteUnsignedZero {
                mantissa_bits: 2,
                bias: 16,
            }),
            Dtype::Float8E8M0Fnu => Some(Self::PowerOfTwo),
            _ => None,
        }
    }

    /// The value of a byte, which float32 holds exactly.
    fn value(self, byte: u8) -> f32 {
        match self {
            Self::Ieee if byte & 0x7c == 0x7c => match byte & 0x83 {
                0x00 => f32::INFINITY,
                0x80 => f32::NEG_INFINITY,
                _ => f32::NAN,
            },
            Self::Ieee => signed(byte, 2, 15),
            Self::FiniteUnsignedZero { .. } if byte == 0x80 => f32::NAN,
            Self::FiniteUnsignedZero {
                mantissa_bits,
                bias,
            } => signed(byte, mantissa_bits, bias),
            Self::PowerOfTwo if byte == 0xff => f32::NAN,
            Self::PowerOfTwo => power_of_two(i32::from(byte) - 127),
        }
    }
}

/// The value of sign, exponent and mantissa.
fn signed(byte: u8, mantissa_bits: u8, bias: i32) -> f32 {
    let exponent = i32::from((byte & 0x7f) >> mantissa_bits);
    let fraction = f32::from(byte & ((1 << mantissa_bits) - 1)) / f32::from(1_u8 << mantissa_bits);
    let magnitude = if exponent == 0 {
        fraction * power_of_two(1 - bias)
    } else {
        (1.0 + fraction) * power_of_two(exponent - bias)
    };
    if byte & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// `2^exponent` exactly; float64 holds every power that occurs as a normal number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the powers that occur are float32 numbers"
)]
fn power_of_two(exponent: i32) -> f32 {
    2_f64.powi(exponent) as f32
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// `p = torch.zeros(256); p.copy_(torch.arange(256, dtype=torch.uint8).view(dtype))`, then the
    /// sha256 of its bytes with each NaN written as 12345.
    #[track_caller]
    fn check(dtype: Dtype, expected: &str) {
        let bytes: Vec<u8> = (0..=255).collect();
        let tensor = nnx_checkpoint::Tensor::from_bytes(dtype, &[256], bytes).unwrap();
        let mut sha256 = Sha256::new();
        for value in to_float32(&tensor).unwrap().to_vec1::<f32>().unwrap() {
            sha256.update(if value.is_nan() { 12345.0 } else { value }.to_le_bytes());
        }
        let digest: String = sha256
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(digest, expected, "{dtype}");
    }

    #[test]
    fn every_byte_of_every_float8_has_the_value_of_torch() {
        check(
            Dtype::Float8E4M3Fn,
            "60efb1d40706a18a8834b00445a3e025c9f2bc953f6acbf3dc1d3caa17950418",
        );
        check(
            Dtype::Float8E5M2,
            "b4685286a46b100946d038bd06a9cf8977d074f22482e5879c0b7beebdead0de",
        );
        check(
            Dtype::Float8E4M3FnUz,
            "c48de4101485a47b602dd84af4534675961d470f8e3ce4f88b56f3da32f69f31",
        );
        check(
            Dtype::Float8E5M2FnUz,
            "c907f923be29a5ca0cc09d91c98cb490846042e5b6f266c4727c7c421b569ce5",
        );
        check(
            Dtype::Float8E8M0Fnu,
            "1783ab309d1e67a0a07690d06d9056e561df8a01af1a094ea84d420603e58ee8",
        );
    }
}
