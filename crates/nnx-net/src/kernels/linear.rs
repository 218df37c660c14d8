//! `y = x · Wᵀ + b`, and the activation after it.

use std::borrow::Cow;

use candle_core::{Result, Shape, Tensor};

use super::cpu::Cpu;
use super::float::Float;
use super::matmul::{Bias, Finish, product};
use super::matrix::Matrix;
use super::operation::{Kernel, Operation, is_for};
use super::relu::{gradient_before, relu};
use super::view::View;

/// Multiplies rows `[N, inputs]` by the transposed weight `[outputs, inputs]`, adds the bias
/// `[outputs]`, and sets what is at or below zero to zero if `with_relu` is set; NaN stays.
///
/// # Errors
/// When the shapes do not fit each other, or candle fails.
pub(crate) fn linear(
    cpu: Cpu,
    rows: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    with_relu: bool,
) -> Result<Tensor> {
    let all: Vec<&Tensor> = [rows, weight].into_iter().chain(bias).collect();
    if !is_for(&all) {
        let ys = rows.matmul(&weight.t()?)?;
        let ys = match bias {
            Some(bias) => ys.broadcast_add(bias)?,
            None => ys,
        };
        return if with_relu { relu(cpu, &ys) } else { Ok(ys) };
    }
    let operation = Operation(Linear { cpu, with_relu });
    match bias {
        Some(bias) => rows.apply_op3(weight, &bias.contiguous()?, operation),
        None => rows.apply_op2(weight, operation),
    }
}

struct Linear {
    cpu: Cpu,
    with_relu: bool,
}

impl Linear {
    fn result<T: Float>(
        &self,
        [rows, weight]: [View<'_>; 2],
        bias: Option<&[T]>,
    ) -> Result<(Vec<T>, Shape)> {
        let (rows, weight) = (rows.matrix::<T>()?, weight.matrix::<T>()?);
        let outputs = weight.rows;
        if rows.columns != weight.columns || bias.is_some_and(|bias| bias.len() != outputs) {
            candle_core::bail!(
                "expected rows of `{}` numbers and a bias of `{outputs}`, got rows of `{}` and a bias of \
                 `{:?}`",
                weight.columns,
                rows.columns,
                bias.map(<[T]>::len)
            );
        }
        let finish = Finish {
            bias: bias.map_or(Bias::None, Bias::Columns),
            relu: self.with_relu,
        };
        let mut out = vec![T::ZERO; rows.rows * outputs];
        product(self.cpu, rows, weight.transposed(), finish, &mut out);
        Ok((out, (rows.rows, outputs).into()))
    }

    /// The gradients of the rows, the weight and the bias.
    fn gradients<T: Float>(
        &self,
        [rows, weight]: [View<'_>; 2],
        wanted: [bool; 3],
        result: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 3]> {
        let (rows, weight) = (rows.matrix::<T>()?, weight.matrix::<T>()?);
        let gradient = if self.with_relu {
            Cow::Owned(gradient_before(result, gradient))
        } else {
            Cow::Borrowed(gradient)
        };
        let matrix = Matrix::new(&gradient, rows.rows, weight.rows);
        let of = |left: Matrix<'_, T>, right: Matrix<'_, T>| {
            let mut out = vec![T::ZERO; left.rows * right.columns];
            product(self.cpu, left, right, Finish::NOTHING, &mut out);
            out
        };
        let of_bias = || {
            let mut sums = vec![T::ZERO; weight.rows];
            for row in gradient.chunks_exact(weight.rows.max(1)) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
            }
            sums
        };
        // Gradients of what is not trained, such as the inputs of a net, are not computed.
        Ok([
            wanted[0].then(|| of(matrix, weight)),
            wanted[1].then(|| of(matrix.transposed(), rows)),
            wanted[2].then(of_bias),
        ])
    }
}

impl Kernel<2> for Linear {
    const NAME: &'static str = "linear";

    fn forward<T: Float>(&self, inputs: [View<'_>; 2]) -> Result<(Vec<T>, Shape)> {
        self.result(inputs, None)
    }

    fn backward<T: Float>(
        &self,
        inputs: [View<'_>; 2],
        [rows, weight]: [bool; 2],
        result: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 2]> {
        let wanted = [rows, weight, false];
        let [rows, weight, _] = self.gradients(inputs, wanted, result, gradient)?;
        Ok([rows, weight])
    }
}

impl Kernel<3> for Linear {
    const NAME: &'static str = "linear";

    fn forward<T: Float>(&self, [rows, weight, bias]: [View<'_>; 3]) -> Result<(Vec<T>, Shape)> {
        self.result([rows, weight], Some(bias.elements()?))
    }

    fn backward<T: Float>(
        &self,
        [rows, weight, _]: [View<'_>; 3],
        wanted: [bool; 3],
        result: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 3]> {
        self.gradients([rows, weight], wanted, result, gradient)
    }
}

#[cfg(test)]
mod tests;
