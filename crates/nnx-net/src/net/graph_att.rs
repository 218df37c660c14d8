//! GRAPH_ATT: layers that weigh neighbours by attention.

use candle_core::{Tensor, Var};
use nnx_params::{NNParams, Nets};

use super::Net;
use super::graph::{GraphLayer, GraphLayers};
use crate::error::{Error, Result};
use crate::init::Init;
use crate::kernels::adjacency::Adjacency;
use crate::kernels::cpu::Cpu;
use crate::kernels::graph_attention::attend;
use crate::kernels::linear::linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::parameters::Parameters;

/// PyG's `GATConv` layers: `y_i = Σ_j α_ij x_j Wᵀ + b` over the edges from `j` to `i`, with one loop
/// a node, where `α` is the softmax over a node's edges of `leaky_relu(s · x_j Wᵀ + t · x_i Wᵀ)`.
///
/// Each head does this separately. Hidden layers concatenate the heads, the last layer averages them.
///
/// Parameters: `layers.{i}.att_src [1, heads, out]`, `layers.{i}.att_dst [1, heads, out]`,
/// `layers.{i}.bias`, `layers.{i}.lin.weight [heads · out, in]`.
#[derive(Debug)]
pub(super) struct GraphAtt {
    layers: GraphLayers<GatLayer>,
    parameters: Parameters,
}

#[derive(Debug)]
struct GatLayer {
    sources: Var,
    targets: Var,
    bias: Var,
    weight: Var,
    heads: usize,
    outputs: usize,
    is_last: bool,
}

impl GraphAtt {
    /// Builds the net.
    ///
    /// # Errors
    /// When the parameters have no number of heads, a hidden layer has no activation, or a
    /// parameter cannot be made.
    pub(super) fn new(params: &NNParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        let heads = params.n_heads().filter(|heads| *heads > 0).ok_or_else(|| {
            let found = params.n_heads().map_or("None".into(), |n| n.to_string());
            Error::configuration(format!(
                "net `graph_att` needs `n_heads` > 0, got `{found}`"
            ))
        })?;
        builder.module("layers");
        let layers = GraphLayers::new(params, |i, inputs, outputs, is_last| {
            let path = format!("layers.{i}");
            for module in ["", ".aggr_module", ".lin"] {
                builder.module(format!("{path}{module}"));
            }
            let overflow =
                || Error::unsupported(format!("`{heads}` heads of a wide layer overflow"));
            let wide = heads.checked_mul(outputs).ok_or_else(overflow)?;
            let inputs = if i == 0 {
                inputs
            } else {
                heads.checked_mul(inputs).ok_or_else(overflow)?
            };
            builder.reserve(["att_src", "att_dst", "bias"].map(|name| format!("{path}.{name}")));
            let weight = Init::Glorot {
                fans: wide.saturating_add(inputs),
            };
            let attention = Init::Glorot {
                fans: heads.saturating_add(outputs),
            };
            // PyG draws once where the inner layer is made, and again in `reset_parameters`.
            builder.discard(&[wide, inputs], weight)?;
            let weight =
                builder.parameter(format!("{path}.lin.weight"), &[wide, inputs], weight)?;
            let shape = [1, heads, outputs];
            Ok(GatLayer {
                sources: builder.parameter(format!("{path}.att_src"), &shape, attention)?,
                targets: builder.parameter(format!("{path}.att_dst"), &shape, attention)?,
                bias: builder.parameter(
                    format!("{path}.bias"),
                    &[if is_last { outputs } else { wide }],
                    Init::Constant(0.0),
                )?,
                weight,
                heads,
                outputs,
                is_last,
            })
        })?;
        Ok(Self {
            layers,
            parameters: builder.finish()?,
        })
    }
}

impl Net for GraphAtt {
    fn kind(&self) -> Nets {
        Nets::GraphAtt
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        self.layers
            .forward(Nets::GraphAtt, inputs, mode, |edges| edges.with_own_loops())
    }
}

impl GraphLayer for GatLayer {
    const CLASS: &'static str = "GATConv";

    fn forward(&self, nodes: &Tensor, edges: &Adjacency, mode: &mut Mode<'_>) -> Result<Tensor> {
        let count = nodes.dim(0)?;
        let cpu = Cpu::new();
        let xs = linear(cpu, nodes, &mode.value(&self.weight), None, false)?;
        let xs = xs.reshape((count, self.heads, self.outputs))?;
        let (sources, targets) = (mode.value(&self.sources), mode.value(&self.targets));
        let sums = attend(cpu, &xs, &sources, &targets, edges)?;
        let ys = if self.is_last {
            sums.mean(1)?
        } else {
            sums.reshape((count, self.heads * self.outputs))?
        };
        Ok(ys.broadcast_add(&mode.value(&self.bias))?)
    }
}
