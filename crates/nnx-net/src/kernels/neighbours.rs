//! Weighted sums of the rows of a node's neighbours.

use std::sync::Arc;

use candle_core::{Result, Shape, Tensor, WithDType};
use pulp::{Simd, WithSimd};

use super::adjacency::{Adjacency, SortedEdges};
use super::cpu::Cpu;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::view::View;

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
pub(crate) fn sum(cpu: Cpu, rows: &Tensor, graph: &Adjacency, weights: Weights) -> Result<Tensor> {
    if !is_for(&[rows]) {
        return composed(rows, graph, &weights);
    }
    let operation = Operation(NeighbourSum {
        cpu,
        graph: graph.clone(),
        weights,
    });
    rows.contiguous()?.apply_op1(operation)
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
    cpu: Cpu,
    graph: Adjacency,
    weights: Weights,
}

/// The nodes of one task. Nodes differ in their number of edges, so there are more tasks than threads.
const NODES: usize = 256;

impl Kernel<1> for NeighbourSum {
    const NAME: &'static str = "neighbour-sum";

    fn forward<T: Float>(&self, [rows]: [View<'_>; 1]) -> Result<(Vec<T>, Shape)> {
        let edges = self.graph.incoming();
        let width = width(rows.dims(), edges)?;
        let xs = rows.elements::<T>()?;
        let sums = match &self.weights {
            Weights::Edges(weights) => self.sums(xs, width, edges, |edge| {
                T::from_f64(f64::from(weights[edge]))
            }),
            Weights::Mean => {
                let mut sums = self.sums(xs, width, edges, |_| T::ONE);
                divide_by_degrees(&mut sums, width, edges);
                sums
            }
        };
        Ok((sums, rows.layout.shape().clone()))
    }

    fn backward<T: Float>(
        &self,
        [rows]: [View<'_>; 1],
        _: [bool; 1],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 1]> {
        let edges = self.graph.outgoing();
        let width = width(rows.dims(), edges)?;
        let sums = match &self.weights {
            Weights::Edges(weights) => self.sums(gradient, width, edges, |edge| {
                T::from_f64(f64::from(weights[edges.numbers()[edge] as usize]))
            }),
            Weights::Mean => {
                let mut parts = gradient.to_vec();
                divide_by_degrees(&mut parts, width, self.graph.incoming());
                self.sums(&parts, width, edges, |_| T::ONE)
            }
        };
        Ok([Some(sums)])
    }
}

impl NeighbourSum {
    /// For each node the sum of the rows at the other end of its edges, each times its weight.
    fn sums<T: Float>(
        &self,
        rows: &[T],
        width: usize,
        edges: &SortedEdges,
        weight: impl Fn(usize) -> T + Copy + Send + Sync,
    ) -> Vec<T> {
        let mut sums = vec![T::ZERO; rows.len()];
        let tasks = sums.chunks_mut((NODES * width).max(1));
        self.cpu.each(tasks.enumerate(), |(task, sums)| {
            self.cpu.dispatch(Sums {
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
}

/// The size of a row.
fn width(dims: &[usize], edges: &SortedEdges) -> Result<usize> {
    match dims {
        [nodes, rest @ ..] if *nodes == edges.nodes() => Ok(rest.iter().product()),
        _ => candle_core::bail!("expected a row for each of `{}` nodes", edges.nodes()),
    }
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
