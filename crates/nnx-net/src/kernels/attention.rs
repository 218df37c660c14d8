//! Attention of queries over keys and values.

mod backward;
mod forward;
mod head;
mod product;
mod sizes;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, CustomOp3, Layout, Result, Shape, Tensor};

use self::head::Head;
use self::product::Rows;
use self::sizes::Sizes;
use super::operand::{for_floats, operand, output};
use super::storage::contiguous;

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
pub(crate) fn attend_to_self(all: &Tensor, visible: Visible) -> Result<Tensor> {
    all.contiguous()?.apply_op1(SelfAttention { visible })
}

/// Attention of queries `[N, heads, T, size]` to keys and values `[N, heads, keys, size]`, whose
/// rows are contiguous, as for [`attend_to_self`]. It has no gradient.
///
/// # Errors
/// When a shape is another, or candle fails.
pub(crate) fn attend(
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
    queries.apply_op3_no_bwd(keys, values, &Attention { visible })
}

struct SelfAttention {
    visible: Visible,
}

struct Attention {
    visible: Visible,
}

impl CustomOp1 for SelfAttention {
    fn name(&self) -> &'static str {
        "self-attention"
    }

    fn cpu_fwd(&self, all: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let sizes = Sizes::from_dims(layout.dims())?;
        for_floats!(all.dtype(), T => {
            let all = contiguous::<T>(all, layout)?;
            let ys = forward::outputs(sizes, sizes.tokens, |head| sizes.head(all, self.visible, head));
            Ok(output(ys, (sizes.count, sizes.tokens, sizes.heads * sizes.size)))
        })
    }

    fn bwd(&self, all: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let sizes = Sizes::from_dims(all.dims())?;
        let gradient = gradient.contiguous()?;
        for_floats!(all.dtype(), T => {
            let (x, g) = (operand(all), operand(&gradient));
            let (xs, gradients) = (x.elements::<T>()?, g.elements::<T>()?);
            let of_all = backward::gradients(sizes, xs, self.visible, gradients);
            Ok(Some(Tensor::from_vec(of_all, all.shape(), all.device())?))
        })
    }
}

impl CustomOp3 for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        queries: &CpuStorage,
        queries_layout: &Layout,
        keys: &CpuStorage,
        keys_layout: &Layout,
        values: &CpuStorage,
        values_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (count, heads, tokens, size) = queries_layout.shape().dims4()?;
        let sizes = Sizes {
            count,
            tokens,
            heads,
            size,
        };
        let keys_count = keys_layout.shape().dims4()?.2;
        for_floats!(queries.dtype(), T => {
            let layouts = [queries_layout, keys_layout, values_layout];
            if layouts.iter().any(|layout| layout.stride()[3] != 1) {
                candle_core::bail!("expected contiguous rows");
            }
            let elements = [queries, keys, values].map(CpuStorage::as_slice::<T>);
            let [queries, keys, values] = elements;
            let elements = [queries?, keys?, values?];
            let ys = forward::outputs(sizes, keys_count, |head| {
                let rows = |at: usize| {
                    let (layout, stride) = (layouts[at], layouts[at].stride());
                    let (sample, head) = (head / heads, head % heads);
                    Rows {
                        elements: elements[at],
                        start: layout.start_offset() + sample * stride[0] + head * stride[1],
                        stride: stride[2],
                        size,
                    }
                };
                Head {
                    queries: rows(0),
                    keys: rows(1),
                    values: rows(2),
                    tokens,
                    count: keys_count,
                    visible: self.visible,
                }
            });
            Ok(output(ys, (count, tokens, heads * size)))
        })
    }
}
