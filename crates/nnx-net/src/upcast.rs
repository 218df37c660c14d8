//! Weights of any float dtype, as float32.

use candle_core::{DType, Device, Tensor};
use nnx_checkpoint::{Dtype, cast};

use crate::error::Result;

/// The values of a tensor in float32 on the CPU, as PyTorch's `copy_` converts them.
///
/// # Errors
/// When the dtype is neither one that candle converts nor a float8.
pub(crate) fn to_float32(tensor: &nnx_checkpoint::Tensor) -> Result<Tensor> {
    let dtype = tensor.dtype();
    match dtype {
        // candle has no type for these.
        Dtype::Float8E5M2
        | Dtype::Float8E4M3FnUz
        | Dtype::Float8E5M2FnUz
        | Dtype::Float8E8M0Fnu => {
            let bytes = cast(&tensor.to_bytes()?, dtype, Dtype::Float32)?;
            let shape = tensor.shape();
            Ok(Tensor::from_raw_buffer(
                &bytes,
                DType::F32,
                shape,
                &Device::Cpu,
            )?)
        }
        _ => Ok(Tensor::try_from(tensor)?.to_dtype(DType::F32)?),
    }
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
