//! Activations in one pass over memory, without gradients.

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor};

/// Whether one pass is possible: contiguous float32 on the CPU, without a gradient to record.
pub(crate) fn is_for(xs: &Tensor) -> bool {
    xs.device().is_cpu() && xs.dtype() == DType::F32 && xs.is_contiguous() && !xs.track_op()
}

/// # Errors
/// When the tensor is not one that [`is_for`] accepts.
pub(crate) fn relu(xs: &Tensor) -> Result<Tensor> {
    xs.apply_op1_no_bwd(&Relu)
}

struct Relu;

impl CustomOp1 for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let elements = match layout.contiguous_offsets() {
            Some((start, end)) => storage.as_slice::<f32>()?.get(start..end),
            None => None,
        };
        let Some(elements) = elements else {
            candle_core::bail!("expected contiguous elements");
        };
        // A comparison with NaN does not hold, so that NaN stays.
        let zeroed = elements.iter().map(|&x| if x <= 0.0 { 0.0 } else { x });
        Ok((CpuStorage::F32(zeroed.collect()), layout.shape().clone()))
    }
}
