//! The parts that the nets on graphs share: the two inputs and the layers.

use candle_core::{DType, Tensor};
use nnx_params::{NNParams, Nets};

use super::hidden::Hidden;
use crate::error::{Error, Result};
use crate::inputs::{wrong_count, wrong_dtype, wrong_shape};
use crate::kernels::adjacency::Adjacency;
use crate::mode::Mode;

/// A graph: the features of its nodes, and its edges.
#[derive(Debug)]
pub(super) struct Graph {
    /// Float32, one row per node.
    pub(super) nodes: Tensor,
    /// The edges.
    pub(super) edges: Edges,
}

/// Directed edges between the nodes of a graph.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    nodes: usize,
    sources: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// Reads a net's inputs: nodes `[N, input_dim]` and edges `[2, M]`, whose first row has the sources.
    ///
    /// # Errors
    /// When they have another dtype or shape, or an edge has an end that is not a node.
    pub(super) fn from_inputs(net: Nets, input_dim: usize, inputs: &[Tensor]) -> Result<Self> {
        let [nodes, edges] = inputs else {
            let expected = "two inputs, nodes and edges".to_owned();
            return Err(wrong_count(net, expected, inputs));
        };
        let expected = || format!("at least one float32 row of `{input_dim}` numbers as nodes");
        if nodes.dtype() != DType::F32 {
            return Err(wrong_dtype(net, expected(), nodes));
        }
        let count = match nodes.dims() {
            &[count, width] if count > 0 && width == input_dim => count,
            _ => return Err(wrong_shape(net, expected(), nodes)),
        };
        let expected = || "edges of shape `[2, M]` and dtype `int64`".to_owned();
        if edges.dtype() != DType::I64 {
            return Err(wrong_dtype(net, expected(), edges));
        }
        let [2, _] = edges.dims() else {
            return Err(wrong_shape(net, expected(), edges));
        };
        let row = |at: usize| -> Result<Vec<u32>> {
            edges
                .get(at)?
                .to_vec1::<i64>()?
                .into_iter()
                .map(|end| {
                    let inside = usize::try_from(end).is_ok_and(|end| end < count);
                    u32::try_from(end).ok().filter(|_| inside).ok_or_else(|| {
                        Error::input(
                            net.value(),
                            format!("edges between nodes `0` to `{}`", count - 1),
                            format!("an edge at node `{end}`"),
                        )
                    })
                })
                .collect()
        };
        Ok(Self {
            edges: Edges {
                nodes: count,
                sources: row(0)?,
                targets: row(1)?,
            },
            nodes: nodes.clone(),
        })
    }
}

impl Edges {
    /// The edges with exactly one edge from every node to itself, after all others.
    pub(super) fn with_own_loops(&self) -> Self {
        let ends = self
            .sources
            .iter()
            .copied()
            .zip(self.targets.iter().copied());
        let (mut sources, mut targets): (Vec<u32>, Vec<u32>) =
            ends.filter(|(source, target)| source != target).unzip();
        let loops = (0_u32..).take(self.nodes);
        sources.extend(loops.clone());
        targets.extend(loops);
        Self {
            nodes: self.nodes,
            sources,
            targets,
        }
    }

    /// The edges in the order in which sums are added up.
    fn sorted(&self) -> Adjacency {
        Adjacency::new(self.nodes, &self.sources, &self.targets)
    }
}

/// A layer on a graph.
pub(super) trait GraphLayer {
    /// New rows of the nodes.
    ///
    /// # Errors
    /// When candle fails.
    fn forward(&self, nodes: &Tensor, edges: &Adjacency, mode: &mut Mode<'_>) -> Result<Tensor>;

    /// The Python class.
    const CLASS: &'static str;
}

/// Layers on a graph, with activation and dropout after all but the last.
#[derive(Debug)]
pub(super) struct GraphLayers<L> {
    input_dim: usize,
    hidden: Vec<(L, Hidden)>,
    output: L,
}

impl<L: GraphLayer> GraphLayers<L> {
    /// The layers for the widths in the parameters. `build` makes each from its number, the widths of
    /// its inputs and outputs, and whether it is the last.
    ///
    /// # Errors
    /// When a hidden layer has no activation, or `build` fails.
    pub(super) fn new(
        params: &NNParams,
        mut build: impl FnMut(usize, usize, usize, bool) -> Result<L>,
    ) -> Result<Self> {
        let mut width = params.input_dim();
        let mut hidden = Vec::new();
        for (i, &next) in params.hidden_dims().unwrap_or_default().iter().enumerate() {
            hidden.push((build(i, width, next, false)?, Hidden::new(params, i)?));
            width = next;
        }
        let output = build(hidden.len(), width, params.output_dim(), true)?;
        Ok(Self {
            input_dim: params.input_dim(),
            hidden,
            output,
        })
    }

    /// Runs the layers on a net's inputs, after `prepare` has changed the edges.
    ///
    /// # Errors
    /// When the inputs are not a graph that fits the net, or candle fails.
    pub(super) fn forward(
        &self,
        net: Nets,
        inputs: &[Tensor],
        mode: &mut Mode<'_>,
        prepare: impl FnOnce(Edges) -> Edges,
    ) -> Result<Tensor> {
        let Graph { nodes, edges } = Graph::from_inputs(net, self.input_dim, inputs)?;
        let edges = prepare(edges).sorted();
        let mut xs = nodes;
        for (i, (layer, hidden)) in self.hidden.iter().enumerate() {
            xs = layer.forward(&xs, &edges, mode)?;
            mode.note(mode.noted(), &format!("layers.{i}"), L::CLASS, &xs);
            xs = hidden.forward(&xs, mode)?;
        }
        let ys = self.output.forward(&xs, &edges, mode)?;
        let path = format!("layers.{}", self.hidden.len());
        mode.note(mode.noted(), &path, L::CLASS, &ys);
        Ok(ys)
    }
}
