//! A tensor as the crate `safetensors` takes it for writing.

use std::borrow::Cow;

use ::safetensors::{Dtype as SafeDtype, View};

use crate::Tensor;
use crate::error::{Error, Result};

/// A tensor as the crate `safetensors` takes it: with its elements in row-major order, and a dtype
/// that the format has. It comes from [`Tensor::safetensors_view`].
#[derive(Clone, Debug)]
pub struct SafeTensorsView<'a> {
    dtype: SafeDtype,
    shape: &'a [usize],
    bytes: Cow<'a, [u8]>,
}

impl Tensor {
    /// The tensor for the functions of the crate `safetensors`, which take a
    /// [`View`](::safetensors::View) whose methods cannot fail: every step that can fail is done
    /// here. The bytes are borrowed where they are in row-major order.
    ///
    /// ```
    /// use nnx_checkpoint::{Dtype, Tensor};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bias = Tensor::from_bytes(Dtype::Float32, &[2], vec![0; 8])?;
    /// let file = safetensors::serialize([("bias", bias.safetensors_view()?)], None)?;
    /// assert_eq!(safetensors::SafeTensors::deserialize(&file)?.tensor("bias")?.shape(), [2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the format has no such dtype, and as for [`to_bytes`](Self::to_bytes).
    pub fn safetensors_view(&self) -> Result<SafeTensorsView<'_>> {
        let dtype = self.dtype();
        let name = dtype.safetensors_name();
        let of_name = |name: &str| serde_json::from_value(name.into()).ok();
        let dtype = name.and_then(of_name).ok_or_else(|| {
            Error::unsupported(format!("the safetensors format has no dtype for {dtype}"))
        })?;
        Ok(SafeTensorsView {
            dtype,
            shape: self.shape(),
            bytes: self.to_bytes()?,
        })
    }
}

impl View for SafeTensorsView<'_> {
    fn dtype(&self) -> SafeDtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}
