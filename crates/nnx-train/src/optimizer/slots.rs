//! The state of an optimizer for a parameter, from and to the form of PyTorch's state dict.

use candle_core::DType;
use nnx_checkpoint::{Dtype, Tensor};
use nnx_run::{Data, OptimizerParameter};

use crate::error::{Error, Result};

/// The names under which an algorithm keeps something for a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotNames {
    /// Whether it counts the updates, as `step`.
    pub(super) counts: bool,
    /// The arrays of the parameter's shape, in the order in which PyTorch writes them.
    pub(super) buffers: &'static [&'static str],
}

/// The state for a parameter: nothing before its first update.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// The number of updates, which PyTorch counts in float32.
    pub(super) step: f32,
    /// The arrays, in the order of their [names](SlotNames::buffers).
    pub(super) buffers: [Option<Vec<f32>>; 3],
}

impl Slots {
    /// From the saved state of a parameter with that many elements.
    pub(super) fn read(
        names: SlotNames,
        saved: &OptimizerParameter,
        elements: usize,
    ) -> Result<Self> {
        let mut slots = Self::default();
        if saved.slot_names().next().is_none() {
            return Ok(slots);
        }
        if names.counts {
            let step = saved.step();
            slots.step = step.ok_or_else(|| unexpected(saved, "step", "a number"))? as f32;
        }
        for (buffer, name) in slots.buffers.iter_mut().zip(names.buffers) {
            *buffer = match saved.slot(name) {
                None | Some(Data::None) => None,
                Some(Data::Tensor(tensor)) if tensor.elements() == elements => {
                    let tensor = candle_core::Tensor::try_from(tensor)?.flatten_all()?;
                    Some(tensor.to_dtype(DType::F32)?.to_vec1()?)
                }
                Some(_) => {
                    let expected = format!("a tensor of {elements} elements");
                    return Err(unexpected(saved, name, &expected));
                }
            };
        }
        Ok(slots)
    }

    /// To the state of a parameter of that shape.
    pub(super) fn write(
        &self,
        names: SlotNames,
        saved: &mut OptimizerParameter,
        shape: &[usize],
    ) -> Result<()> {
        if names.counts && self.step > 0.0 {
            saved.set_slot("step", tensor(&[self.step], &[])?);
        }
        for (buffer, name) in self.buffers.iter().zip(names.buffers) {
            if let Some(buffer) = buffer {
                saved.set_slot(name, tensor(buffer, shape)?);
            }
        }
        Ok(())
    }
}

/// An array that is zeros before its first use.
pub(super) fn buffer(slot: &mut Option<Vec<f32>>, elements: usize) -> &mut [f32] {
    slot.get_or_insert_with(|| vec![0.0; elements])
}

/// The same, and nothing if the settings do without it.
pub(super) fn buffer_if(is_used: bool, slot: &mut Option<Vec<f32>>, elements: usize) -> &mut [f32] {
    if is_used {
        buffer(slot, elements)
    } else {
        &mut []
    }
}

fn tensor(values: &[f32], shape: &[usize]) -> Result<Data> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Ok(Data::Tensor(Tensor::from_bytes(
        Dtype::Float32,
        shape,
        bytes,
    )?))
}

#[cold]
fn unexpected(saved: &OptimizerParameter, name: &str, expected: &str) -> Error {
    let parameter = saved.name().unwrap_or("a parameter without a name");
    Error::configuration(format!(
        "expected {expected} as `{name}` in the optimizer's state of {parameter}, found another value \
         or none"
    ))
}
