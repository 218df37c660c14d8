//! The inputs of a net, and the errors for inputs that it does not take.

use candle_core::{DType, Tensor};
use nnx_params::Nets;

use crate::error::{Error, Result};

/// The inputs of a net: one or more tensors, in the order of Python's positional arguments.
///
/// | net | inputs |
/// |---|---|
/// | `feed_fwd`, `feed_fwd_moe` | float32 rows `[N, …]` that flatten to `input_dim` |
/// | `conv` | float32 images `[N, C, H, W]`, or rows that flatten to `input_dim` |
/// | `transformer` | int64 token ids `[N, T]` |
/// | `vit` | float32 images `[N, C, S, S]`, and optionally a uint8 mask `[N, patches]` of the patches to keep |
/// | `graph_*` | float32 nodes `[N, input_dim]` and int64 edges `[2, M]`, whose first row has the sources |
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_net::Inputs;
///
/// let nodes = Tensor::new(&[[1_f32], [2.0]], &Device::Cpu)?;
/// let edges = Tensor::new(&[[0_i64], [1]], &Device::Cpu)?;
/// assert_eq!(Inputs::from(&nodes).tensors().len(), 1);
/// assert_eq!(Inputs::from(&[nodes, edges]).tensors().len(), 2);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a>(&'a [Tensor]);

impl<'a> Inputs<'a> {
    /// The tensors.
    pub fn tensors(self) -> &'a [Tensor] {
        self.0
    }
}

impl<'a> From<&'a Tensor> for Inputs<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self(std::slice::from_ref(tensor))
    }
}

impl<'a> From<&'a [Tensor]> for Inputs<'a> {
    fn from(tensors: &'a [Tensor]) -> Self {
        Self(tensors)
    }
}

impl<'a, const N: usize> From<&'a [Tensor; N]> for Inputs<'a> {
    fn from(tensors: &'a [Tensor; N]) -> Self {
        Self(tensors)
    }
}

impl<'a> From<&'a Vec<Tensor>> for Inputs<'a> {
    fn from(tensors: &'a Vec<Tensor>) -> Self {
        Self(tensors)
    }
}

/// The only input as rows of `input_dim` numbers: all axes but the first are flattened.
///
/// # Errors
/// When there is another number of inputs, or the input has another dtype or shape.
pub(crate) fn rows(net: Nets, input_dim: usize, inputs: &[Tensor]) -> Result<Tensor> {
    let expected = || format!("at least one float32 row of `{input_dim}` numbers");
    let [input] = inputs else {
        return Err(wrong_count(net, expected(), inputs));
    };
    if input.dtype() != DType::F32 {
        return Err(wrong_dtype(net, expected(), input));
    }
    match input.dims() {
        &[rows, ref rest @ ..] if rows > 0 && rest.iter().product::<usize>() == input_dim => {
            Ok(input.reshape((rows, input_dim))?)
        }
        _ => Err(wrong_shape(net, expected(), input)),
    }
}

/// The error for a wrong number of inputs.
#[cold]
pub(crate) fn wrong_count(net: Nets, expected: String, inputs: &[Tensor]) -> Error {
    Error::input(net.value(), expected, format!("`{}` inputs", inputs.len()))
}

/// The error for an input with a wrong dtype.
#[cold]
pub(crate) fn wrong_dtype(net: Nets, expected: String, input: &Tensor) -> Error {
    let found = format!("the dtype `{}`", dtype_name(input.dtype()));
    Error::input(net.value(), expected, found)
}

/// The error for an input with a wrong shape.
#[cold]
pub(crate) fn wrong_shape(net: Nets, expected: String, input: &Tensor) -> Error {
    let found = format!("the shape `{:?}`", input.dims());
    Error::input(net.value(), expected, found)
}

/// PyTorch's name of a dtype.
pub(crate) fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "uint8",
        DType::U32 => "uint32",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::BF16 => "bfloat16",
        DType::F16 => "float16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::F8E4M3 => "float8_e4m3fn",
        // candle's own names for dtypes that PyTorch does not have in this form.
        other => other.as_str(),
    }
}
