//! How the integers of a quantised tensor map to numbers.

use crate::error::{Error, Result};

/// How the integers of a quantised tensor become numbers: `(integer - zero_point) * scale`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Quantizer {
    /// One scale and zero point for all elements: `torch.per_tensor_affine`.
    PerTensor {
        /// A step of the integer.
        scale: f64,
        /// The integer that represents zero.
        zero_point: i64,
    },
    /// A scale and zero point for each index along one dimension: `torch.per_channel_affine`.
    PerChannel {
        /// The dimension.
        axis: usize,
        /// One for each index along the dimension.
        scales: Vec<f64>,
        /// One for each index along the dimension.
        zero_points: Vec<i64>,
    },
    /// The same with zero points that are no integers:
    /// `torch.per_channel_affine_float_qparams`, which counts `integer * scale + zero_point`.
    PerChannelFloat {
        /// The dimension.
        axis: usize,
        /// One for each index along the dimension.
        scales: Vec<f64>,
        /// One for each index along the dimension.
        zero_points: Vec<f64>,
    },
}

impl Quantizer {
    /// Whether there is one scale and one zero point for each index along the dimension.
    pub(super) fn check(&self, shape: &[usize]) -> Result<()> {
        let (axis, scales, zero_points) = match self {
            Self::PerTensor { .. } => return Ok(()),
            Self::PerChannel {
                axis,
                scales,
                zero_points,
            } => (*axis, scales.len(), zero_points.len()),
            Self::PerChannelFloat {
                axis,
                scales,
                zero_points,
            } => (*axis, scales.len(), zero_points.len()),
        };
        let size = shape.get(axis).ok_or_else(|| {
            Error::malformed(format!(
                "a tensor of shape {shape:?} is quantised along dimension {axis}, which it lacks"
            ))
        })?;
        if (scales, zero_points) == (*size, *size) {
            return Ok(());
        }
        Err(Error::malformed(format!(
            "a tensor of shape {shape:?}, quantised along dimension {axis}, must have {size} \
             scales and zero points, got {scales} and {zero_points}"
        )))
    }
}
