//! Views of storages.

use super::args::{boolean, count, counts, dtype, lazy_bits, no_hooks};
use super::{Layout, TensorInfo, plain};
use crate::error::{Error, Result};
use crate::pickle::NodeId;
use crate::torch::TorchObject;
use crate::torch::storage_table::Reference;
use crate::{Dtype, Tensor};

impl TorchObject {
    pub(super) fn rebuild_tensor(&self, args: &[NodeId]) -> Result<Option<TensorInfo>> {
        let &[storage, offset, size, stride] = args else {
            return Ok(None);
        };
        let dtype = self.storage_dtype(storage)?;
        self.strided(storage, dtype, [offset, size, stride], None)
            .map(Some)
    }

    pub(super) fn rebuild_tensor_v2(&self, args: &[NodeId]) -> Result<Option<TensorInfo>> {
        let &[storage, offset, size, stride, grad, hooks, ref rest @ ..] = args else {
            return Ok(None);
        };
        if rest.len() > 1 {
            return Ok(None);
        }
        no_hooks(self.graph(), hooks)?;
        let dtype = self.storage_dtype(storage)?;
        let info = self.strided(storage, dtype, [offset, size, stride], rest.first())?;
        self.with_grad(info, grad).map(Some)
    }

    pub(super) fn rebuild_tensor_v3(&self, args: &[NodeId]) -> Result<Option<TensorInfo>> {
        let &[
            storage,
            offset,
            size,
            stride,
            grad,
            hooks,
            of,
            ref rest @ ..,
        ] = args
        else {
            return Ok(None);
        };
        if rest.len() > 1 {
            return Ok(None);
        }
        no_hooks(self.graph(), hooks)?;
        let dtype = dtype(self.graph(), of)?;
        let info = self.strided(storage, dtype, [offset, size, stride], rest.first())?;
        self.with_grad(info, grad).map(Some)
    }

    pub(super) fn rebuild_meta(&self, args: &[NodeId]) -> Result<Option<TensorInfo>> {
        let &[of, size, stride, grad] = args else {
            return Ok(None);
        };
        let graph = self.graph();
        let (shape, strides) = (counts(graph, size)?, counts(graph, stride)?);
        check_rank(&shape, &strides)?;
        let info = plain(dtype(graph, of)?, shape, false, Layout::Meta { strides });
        self.with_grad(info, grad).map(Some)
    }

    /// Sets `requires_grad` from an argument.
    pub(super) fn with_grad(&self, info: TensorInfo, grad: NodeId) -> Result<TensorInfo> {
        Ok(TensorInfo {
            requires_grad: boolean(self.graph(), grad, "requires_grad")?,
            ..info
        })
    }

    fn strided(
        &self,
        storage: NodeId,
        dtype: Dtype,
        [offset, size, stride]: [NodeId; 3],
        metadata: Option<&NodeId>,
    ) -> Result<TensorInfo> {
        let graph = self.graph();
        if dtype.is_quantized() {
            return Err(Error::unsupported(format!(
                "a {dtype} tensor without scale and zero point is not read"
            )));
        }
        let reference = self.storage_reference(storage)?;
        let (conj, neg) = lazy_bits(graph, metadata.copied())?;
        let (shape, strides) = (counts(graph, size)?, counts(graph, stride)?);
        check_rank(&shape, &strides)?;
        let offset = count(graph, offset)?;
        let layout = if self.storage_table().location(reference.index) == Some("meta") {
            Layout::Meta { strides }
        } else {
            Layout::Strided {
                storage,
                offset,
                strides,
                conj,
                neg,
            }
        };
        Ok(plain(dtype, shape, false, layout))
    }

    /// The reference to a storage that an argument must be.
    pub(super) fn storage_reference(&self, storage: NodeId) -> Result<&Reference> {
        self.reference(storage).ok_or_else(|| {
            Error::malformed(format!(
                "a tensor's storage must be a persistent id of one, got {}",
                self.graph().describe(storage)
            ))
        })
    }

    /// The dtype of a typed storage; PyTorch takes an untyped one for one of bytes.
    pub(super) fn storage_dtype(&self, storage: NodeId) -> Result<Dtype> {
        let reference = self.storage_reference(storage)?;
        Ok(reference.dtype.unwrap_or(Dtype::UInt8))
    }

    /// The view of a storage, or of the part of one that the reference means.
    pub(super) fn view(
        &self,
        storage: NodeId,
        info: &TensorInfo,
        offset: usize,
        strides: &[usize],
    ) -> Result<Tensor> {
        let reference = self.storage_reference(storage)?;
        let storages = self.storage_table();
        let view = Tensor::view(
            storages.referred(reference)?.clone(),
            info.dtype,
            offset,
            &info.shape,
            strides,
        )?;
        let Some(part) = reference.part() else {
            return Ok(view);
        };
        // The tensor is within its part; over the whole storage it is known to share it.
        let size = info.dtype.size();
        match part.start.checked_rem(size) {
            Some(0) => {}
            _ => return Ok(view),
        }
        let before = part.start.checked_div(size).unwrap_or_default();
        let offset = offset.checked_add(before).ok_or_else(|| {
            Error::malformed(format!("offset {offset} overflows within its storage"))
        })?;
        let whole = storages.storage(reference.index)?;
        Tensor::view(whole.clone(), info.dtype, offset, &info.shape, strides)
    }
}

/// Whether there is a stride for each size.
pub(super) fn check_rank(shape: &[usize], strides: &[usize]) -> Result<()> {
    if shape.len() == strides.len() {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "shape {shape:?} has {} dimensions, strides {strides:?} have {}",
        shape.len(),
        strides.len()
    )))
}
