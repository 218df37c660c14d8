//! FEED_FWD_MOE: hidden layers of experts; a router chooses a few of them for each row.

use candle_core::{D, DType, Tensor};
use nnx_params::{Activations, NNMoEParams, Nets};

use super::Net;
use super::hidden::Hidden;
use super::top_k::top_k;
use crate::activation::activate;
use crate::error::Result;
use crate::inputs::rows;
use crate::linear::Linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::parameters::Parameters;

/// Experts, activation and dropout per hidden layer, then one linear layer.
///
/// Parameters: per hidden layer `layers.{i}.router.weight [experts, in]` and
/// `layers.{i}.experts.{e}.weight` and `.bias`, then `layers.{L}.weight` and `.bias`.
#[derive(Debug)]
pub(super) struct FeedFwdMoE {
    input_dim: usize,
    hidden: Vec<(Experts, Hidden)>,
    output: Linear,
    parameters: Parameters,
}

/// A layer of experts.
#[derive(Debug)]
struct Experts {
    router: Linear,
    experts: Vec<Linear>,
    top_k: usize,
    outputs: usize,
}

impl FeedFwdMoE {
    /// Builds the net.
    ///
    /// # Errors
    /// When a hidden layer has no activation, or a parameter cannot be made.
    pub(super) fn new(params: &NNMoEParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        builder.module("layers");
        let base = params.base();
        let mut width = base.input_dim();
        let mut hidden = Vec::new();
        for (i, &next) in base.hidden_dims().unwrap_or_default().iter().enumerate() {
            let path = format!("layers.{i}");
            let experts = Experts::new(&path, (width, next), params, &mut builder)?;
            hidden.push((experts, Hidden::new(base, i)?));
            width = next;
        }
        let path = format!("layers.{}", hidden.len());
        let output = Linear::new(&path, width, base.output_dim(), &mut builder)?;
        Ok(Self {
            input_dim: base.input_dim(),
            hidden,
            output,
            parameters: builder.finish()?,
        })
    }
}

impl Net for FeedFwdMoE {
    fn kind(&self) -> Nets {
        Nets::FeedFwdMoe
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        Ok(self.forward_balanced(inputs, mode)?.0)
    }

    fn forward_balanced(
        &self,
        inputs: &[Tensor],
        mode: &mut Mode<'_>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let mut xs = rows(Nets::FeedFwdMoe, self.input_dim, inputs)?;
        let mut balances = Vec::new();
        for (i, (experts, hidden)) in self.hidden.iter().enumerate() {
            let since = mode.noted();
            let (ys, balance) = experts.forward(&xs, mode)?;
            mode.note(since, &format!("layers.{i}"), "MoELinear", &ys);
            xs = hidden.forward(&ys, mode)?;
            balances.push(balance);
        }
        Ok((self.output.forward(&xs, mode)?, balances))
    }
}

impl Experts {
    fn new(
        path: &str,
        (inputs, outputs): (usize, usize),
        params: &NNMoEParams,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        let count = params.num_experts();
        builder.module(path);
        let router = Linear::without_bias(&format!("{path}.router"), inputs, count, builder)?;
        builder.module(format!("{path}.experts"));
        let experts = (0..count)
            .map(|e| Linear::new(&format!("{path}.experts.{e}"), inputs, outputs, builder))
            .collect::<Result<_>>()?;
        Ok(Self {
            router,
            experts,
            top_k: params.top_k(),
            outputs,
        })
    }

    /// The outputs, and how unevenly the experts were used: `E · Σ f_e · P_e` with the fraction of
    /// choices `f_e` and the mean probability `P_e` of each of the `E` experts. It is 1 if all experts
    /// are used equally.
    fn forward(&self, xs: &Tensor, mode: &mut Mode<'_>) -> Result<(Tensor, Tensor)> {
        let (count, device) = (xs.dim(0)?, xs.device());
        let logits = self.router.forward(xs, mode)?;
        let chosen: Vec<u32> = logits
            .detach()
            .to_vec2::<f32>()?
            .iter()
            .flat_map(|row| top_k(row, self.top_k))
            .collect();
        let indices = Tensor::from_slice(&chosen, (count, self.top_k), device)?;
        let gates = activate(Activations::Softmax, &logits.gather(&indices, D::Minus1)?)?;
        // The choices by expert, those of an expert by row: their places in the list, and their rows.
        let mut choices = vec![(Vec::new(), Vec::new()); self.experts.len()];
        let rows = (0_u32..).flat_map(|row| std::iter::repeat_n(row, self.top_k));
        for ((place, expert), row) in (0_u32..).zip(&chosen).zip(rows) {
            if let Some((places, rows)) = choices.get_mut(*expert as usize) {
                places.push(place);
                rows.push(row);
            }
        }
        let mut outputs = Vec::new();
        for (expert, (_, rows)) in self.experts.iter().zip(&choices) {
            if !rows.is_empty() {
                let rows = Tensor::from_slice(rows, rows.len(), device)?;
                outputs.push(expert.forward(&xs.index_select(&rows, 0)?, mode)?);
            }
        }
        let shares = choices
            .iter()
            .map(|(places, _)| share(places.len(), chosen.len()));
        let shares: Vec<f32> = shares.collect();
        let (places, rows): (Vec<_>, Vec<_>) = choices.into_iter().unzip();
        let [places, rows] = [places, rows].map(|parts| Tensor::new(parts.concat(), device));
        let gates = gates.flatten_all()?.index_select(&places?, 0)?;
        let outputs = Tensor::cat(&outputs, 0)?.broadcast_mul(&gates.unsqueeze(1)?)?;
        let ys = Tensor::zeros((count, self.outputs), DType::F32, device)?;
        let ys = ys.index_add(&rows?, &outputs, 0)?;
        let probabilities = activate(Activations::Softmax, &logits)?.mean(0)?;
        let balance = (probabilities * Tensor::new(shares, device)?)?.sum_all()?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "no machine runs that many experts"
        )]
        let balance = (balance * self.experts.len() as f64)?;
        Ok((ys, balance))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "PyTorch computes the share in float32 too"
)]
fn share(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}
