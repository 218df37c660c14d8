//! Attention of queries over keys and values.

mod backward;
mod forward;
mod head;
mod product;
mod sizes;

use candle_core::{Result, Shape, Tensor};

use self::head::Head;
use self::sizes::Sizes;
use super::cpu::Cpu;
use super::float::Float;
use super::matrix::Matrix;
use super::operation::{Kernel, Operation};
use super::view::View;

/// Which keys a query attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// All.
    All,
    /// Those that are not later than the query, where the last key has the position of the last query.
    Earlier,
}

/// Attention of tokens to themselves: queries, keys and values `[N, T, 3, heads, size]` give
/// `[N, T, heads · size]`, for each query the mean of the values, weighted by the softmax of its
/// products with the keys by the root of the size.
///
/// # Errors
/// When the shape is another, or candle fails.
pub(crate) fn attend_to_self(cpu: Cpu, all: &Tensor, visible: Visible) -> Result<Tensor> {
    all.contiguous()?
        .apply_op1(Operation(SelfAttention { cpu, visible }))
}

/// Attention of queries `[N, heads, T, size]` to keys and values `[N, heads, keys, size]`, whose
/// rows are contiguous, as for [`attend_to_self`]. It has no gradient.
///
/// # Errors
/// When a shape is another, or candle fails.
pub(crate) fn attend(
    cpu: Cpu,
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    visible: Visible,
) -> Result<Tensor> {
    let (count, heads, tokens, size) = queries.dims4()?;
    let expected = [count, heads, keys.dim(2)?, size];
    if keys.dims() != expected || values.dims() != expected || keys.dim(2)? < tokens {
        candle_core::bail!("expected keys and values that fit the queries");
    }
    queries.apply_op3_no_bwd(keys, values, &Operation(Attention { cpu, visible }))
}

struct SelfAttention {
    cpu: Cpu,
    visible: Visible,
}

struct Attention {
    cpu: Cpu,
    visible: Visible,
}

impl Kernel<1> for SelfAttention {
    const NAME: &'static str = "self-attention";

    fn forward<T: Float>(&self, [all]: [View<'_>; 1]) -> Result<(Vec<T>, Shape)> {
        let sizes = Sizes::from_dims(all.dims())?;
        let all = all.elements::<T>()?;
        let ys = forward::outputs(self.cpu, sizes, sizes.tokens, |head| {
            sizes.head(all, self.visible, head)
        });
        let shape = (sizes.count, sizes.tokens, sizes.heads * sizes.size);
        Ok((ys, shape.into()))
    }

    fn backward<T: Float>(
        &self,
        [all]: [View<'_>; 1],
        _: [bool; 1],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 1]> {
        let sizes = Sizes::from_dims(all.dims())?;
        let all = all.elements::<T>()?;
        let of_all = backward::gradients(self.cpu, sizes, all, self.visible, gradient);
        Ok([Some(of_all)])
    }
}

impl Kernel<3> for Attention {
    const NAME: &'static str = "attention";

    fn forward<T: Float>(&self, operands: [View<'_>; 3]) -> Result<(Vec<T>, Shape)> {
        let [queries, keys, values] = operands;
        let (count, heads, tokens, size) = queries.layout.shape().dims4()?;
        let sizes = Sizes {
            count,
            tokens,
            heads,
            size,
        };
        let keys_count = keys.layout.shape().dims4()?.2;
        if operands.iter().any(|view| view.layout.stride()[3] != 1) {
            candle_core::bail!("expected contiguous rows");
        }
        let elements = [
            queries.storage.as_slice::<T>()?,
            keys.storage.as_slice()?,
            values.storage.as_slice()?,
        ];
        let ys = forward::outputs(self.cpu, sizes, keys_count, |head| {
            let (sample, head) = (head / heads, head % heads);
            let rows = |at: usize, rows| {
                let layout = operands[at].layout;
                let stride = layout.stride();
                let start = layout.start_offset() + sample * stride[0] + head * stride[1];
                Matrix {
                    data: elements[at].get(start..).unwrap_or_default(),
                    rows,
                    columns: size,
                    row_stride: stride[2],
                    column_stride: 1,
                }
            };
            Head {
                queries: rows(0, tokens),
                keys: rows(1, keys_count),
                values: rows(2, keys_count),
                visible: self.visible,
            }
        });
        Ok((ys, (count, tokens, heads * size).into()))
    }
}
