//! The gradients of one window of batches.

use std::collections::HashMap;

use candle_core::backprop::GradStore;
use candle_core::{DType, Device, TensorId};

use crate::error::Result;
use crate::parameter::Parameter;

/// The gradients that parameters have, as float32 in row-major order on the CPU.
///
/// A parameter that no batch of the window reached has none, which is not a gradient of zeros: an
/// optimizer leaves it alone, its weight decay and step count included.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    values: HashMap<TensorId, Vec<f32>>,
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
        self.values.clear();
    }

    /// Adds what a backward pass gave for the parameters that are trained, element by element in
    /// float32.
    ///
    /// # Errors
    /// When candle cannot bring a gradient to the CPU.
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
            let gradient = gradient.flatten_all()?.to_vec1::<f32>()?;
            self.add_one(parameter, gradient);
        }
        Ok(())
    }

    fn add_one(&mut self, parameter: &Parameter, more: Vec<f32>) {
        match self.values.get_mut(&parameter.id()) {
            None => {
                self.values.insert(parameter.id(), more);
            }
            Some(sum) => {
                for (sum, more) in sum.iter_mut().zip(more) {
                    *sum += more;
                }
            }
        }
    }

    /// Adds other gradients, element by element in float32.
    pub(crate) fn merge(&mut self, parameters: &[Parameter], mut other: Self) {
        for parameter in parameters {
            if let Some(more) = other.values.remove(&parameter.id()) {
                self.add_one(parameter, more);
            }
        }
    }

    /// Whether every element is finite.
    pub(crate) fn are_finite(&self) -> bool {
        let mut all = self.values.values().flatten();
        all.all(|value| value.is_finite())
    }

    /// Multiplies every gradient, each product rounded once.
    pub fn scale(&mut self, factor: f32) {
        for value in self.values.values_mut().flatten() {
            *value *= factor;
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
    use candle_core::{Device, Var};

    use super::Gradients;
    use crate::parameter::Parameter;

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
