//! `y = x · Wᵀ + b`, and the activation after it.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, CustomOp3, DType, Layout, Result, Shape, Tensor};

use super::cpu::Cpu;
use super::element::Element;
use super::matmul::{Bias, Finish, Matrix, product};
use super::storage;

/// Multiplies rows `[N, inputs]` by the transposed weight `[outputs, inputs]`, adds the bias
/// `[outputs]`, and sets what is at or below zero to zero if `relu` is set; NaN stays.
///
/// # Errors
/// When the shapes do not fit each other, or candle fails.
pub(crate) fn linear(
    rows: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    relu: bool,
) -> Result<Tensor> {
    linear_on(Cpu::new(), rows, weight, bias, relu)
}

fn linear_on(
    cpu: Cpu,
    rows: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    relu: bool,
) -> Result<Tensor> {
    let all: Vec<&Tensor> = [rows, weight].into_iter().chain(bias).collect();
    if !storage::is_for(&all) {
        let ys = rows.matmul(&weight.t()?)?;
        let ys = match bias {
            Some(bias) => ys.broadcast_add(bias)?,
            None => ys,
        };
        return if relu {
            ys.le(0.0)?.where_cond(&ys.zeros_like()?, &ys)
        } else {
            Ok(ys)
        };
    }
    let operation = Linear { cpu, relu };
    match bias {
        Some(bias) => rows.apply_op3(weight, &bias.contiguous()?, operation),
        None => rows.apply_op2(weight, operation),
    }
}

#[derive(Clone, Copy, Debug)]
struct Linear {
    cpu: Cpu,
    relu: bool,
}

/// A storage of candle's and its layout.
type Stored<'a> = (&'a CpuStorage, &'a Layout);

impl Linear {
    fn forward(
        self,
        rows: Stored<'_>,
        weight: Stored<'_>,
        bias: Option<Stored<'_>>,
    ) -> Result<(CpuStorage, Shape)> {
        match rows.0.dtype() {
            DType::F64 => self.typed::<f64>(rows, weight, bias),
            _ => self.typed::<f32>(rows, weight, bias),
        }
    }

    fn typed<T: Element>(
        self,
        rows: Stored<'_>,
        weight: Stored<'_>,
        bias: Option<Stored<'_>>,
    ) -> Result<(CpuStorage, Shape)> {
        let rows = storage::matrix::<T>(rows.0, rows.1)?;
        let weight = storage::matrix::<T>(weight.0, weight.1)?;
        let bias = match bias {
            None => None,
            Some((stored, layout)) => Some(storage::contiguous::<T>(stored, layout)?),
        };
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
            relu: self.relu,
        };
        let mut out = vec![T::default(); rows.rows * outputs];
        product(self.cpu, rows, weight.transposed(), finish, &mut out);
        Ok((T::to_cpu_storage_owned(out), (rows.rows, outputs).into()))
    }

    fn backward<T: Element>(
        self,
        [rows, weight]: [&Tensor; 2],
        bias: Option<&Tensor>,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        let (count, outputs) = gradient.dims2()?;
        let gradient = before_activation::<T>(self.relu, result, gradient)?;
        let matrix = Matrix::new(&gradient, count, outputs);
        // Gradients of what is not trained, such as the inputs of a net, are not computed.
        let of = |tensor: &Tensor, left: Matrix<'_, T>, other: &Tensor| {
            if !tensor.track_op() {
                return Ok(None);
            }
            let mut out = vec![T::default(); tensor.elem_count()];
            storage::with(other, |stored, layout| {
                let right = storage::matrix(stored, layout)?;
                product(self.cpu, left, right, Finish::NOTHING, &mut out);
                Ok(())
            })?;
            Tensor::from_vec(out, tensor.shape(), tensor.device()).map(Some)
        };
        let bias = match bias {
            Some(bias) if bias.track_op() => {
                let mut sums = vec![T::default(); outputs];
                for row in gradient.chunks_exact(outputs.max(1)) {
                    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
                }
                Some(Tensor::from_vec(sums, outputs, bias.device())?)
            }
            _ => None,
        };
        Ok([
            of(rows, matrix, weight)?,
            of(weight, matrix.transposed(), rows)?,
            bias,
        ])
    }

    fn dispatch(
        self,
        inputs: [&Tensor; 2],
        bias: Option<&Tensor>,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        match gradient.dtype() {
            DType::F64 => self.backward::<f64>(inputs, bias, result, gradient),
            _ => self.backward::<f32>(inputs, bias, result, gradient),
        }
    }
}

/// The gradient of the sums before the activation: zero where the result of `relu` is not above zero and
/// not NaN.
///
/// # Errors
/// When candle fails.
pub(super) fn before_activation<T: Element>(
    relu: bool,
    result: &Tensor,
    gradient: &Tensor,
) -> Result<Vec<T>> {
    let gradient = gradient.contiguous()?;
    storage::with(&gradient, |stored, layout| {
        let gradient = storage::contiguous::<T>(stored, layout)?;
        if !relu {
            return Ok(gradient.to_vec());
        }
        storage::with(result, |stored, layout| {
            let zero = T::default();
            let result = storage::contiguous::<T>(stored, layout)?.iter();
            let pairs = result.zip(gradient);
            Ok(pairs
                .map(|(y, gradient)| if *y <= zero { zero } else { *gradient })
                .collect())
        })
    })
}

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.forward((s1, l1), (s2, l2), None)
    }

    fn bwd(
        &self,
        rows: &Tensor,
        weight: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [rows, weight, _] = self.dispatch([rows, weight], None, result, gradient)?;
        Ok((rows, weight))
    }
}

impl CustomOp3 for Linear {
    fn name(&self) -> &'static str {
        "linear"
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
        self.forward((s1, l1), (s2, l2), Some((s3, l3)))
    }

    fn bwd(
        &self,
        rows: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [rows, weight, bias] = self.dispatch([rows, weight], Some(bias), result, gradient)?;
        Ok((rows, weight, bias))
    }
}

#[cfg(test)]
mod tests;
