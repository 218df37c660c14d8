//! Kernels as operations of candle.

use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, DType, Error, Layout, Result, Shape, Storage,
    Tensor,
};

use super::float::Float;
use super::view::View;

/// Whether the kernels compute with these tensors: all on the CPU, and all float32 or all float64.
pub(crate) fn is_for(tensors: &[&Tensor]) -> bool {
    let is_one = |dtype| {
        tensors
            .iter()
            .all(|tensor| tensor.device().is_cpu() && tensor.dtype() == dtype)
    };
    is_one(DType::F32) || is_one(DType::F64)
}

/// A computation with `N` tensors for which [`is_for`] holds.
pub(crate) trait Kernel<const N: usize>: Send + Sync + 'static {
    /// The name in candle's errors.
    const NAME: &'static str;

    /// The elements and the shape of the result.
    ///
    /// # Errors
    /// When an input has a wrong shape, or a layout that the kernel does not read.
    fn forward<T: Float>(&self, inputs: [View<'_>; N]) -> Result<(Vec<T>, Shape)>;

    /// The gradient of each input, in the shape of the input, by that of the result. Those that are not
    /// `wanted` may be left out.
    ///
    /// # Errors
    /// When the kernel has no backward pass.
    fn backward<T: Float>(
        &self,
        inputs: [View<'_>; N],
        wanted: [bool; N],
        result: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; N]> {
        let (_, _, _, _) = (inputs, wanted, result, gradient);
        Err(Error::BackwardNotSupported { op: Self::NAME })
    }
}

/// A kernel as candle runs it.
pub(crate) struct Operation<K>(pub(crate) K);

fn forward<const N: usize, K: Kernel<N>>(
    kernel: &K,
    inputs: [(&CpuStorage, &Layout); N],
) -> Result<(CpuStorage, Shape)> {
    fn typed<T: Float, const N: usize>(
        kernel: &impl Kernel<N>,
        inputs: [View<'_>; N],
    ) -> Result<(CpuStorage, Shape)> {
        let (elements, shape) = kernel.forward::<T>(inputs)?;
        Ok((T::to_cpu_storage_owned(elements), shape))
    }
    let inputs = inputs.map(|(storage, layout)| View { storage, layout });
    match inputs.first().map(|input| input.storage.dtype()) {
        Some(DType::F32) => typed::<f32, N>(kernel, inputs),
        Some(DType::F64) => typed::<f64, N>(kernel, inputs),
        dtype => candle_core::bail!("expected floats of 32 or 64 bits, found `{dtype:?}`"),
    }
}

fn backward<const N: usize, K: Kernel<N>>(
    kernel: &K,
    inputs: [&Tensor; N],
    result: &Tensor,
    gradient: &Tensor,
) -> Result<[Option<Tensor>; N]> {
    match gradient.dtype() {
        DType::F32 => typed_backward::<f32, N, K>(kernel, inputs, result, gradient),
        DType::F64 => typed_backward::<f64, N, K>(kernel, inputs, result, gradient),
        dtype => candle_core::bail!("expected floats of 32 or 64 bits, found `{dtype:?}`"),
    }
}

fn typed_backward<T: Float, const N: usize, K: Kernel<N>>(
    kernel: &K,
    inputs: [&Tensor; N],
    result: &Tensor,
    gradient: &Tensor,
) -> Result<[Option<Tensor>; N]> {
    let gradient = gradient.contiguous()?;
    let tensors = inputs.into_iter().chain([result, &gradient]);
    let locked: Vec<_> = tensors.map(Tensor::storage_and_layout).collect();
    let mut views = Vec::with_capacity(N + 2);
    for (storage, layout) in &locked {
        let Storage::Cpu(storage) = &**storage else {
            candle_core::bail!("expected tensors on the CPU");
        };
        views.push(View { storage, layout });
    }
    let gradients = kernel.backward::<T>(
        std::array::from_fn(|n| views[n]),
        inputs.map(Tensor::track_op),
        views[N].elements()?,
        views[N + 1].elements()?,
    )?;
    let mut tensors = [const { None }; N];
    for ((tensor, elements), input) in tensors.iter_mut().zip(gradients).zip(inputs) {
        if let Some(elements) = elements {
            *tensor = Some(Tensor::from_vec(elements, input.shape(), input.device())?);
        }
    }
    Ok(tensors)
}

impl<K: Kernel<1>> CustomOp1 for Operation<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout) -> Result<(CpuStorage, Shape)> {
        forward(&self.0, [(s1, l1)])
    }

    fn bwd(&self, x1: &Tensor, result: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let [g1] = backward(&self.0, [x1], result, gradient)?;
        Ok(g1)
    }
}

impl<K: Kernel<2>> CustomOp2 for Operation<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        forward(&self.0, [(s1, l1), (s2, l2)])
    }

    fn bwd(
        &self,
        x1: &Tensor,
        x2: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [g1, g2] = backward(&self.0, [x1, x2], result, gradient)?;
        Ok((g1, g2))
    }
}

impl<K: Kernel<3>> CustomOp3 for Operation<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        forward(&self.0, [(s1, l1), (s2, l2), (s3, l3)])
    }

    fn bwd(
        &self,
        x1: &Tensor,
        x2: &Tensor,
        x3: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [g1, g2, g3] = backward(&self.0, [x1, x2, x3], result, gradient)?;
        Ok((g1, g2, g3))
    }
}
