//! GRAPH_SAGE: layers that combine a node with the mean of its neighbours.

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

/// PyG's `SAGEConv` layers: `y_i = mean_j(x_j) Lᵀ + b + x_i Rᵀ` over the edges from `j` to `i`; the
/// mean of no edges is zero.
///
/// Parameters: `layers.{i}.lin_l.weight [out, in]`, `layers.{i}.lin_l.bias [out]`,
/// `layers.{i}.lin_r.weight [out, in]`.
#[derive(Debug)]
pub(super) struct GraphSage {
    layers: GraphLayers<SageLayer>,
    parameters: Parameters,
}

#[derive(Debug)]
struct SageLayer {
    neighbours: Var,
    bias: Var,
    own: Var,
}

impl GraphSage {
    /// Builds the net.
    ///
    /// # Errors
    /// When a hidden layer has no activation, or a parameter cannot be made.
    pub(super) fn new(params: &NNParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        builder.module("layers");
        let layers = GraphLayers::new(params, |i, inputs, outputs, _| {
            let path = format!("layers.{i}");
            for module in ["", ".aggr_module", ".lin_l", ".lin_r"] {
                builder.module(format!("{path}{module}"));
            }
            let shape = [outputs, inputs];
            let weight = Init::GraphKaimingUniform { fan_in: inputs };
            let bias = Init::FanInUniform { fan_in: inputs };
            // PyG draws once where the inner layers are made, and again in `reset_parameters`.
            builder.discard(&shape, weight)?;
            builder.discard(&[outputs], bias)?;
            builder.discard(&shape, weight)?;
            Ok(SageLayer {
                neighbours: builder.parameter(format!("{path}.lin_l.weight"), &shape, weight)?,
                bias: builder.parameter(format!("{path}.lin_l.bias"), &[outputs], bias)?,
                own: builder.parameter(format!("{path}.lin_r.weight"), &shape, weight)?,
            })
        })?;
        Ok(Self {
            layers,
            parameters: builder.finish()?,
        })
    }
}

impl Net for GraphSage {
    fn kind(&self) -> Nets {
        Nets::GraphSage
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        self.layers
            .forward(Nets::GraphSage, inputs, mode, |edges| edges)
    }
}

impl GraphLayer for SageLayer {
    const CLASS: &'static str = "SAGEConv";

    fn forward(&self, nodes: &Tensor, edges: &Adjacency, mode: &mut Mode<'_>) -> Result<Tensor> {
        let cpu = Cpu::new();
        let means = neighbours::sum(cpu, nodes, edges, Weights::Mean)?;
        let bias = mode.value(&self.bias);
        let neighbours = mode.value(&self.neighbours);
        let neighbours = linear(cpu, &means, &neighbours, Some(&bias), false)?;
        let own = linear(cpu, nodes, &mode.value(&self.own), None, false)?;
        Ok((neighbours + own)?)
    }
}
