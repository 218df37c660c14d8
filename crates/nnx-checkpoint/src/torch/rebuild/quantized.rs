//! Quantised tensors.

use super::args::{boolean, count, counts, no_hooks};
use super::strided::check_rank;
use super::{Layout, QuantizerInfo, TensorInfo, plain};
use crate::error::{Error, Result, shown};
use crate::pickle::{Graph, Node, NodeId};
use crate::torch::TorchObject;
use crate::{Dtype, Quantizer, Tensor};

impl TorchObject {
    pub(super) fn rebuild_quantized(&self, args: &[NodeId]) -> Result<Option<TensorInfo>> {
        let &[storage, offset, size, stride, quantizer, grad, hooks] = args else {
            return Ok(None);
        };
        let graph = self.graph();
        no_hooks(graph, hooks)?;
        let dtype = self.storage_dtype(storage)?;
        if !dtype.is_quantized() {
            return Err(Error::malformed(format!(
                "a quantised tensor must view a quantised storage, got one of {dtype}"
            )));
        }
        let (shape, strides) = (counts(graph, size)?, counts(graph, stride)?);
        check_rank(&shape, &strides)?;
        let layout = Layout::Quantized {
            storage,
            offset: count(graph, offset)?,
            strides,
            quantizer: quantizer_info(graph, quantizer, &shape)?,
        };
        let requires_grad = boolean(graph, grad, "requires_grad")?;
        Ok(Some(plain(dtype, shape, requires_grad, layout)))
    }

    /// How the integers map to numbers, scales and zero points read.
    pub(super) fn quantizer(&self, info: &QuantizerInfo) -> Result<Quantizer> {
        match info {
            QuantizerInfo::PerTensor { scale, zero_point } => Ok(Quantizer::PerTensor {
                scale: *scale,
                zero_point: *zero_point,
            }),
            QuantizerInfo::PerChannel {
                axis,
                scales,
                zero_points,
            } => {
                let axis = *axis;
                let scales = match self.numbers(*scales, "scales")? {
                    Numbers::Floats(scales) => scales,
                    Numbers::Ints(_) => {
                        return Err(Error::malformed("the scales must be floats"));
                    }
                };
                // PyTorch writes one scheme for both kinds and tells them by the zero points.
                Ok(match self.numbers(*zero_points, "zero points")? {
                    Numbers::Ints(zero_points) => Quantizer::PerChannel {
                        axis,
                        scales,
                        zero_points,
                    },
                    Numbers::Floats(zero_points) => Quantizer::PerChannelFloat {
                        axis,
                        scales,
                        zero_points,
                    },
                })
            }
        }
    }

    /// The members of a tensor, or of a list as old files have it.
    fn numbers(&self, id: NodeId, what: &str) -> Result<Numbers> {
        let graph = self.graph();
        let unfit = || {
            Error::malformed(format!(
                "the {what} must be numbers, got {}",
                graph.describe(id)
            ))
        };
        if let Some(info) = self.tensor_info(id)? {
            // A quantised tensor could be made of itself without end.
            if !matches!(info.layout, Layout::Strided { .. }) {
                return Err(unfit());
            }
            return tensor_numbers(&self.materialize(&info)?)?.ok_or_else(unfit);
        }
        let Node::List(items) = graph.node(id) else {
            return Err(unfit());
        };
        let ints: Option<Vec<i64>> = items.iter().map(|&id| graph.int(id)).collect();
        if let Some(ints) = ints {
            return Ok(Numbers::Ints(ints));
        }
        let floats: Option<Vec<f64>> = items.iter().map(|&id| graph.float(id)).collect();
        floats.map(Numbers::Floats).ok_or_else(unfit)
    }
}

/// Scales or zero points.
enum Numbers {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

/// The elements of a tensor of numbers; none for other dtypes.
fn tensor_numbers(tensor: &Tensor) -> Result<Option<Numbers>> {
    let bytes = tensor.to_bytes()?;
    Ok(match tensor.dtype() {
        Dtype::Float64 => {
            let (numbers, _) = bytes.as_chunks();
            let floats = numbers.iter().map(|&number| f64::from_le_bytes(number));
            Some(Numbers::Floats(floats.collect()))
        }
        Dtype::Float32 => {
            let (numbers, _) = bytes.as_chunks();
            let floats = numbers
                .iter()
                .map(|&number| f64::from(f32::from_le_bytes(number)));
            Some(Numbers::Floats(floats.collect()))
        }
        Dtype::Int64 => {
            let (numbers, _) = bytes.as_chunks();
            let ints = numbers.iter().map(|&number| i64::from_le_bytes(number));
            Some(Numbers::Ints(ints.collect()))
        }
        Dtype::Int32 => {
            let (numbers, _) = bytes.as_chunks();
            let ints = numbers
                .iter()
                .map(|&number| i64::from(i32::from_le_bytes(number)));
            Some(Numbers::Ints(ints.collect()))
        }
        _ => None,
    })
}

/// `(scheme, scale, zero_point)` or `(scheme, scales, zero_points, axis)`.
fn quantizer_info(graph: &Graph, id: NodeId, shape: &[usize]) -> Result<QuantizerInfo> {
    let unfit = || {
        Error::malformed(format!(
            "a quantizer must be a scheme with scale and zero point, got {}",
            graph.describe(id)
        ))
    };
    let members = graph.sequence(id).ok_or_else(unfit)?;
    let scheme = members.first().and_then(|&scheme| graph.global(scheme));
    match (scheme, members) {
        (Some(("torch", "per_tensor_affine")), &[_, scale, zero_point]) => {
            Ok(QuantizerInfo::PerTensor {
                scale: graph.float(scale).ok_or_else(unfit)?,
                zero_point: graph.int(zero_point).ok_or_else(unfit)?,
            })
        }
        (
            Some(("torch", "per_channel_affine" | "per_channel_affine_float_qparams")),
            &[_, scales, zero_points, axis],
        ) => {
            let axis = count(graph, axis)?;
            if axis >= shape.len() {
                return Err(Error::malformed(format!(
                    "a tensor of shape {shape:?} is quantised along dimension {axis}, which it \
                     lacks"
                )));
            }
            Ok(QuantizerInfo::PerChannel {
                axis,
                scales,
                zero_points,
            })
        }
        (Some(("torch", name)), _) => Err(Error::unsupported(format!(
            "tensors quantised by the scheme `torch.{}` are not read",
            shown(name)
        ))),
        _ => Err(unfit()),
    }
}
