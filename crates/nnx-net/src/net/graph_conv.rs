//! GRAPH_CONV: layers that average over neighbours, weighted by the degrees of both ends of an edge.

use candle_core::{Tensor, Var};
use nnx_params::{NNParams, Nets};

use super::Net;
use super::graph::{GraphLayer, GraphLayers};
use crate::error::Result;
use crate::init::Init;
use crate::kernels::adjacency::Adjacency;
use crate::kernels::cpu::Cpu;
use crate::kernels::linear::linear;
use crate::kernels::neighbours::{self, Weights};
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::parameters::Parameters;

/// PyG's `GCNConv` layers: `y_i = Σ_j x_j Wᵀ / sqrt(d_j d_i) + b` over the edges from `j` to `i`,
/// with one loop per node.
///
/// Parameters: `layers.{i}.bias [out]`, then `layers.{i}.lin.weight [out, in]`.
#[derive(Debug)]
pub(super) struct GraphConv {
    layers: GraphLayers<GcnLayer>,
    parameters: Parameters,
}

#[derive(Debug)]
struct GcnLayer {
    weight: Var,
    bias: Var,
}

impl GraphConv {
    /// Builds the net.
    ///
    /// # Errors
    /// When a hidden layer has no activation, or a parameter cannot be made.
    pub(super) fn new(params: &NNParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        builder.module("layers");
        let layers = GraphLayers::new(params, |i, inputs, outputs, _| {
            let path = format!("layers.{i}");
            for module in ["", ".aggr_module", ".lin"] {
                builder.module(format!("{path}{module}"));
            }
            let bias =
                builder.parameter(format!("{path}.bias"), &[outputs], Init::Constant(0.0))?;
            let init = Init::Glorot {
                fans: inputs.saturating_add(outputs),
            };
            // PyG draws once where the inner layer is made, and again in `reset_parameters`.
            builder.discard(&[outputs, inputs], init)?;
            let weight =
                builder.parameter(format!("{path}.lin.weight"), &[outputs, inputs], init)?;
            Ok(GcnLayer { weight, bias })
        })?;
        Ok(Self {
            layers,
            parameters: builder.finish()?,
        })
    }
}

impl Net for GraphConv {
    fn kind(&self) -> Nets {
        Nets::GraphConv
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        self.layers.forward(Nets::GraphConv, inputs, mode, |edges| {
            edges.with_own_loops()
        })
    }
}

impl GraphLayer for GcnLayer {
    const CLASS: &'static str = "GCNConv";

    fn forward(&self, nodes: &Tensor, edges: &Adjacency, mode: &mut Mode<'_>) -> Result<Tensor> {
        let incoming = edges.incoming();
        #[expect(clippy::cast_precision_loss, reason = "PyG counts in float32 too")]
        let roots: Vec<f32> = (0..incoming.nodes())
            .map(|node| 1.0 / (incoming.degree(node) as f32).sqrt())
            .collect();
        let weights = (0..incoming.nodes()).flat_map(|target| {
            let sources = &incoming.neighbours()[incoming.edges(target)];
            let root = roots[target];
            let roots = &roots;
            sources
                .iter()
                .map(move |source| roots[*source as usize] * root)
        });
        let cpu = Cpu::new();
        let xs = linear(cpu, nodes, &mode.value(&self.weight), None, false)?;
        let sums = neighbours::sum(cpu, &xs, edges, Weights::Edges(weights.collect()))?;
        Ok(sums.broadcast_add(&mode.value(&self.bias))?)
    }
}
