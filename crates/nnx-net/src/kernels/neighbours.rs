//! Weighted sums of the rows of a node's neighbours.

use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, WithDType};
use pulp::{Simd, WithSimd};

use super::adjacency::{Adjacency, SortedEdges};
use super::dispatch::dispatch;
use super::float::Float;
use super::operand::{for_floats, operand, output};
use super::storage::{contiguous, is_for};
use super::threads;

/// How the rows of a node's neighbours are added up.
#[derive(Clone, Debug)]
pub(crate) enum Weights {
    /// The row of the source of each edge times a number for the edge, in the order of
    /// [`Adjacency::incoming`].
    Edges(Arc<[f32]>),
    /// The mean of the rows; zero where there are no neighbours.
    Mean,
}

/// For each node the weighted sum of the rows `[N, …]` of the sources of the edges that end at it, in
/// the order of the edges.
///
/// # Errors
/// When there is not a row for each node, or candle fails.
pub(crate) fn sum(rows: &Tensor, graph: &Adjacency, weights: Weights) -> Result<Tensor> {
    if !is_for(&[rows]) {
        return composed(rows, graph, &weights);
    }
    let op = NeighbourSum {
        graph: graph.clone(),
        weights,
    };
    rows.contiguous()?.apply_op1(op)
}

/// The same from candle's operations.
fn composed(rows: &Tensor, graph: &Adjacency, weights: &Weights) -> Result<Tensor> {
    let edges = graph.incoming();
    if edges.len() == 0 {
        return rows.zeros_like();
    }
    // Numbers by which the rows of edges or of nodes are multiplied or divided.
    let column = |numbers: &[f32]| {
        let mut shape = vec![1; rows.rank()];
        shape[0] = numbers.len();
        Tensor::from_slice(numbers, shape, rows.device())?.to_dtype(rows.dtype())
    };
    let messages = graph.at_sources(rows)?;
    match weights {
        Weights::Edges(weights) => {
            graph.sum_at_targets(&messages.broadcast_mul(&column(weights)?)?)
        }
        Weights::Mean => {
            #[expect(clippy::cast_precision_loss, reason = "PyG counts in float32 too")]
            let degrees = (0..edges.nodes()).map(|node| edges.degree(node).max(1) as f32);
            let degrees: Vec<f32> = degrees.collect();
            graph
                .sum_at_targets(&messages)?
                .broadcast_div(&column(&degrees)?)
        }
    }
}

struct NeighbourSum {
    graph: Adjacency,
    weights: Weights,
}

/// The nodes of one task. Nodes differ in their number of edges, so there are more tasks than threads.
const NODES: usize = 256;

impl CustomOp1 for NeighbourSum {
    fn name(&self) -> &'static str {
        "neighbour-sum"
    }

    fn cpu_fwd(&self, rows: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let edges = self.graph.incoming();
        let width = width(layout.dims(), edges)?;
        for_floats!(rows.dtype(), T => {
            let rows = contiguous::<T>(rows, layout)?;
            let sums = match &self.weights {
                Weights::Edges(weights) => {
                    sums(rows, width, edges, |edge| T::from_f64(f64::from(weights[edge])))
                }
                Weights::Mean => {
                    let mut sums = sums(rows, width, edges, |_| T::ONE);
                    divide_by_degrees(&mut sums, width, edges);
                    sums
                }
            };
            Ok(output(sums, layout.shape()))
        })
    }

    fn bwd(&self, rows: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let gradient = gradient.contiguous()?;
        let edges = self.graph.outgoing();
        let width = width(gradient.dims(), edges)?;
        for_floats!(gradient.dtype(), T => {
            let g = operand(&gradient);
            let gradients = g.elements::<T>()?;
            let sums = match &self.weights {
                Weights::Edges(weights) => sums(gradients, width, edges, |edge| {
                    T::from_f64(f64::from(weights[edges.numbers()[edge] as usize]))
                }),
                Weights::Mean => {
                    let mut parts = gradients.to_vec();
                    divide_by_degrees(&mut parts, width, self.graph.incoming());
                    sums(&parts, width, edges, |_| T::ONE)
                }
            };
            Ok(Some(Tensor::from_vec(sums, rows.shape(), rows.device())?))
        })
    }
}

/// The size of a row.
fn width(dims: &[usize], edges: &SortedEdges) -> Result<usize> {
    match dims {
        [nodes, rest @ ..] if *nodes == edges.nodes() => Ok(rest.iter().product()),
        _ => candle_core::bail!("expected a row for each of `{}` nodes", edges.nodes()),
    }
}

/// For each node the sum of the rows at the other end of its edges, each times its weight.
fn sums<T: Float>(
    rows: &[T],
    width: usize,
    edges: &SortedEdges,
    weight: impl Fn(usize) -> T + Copy + Send + Sync,
) -> Vec<T> {
    let mut sums = vec![T::ZERO; rows.len()];
    let tasks = sums.chunks_mut((NODES * width).max(1));
    threads::each(tasks.enumerate(), |(task, sums)| {
        dispatch(Sums {
            rows,
            width,
            edges,
            weight,
            first: task * NODES,
            sums,
        });
    });
    sums
}

/// Adds up the rows for the nodes from `first` on.
struct Sums<'a, T, W> {
    rows: &'a [T],
    width: usize,
    edges: &'a SortedEdges,
    weight: W,
    first: usize,
    sums: &'a mut [T],
}

impl<T: Float, W: Fn(usize) -> T> WithSimd for Sums<'_, T, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (node, sums) in (self.first..).zip(self.sums.chunks_exact_mut(self.width.max(1))) {
            for edge in self.edges.edges(node) {
                let weight = (self.weight)(edge);
                let start = self.edges.neighbours()[edge] as usize * self.width;
                let row = &self.rows[start..start + self.width];
                for (sum, x) in sums.iter_mut().zip(row) {
                    *sum += weight * *x;
                }
            }
        }
    }
}

/// Divides the row of each node by the number of its edges.
fn divide_by_degrees<T: WithDType>(rows: &mut [T], width: usize, edges: &SortedEdges) {
    for (node, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "PyG counts in float32 too")]
        let degree = T::from_f64(edges.degree(node).max(1) as f64);
        for x in row {
            *x /= degree;
        }
    }
}
