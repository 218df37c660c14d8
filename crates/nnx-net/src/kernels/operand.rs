//! The elements of tensors, as kernels read them.

use std::ops::Deref;

use candle_core::{CpuStorage, Layout, Result, Shape, Storage, Tensor, WithDType};

use super::element::Element;
use super::storage::contiguous;

/// A tensor whose elements are read.
pub(crate) struct Operand<'a, G> {
    storage: G,
    layout: &'a Layout,
}

/// The tensor, locked against writing as long as the operand exists.
pub(crate) fn operand(tensor: &Tensor) -> Operand<'_, impl Deref<Target = Storage>> {
    let (storage, layout) = tensor.storage_and_layout();
    Operand { storage, layout }
}

impl<G: Deref<Target = Storage>> Operand<'_, G> {
    /// The elements of a contiguous tensor.
    ///
    /// # Errors
    /// When the tensor is not contiguous, not on the CPU, or has elements of another type.
    pub(crate) fn elements<T: Element>(&self) -> Result<&[T]> {
        match &*self.storage {
            Storage::Cpu(storage) => contiguous(storage, self.layout),
            _ => candle_core::bail!("expected a tensor on the CPU"),
        }
    }
}

/// What a kernel returns: its elements with their shape.
pub(crate) fn output<T: WithDType>(
    elements: Vec<T>,
    shape: impl Into<Shape>,
) -> (CpuStorage, Shape) {
    (T::to_cpu_storage_owned(elements), shape.into())
}

/// Runs a body for the float type of a dtype, which it names `T`.
macro_rules! for_floats {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            candle_core::DType::F32 => {
                type $T = f32;
                $body
            }
            candle_core::DType::F64 => {
                type $T = f64;
                $body
            }
            dtype => candle_core::bail!("expected floats of 32 or 64 bits, found {dtype:?}"),
        }
    };
}
pub(crate) use for_floats;
