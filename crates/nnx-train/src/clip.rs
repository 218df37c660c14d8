//! Norms of gradients, and limiting them.

use crate::gradients::Gradients;
use crate::parameter::Parameter;

/// The Euclidean norm, with the additions in the order of PyTorch's `vector_norm`: equal to its
/// result to the bit.
///
/// ```
/// assert_eq!(nnx_train::vector_norm(&[3.0, 4.0]), 5.0);
/// ```
pub fn vector_norm(values: &[f32]) -> f32 {
    // Eight running sums, whose products are rounded before they are added.
    let mut sums = [0f32; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += value * value;
        }
    }
    let [first, others @ ..] = sums;
    let mut total = others.iter().fold(first, |total, sum| total + sum);
    let (fours, rest) = rest.as_chunks::<4>();
    for value in fours.as_flattened() {
        total += value * value;
    }
    for value in rest {
        total = value.mul_add(*value, total);
    }
    total.sqrt()
}

/// Scales the gradients of the parameters so that the norm of all of them together is at most
/// `max_norm`, and returns the norm before: PyTorch's `clip_grad_norm_`.
///
/// Parameters without a gradient are left out; the order of the others decides the last bits. Every
/// gradient is multiplied, also where the factor is 1. A norm that is not finite gives a factor that is
/// not a number, or 0.
pub fn clip_grad_norm(gradients: &mut Gradients, parameters: &[Parameter], max_norm: f64) -> f32 {
    let norms = parameters.iter().filter_map(|one| gradients.get(one));
    let norms: Vec<f32> = norms.map(vector_norm).collect();
    let total = vector_norm(&norms);
    let factor = 1.0 / (total + 1e-6) * max_norm as f32;
    // Not `min`, which ignores a NaN.
    let factor = if factor > 1.0 { 1.0 } else { factor };
    for parameter in parameters {
        for value in gradients.get_mut(parameter).unwrap_or_default() {
            *value *= factor;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::clip_grad_norm;
    use crate::gradients::Gradients;
    use crate::parameter::Parameter;

    fn clipped(gradient: &[f32]) -> (f32, Vec<f32>) {
        clipped_to(1.0, gradient)
    }

    fn clipped_to(max_norm: f64, gradient: &[f32]) -> (f32, Vec<f32>) {
        let parameter = Parameter::new("w", Var::new(gradient, &Device::Cpu).unwrap());
        let mut gradients = Gradients::new();
        gradients.set(&parameter, gradient.to_vec());
        let norm = clip_grad_norm(&mut gradients, std::slice::from_ref(&parameter), max_norm);
        (norm, gradients.get(&parameter).unwrap().to_vec())
    }

    /// The bits are those of PyTorch 2.15; a quotient has other last bits.
    #[test]
    fn the_factor_is_a_product_with_a_reciprocal() {
        let (norm, gradient) = clipped_to(0.3, &[2.1, -2.7]);
        assert_eq!(norm.to_bits(), 0x405a_e9e7);
        let bits: Vec<_> = gradient.iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits, [0x3e3c_9a3d, 0xbe72_7d2b]);
    }

    /// As in PyTorch, whose `clamp` keeps a NaN.
    #[test]
    fn a_gradient_that_is_not_finite_is_not_hidden() {
        let (norm, gradient) = clipped(&[f32::NAN, 1.0]);
        assert!(norm.is_nan() && gradient.iter().all(|value| value.is_nan()));
        let (norm, gradient) = clipped(&[f32::INFINITY, 1.0]);
        assert_eq!(norm, f32::INFINITY);
        assert!(gradient[0].is_nan());
        assert_eq!(gradient[1], 0.0);
    }

    #[test]
    fn a_small_gradient_stays_as_it_is() {
        assert_eq!(clipped(&[0.3, -0.4]), (0.5, vec![0.3, -0.4]));
        assert_eq!(clipped(&[]), (0.0, vec![]));
    }
}
