//! The gradients of one window of batches.

use std::collections::HashMap;

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, DType, Device, Storage, TensorId};

use crate::error::{Error, Result};
use crate::parameter::Parameter;

/// The gradients that parameters have, as float32 in row-major order on the CPU.
///
/// A parameter that no batch of the window reached has none, which is not a gradient of zeros: an
/// optimizer leaves it alone, its weight decay and step count included.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    values: HashMap<TensorId, Vec<f32>>,
    /// Memory of gradients that were removed. The next ones fill it: new memory for each update would
    /// cost as much as the arithmetic, as the system clears its pages.
    spare: HashMap<TensorId, Vec<f32>>,
}

impl Gradients {
    /// No gradients.
    pub fn new() -> Self {
        Self::default()
    }

    /// The gradient of a parameter.
    pub fn get(&self, parameter: &Parameter) -> Option<&[f32]> {
        self.values.get(&parameter.id()).map(Vec::as_slice)
    }

    /// The gradient of a parameter, to change it.
    pub fn get_mut(&mut self, parameter: &Parameter) -> Option<&mut [f32]> {
        self.values.get_mut(&parameter.id()).map(Vec::as_mut_slice)
    }

    /// Sets the gradient of a parameter.
    pub fn set(&mut self, parameter: &Parameter, gradient: Vec<f32>) {
        self.values.insert(parameter.id(), gradient);
    }

    /// Removes all gradients.
    pub fn clear(&mut self) {
        self.spare.extend(self.values.drain());
    }

    /// Adds what a backward pass gave for the parameters that are trained, element by element in
    /// float32.
    ///
    /// # Errors
    /// When candle cannot bring a gradient to the CPU, or gives it a layout that its storage does not
    /// have.
    pub fn add<'a>(
        &mut self,
        parameters: impl IntoIterator<Item = &'a Parameter>,
        store: &GradStore,
    ) -> Result<()> {
        for parameter in parameters.into_iter().filter(|one| one.requires_grad) {
            let Some(gradient) = store.get(parameter.var.as_tensor()) else {
                continue;
            };
            let gradient = gradient.to_device(&Device::Cpu)?.to_dtype(DType::F32)?;
            let gradient = gradient.contiguous()?;
            let (storage, layout) = gradient.storage_and_layout();
            let Storage::Cpu(CpuStorage::F32(all)) = &*storage else {
                return Err(Error::unsupported("a gradient that is not on the CPU"));
            };
            let range = layout.contiguous_offsets();
            let more = range.and_then(|(start, end)| all.get(start..end));
            let more = more.ok_or_else(|| {
                Error::unsupported("a gradient whose layout is not within its storage")
            })?;
            self.add_one(parameter, more);
        }
        Ok(())
    }

    fn add_one(&mut self, parameter: &Parameter, more: &[f32]) {
        let id = parameter.id();
        if let Some(sum) = self.values.get_mut(&id) {
            for (sum, more) in sum.iter_mut().zip(more) {
                *sum += more;
            }
            return;
        }
        let mut values = self.spare.remove(&id).unwrap_or_default();
        values.clear();
        values.extend_from_slice(more);
        self.values.insert(id, values);
    }

    /// Adds other gradients, element by element in float32.
    pub(crate) fn merge(&mut self, parameters: &[Parameter], other: &Self) {
        for parameter in parameters {
            if let Some(more) = other.get(parameter) {
                self.add_one(parameter, more);
            }
        }
    }

    /// Whether every element is finite.
    pub(crate) fn are_finite(&self) -> bool {
        let is_finite = |values: &Vec<f32>| values.iter().all(|value| value.is_finite());
        self.values.values().all(is_finite)
    }

    /// Multiplies every gradient, each product rounded once.
    pub fn scale(&mut self, factor: f32) {
        // Array by array, so that the compiler sees loops over slices.
        for values in self.values.values_mut() {
            values.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// Divides every gradient by the weight of the window that it is the sum of, as NNx does it: a
    /// product with the reciprocal, which is computed in float64 and rounded to float32.
    pub fn divide(&mut self, weight: f64) {
        self.scale((1.0 / weight) as f32);
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor, Var};

    use super::Gradients;
    use crate::parameter::Parameter;

    /// The memory of a window is that of the next one, and its values are not.
    #[test]
    fn a_cleared_gradient_is_none_until_it_is_added_again() {
        let var = Var::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::Cpu).unwrap();
        let parameter = Parameter::new("w", var.clone());
        // The gradient of a transposed view has its elements in another order.
        let factors = Tensor::new(&[[1f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &Device::Cpu).unwrap();
        let loss = (var.t().unwrap() * factors).unwrap().sum_all().unwrap();
        let store = loss.backward().unwrap();
        let mut gradients = Gradients::new();
        for _ in 0..2 {
            gradients.add([&parameter], &store).unwrap();
            let expected = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0];
            assert_eq!(gradients.get(&parameter), Some(&expected[..]));
            gradients.add([&parameter], &store).unwrap();
            let expected = expected.map(|x| 2.0 * x);
            assert_eq!(gradients.get(&parameter), Some(&expected[..]));
            gradients.clear();
            assert_eq!(gradients.get(&parameter), None);
        }
    }

    /// `5 / 3` as float32 has another last bit.
    #[test]
    fn a_window_is_divided_by_a_product_with_the_reciprocal() {
        let parameter = Parameter::new("w", Var::new(&[0f32], &Device::Cpu).unwrap());
        let mut gradients = Gradients::new();
        gradients.set(&parameter, vec![5.0]);
        gradients.divide(3.0);
        let product = 5.0 * (1.0 / 3.0_f64) as f32;
        assert_ne!(product, 5.0 / 3.0);
        assert_eq!(gradients.get(&parameter), Some(&[product][..]));
    }
}
