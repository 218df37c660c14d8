//! The fully connected layer, and its forms after a recorded transform.

use candle_core::{Tensor, Var};
use nnx_params::Activations;

use crate::activation::activate;
use crate::dropout::dropout;
use crate::error::{Error, Result};
use crate::init::Init;
use crate::kernels::cpu::Cpu;
use crate::kernels::linear::linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::transforms::LayerTransform;

/// A layer that maps rows of `inputs` numbers to rows of `outputs` numbers.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    path: String,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// `y = x · Wᵀ + b`, PyTorch's `nn.Linear`.
    Full(Affine),
    /// `y = x · Wᵀ + b + (alpha / rank) · (x · Aᵀ) · Bᵀ`, NNx's `LoRALinear`.
    Lora(LoraLayer),
    /// `y = (x · W₀ᵀ) · W₁ᵀ + b`, the two layers that NNx's `low_rank_factorize` makes.
    LowRank {
        /// `W₀ [rank, inputs]`.
        down: Var,
        /// `W₁ [outputs, rank]` and `b`.
        up: Affine,
    },
}

/// A weight `[outputs, inputs]` and, in most layers, a bias `[outputs]`.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    weight: Var,
    bias: Option<Var>,
}

/// The sizes of a layer, and whether it has a bias and a weight of its own.
#[derive(Clone, Copy, Debug)]
struct LinearConfig<'a> {
    inputs: usize,
    outputs: usize,
    has_bias: bool,
    /// Name and value of the parameter that this layer uses as its weight; `None` for its own.
    tied: Option<(&'a str, &'a Var)>,
}

/// A full layer plus a product of two thin matrices.
#[derive(Clone, Debug)]
pub(crate) struct LoraLayer {
    /// `A [rank, inputs]`.
    a: Var,
    /// `B [outputs, rank]`.
    b: Var,
    base: Affine,
    scaling: f64,
    dropout: f64,
}

impl Linear {
    /// The layer at that path. Its parameters are `{path}.weight` and `{path}.bias`, unless the
    /// builder's transforms make another layer of it.
    ///
    /// # Errors
    /// When a parameter cannot be made, or a rank is larger than the layer.
    pub(crate) fn new(
        path: &str,
        inputs: usize,
        outputs: usize,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        Self::from_config(path, LinearConfig::new(inputs, outputs), builder)
    }

    /// The layer at that path, without a bias.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(crate) fn without_bias(
        path: &str,
        inputs: usize,
        outputs: usize,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        let config = LinearConfig {
            has_bias: false,
            ..LinearConfig::new(inputs, outputs)
        };
        Self::from_config(path, config, builder)
    }

    /// The layer at that path, without a bias, whose weight is an existing parameter.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(crate) fn tied(
        path: &str,
        (inputs, outputs): (usize, usize),
        of: (&str, &Var),
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        let config = LinearConfig {
            has_bias: false,
            tied: Some(of),
            ..LinearConfig::new(inputs, outputs)
        };
        Self::from_config(path, config, builder)
    }

    fn from_config(
        path: &str,
        config: LinearConfig<'_>,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        let LinearConfig {
            inputs, outputs, ..
        } = config;
        builder.module(path);
        let form = match builder.transform(path) {
            None => Form::Full(Affine::new(path, config, builder)?),
            Some(LayerTransform::Lora {
                rank,
                alpha,
                dropout,
            }) => {
                // As in the state dict, a module's own parameters come before those of its children.
                let a = weight(format!("{path}.lora_A"), inputs, rank, builder)?;
                let b = builder.parameter(
                    format!("{path}.lora_B"),
                    &[outputs, rank],
                    Init::Constant(0.0),
                )?;
                let base = format!("{path}.base");
                builder.module(&base);
                let base = Affine::new(&base, config, builder)?;
                builder.module(format!("{path}.lora_dropout"));
                Form::Lora(LoraLayer {
                    a,
                    b,
                    base,
                    scaling: scaling(alpha, rank),
                    dropout,
                })
            }
            Some(LayerTransform::LowRank { rank }) => {
                if rank > inputs.min(outputs) {
                    return Err(Error::configuration(format!(
                        "transform `low_rank`: the rank `{rank}` of `{path}` exceeds the layer's \
                         `{inputs}` inputs or `{outputs}` outputs"
                    )));
                }
                builder.module(format!("{path}.0"));
                let down = weight(format!("{path}.0.weight"), inputs, rank, builder)?;
                let up = format!("{path}.1");
                builder.module(&up);
                // The factors are new parameters, even if the weight of the layer was tied.
                let config = LinearConfig {
                    inputs: rank,
                    tied: None,
                    ..config
                };
                Form::LowRank {
                    down,
                    up: Affine::new(&up, config, builder)?,
                }
            }
        };
        Ok(Self {
            path: path.to_owned(),
            form,
        })
    }

    /// Applies the layer along the last axis.
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn forward(&self, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        self.forward_with(false, xs, mode)
    }

    /// Applies the layer along the last axis, and an activation to its outputs.
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn forward_activated(
        &self,
        activation: Activations,
        xs: &Tensor,
        mode: &mut Mode<'_>,
    ) -> Result<Tensor> {
        // The one activation that a full layer applies in the pass that computes its outputs.
        let is_fused = activation == Activations::Relu && matches!(self.form, Form::Full(_));
        let ys = self.forward_with(is_fused, xs, mode)?;
        if is_fused {
            Ok(ys)
        } else {
            activate(activation, &ys)
        }
    }

    fn forward_with(&self, relu: bool, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let ys = self.apply(relu, xs, mode)?;
        let class = match self.form {
            Form::Full(_) => "Linear",
            Form::Lora(_) => "LoRALinear",
            Form::LowRank { .. } => "Sequential",
        };
        mode.note(mode.noted(), &self.path, class, &ys);
        Ok(ys)
    }

    fn apply(&self, relu: bool, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let [outer @ .., inputs] = xs.dims() else {
            return self.rows(relu, xs, mode);
        };
        if outer.len() == 1 {
            return self.rows(relu, xs, mode);
        }
        // One product of two matrices is faster than one product for each of the outer axes.
        let rows = xs.reshape((outer.iter().product::<usize>(), *inputs))?;
        let ys = self.rows(relu, &rows, mode)?;
        let shape: Vec<usize> = outer
            .iter()
            .copied()
            .chain(ys.dims().last().copied())
            .collect();
        Ok(ys.reshape(shape)?)
    }

    /// Applies the layer to each row of a matrix.
    fn rows(&self, relu: bool, rows: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let cpu = Cpu::new();
        match &self.form {
            Form::Full(affine) => affine.forward(relu, rows, mode),
            Form::Lora(LoraLayer {
                a,
                b,
                base,
                scaling,
                dropout: p,
            }) => {
                let full = base.forward(false, rows, mode)?;
                let thin = linear(cpu, &dropout(rows, *p, mode)?, &mode.value(a), None, false)?;
                let thin = linear(cpu, &thin, &mode.value(b), None, false)?;
                Ok((full + (thin * *scaling)?)?)
            }
            Form::LowRank { down, up } => {
                let thin = linear(cpu, rows, &mode.value(down), None, false)?;
                up.forward(false, &thin, mode)
            }
        }
    }
}

impl LinearConfig<'_> {
    fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            inputs,
            outputs,
            has_bias: true,
            tied: None,
        }
    }
}

impl Affine {
    fn new(path: &str, config: LinearConfig<'_>, builder: &mut ParamBuilder<'_>) -> Result<Self> {
        let LinearConfig {
            inputs,
            outputs,
            has_bias,
            tied,
        } = config;
        let name = format!("{path}.weight");
        let weight = match tied {
            None => weight(name, inputs, outputs, builder)?,
            Some((of, var)) => {
                builder.tie(name, of, var, &[outputs, inputs])?;
                var.clone()
            }
        };
        let mut bias = || {
            builder.parameter(
                format!("{path}.bias"),
                &[outputs],
                Init::FanInUniform { fan_in: inputs },
            )
        };
        Ok(Self {
            weight,
            bias: has_bias.then(&mut bias).transpose()?,
        })
    }

    fn forward(&self, relu: bool, rows: &Tensor, mode: &Mode<'_>) -> Result<Tensor> {
        let (weight, bias) = (&self.weight, self.bias.as_ref());
        let bias = bias.map(|bias| mode.value(bias));
        Ok(linear(
            Cpu::new(),
            rows,
            &mode.value(weight),
            bias.as_ref(),
            relu,
        )?)
    }
}

fn weight(
    name: String,
    inputs: usize,
    outputs: usize,
    builder: &mut ParamBuilder<'_>,
) -> Result<Var> {
    builder.parameter(
        name,
        &[outputs, inputs],
        Init::KaimingUniform { fan_in: inputs },
    )
}

/// The factor of the product of LoRA's matrices.
#[expect(
    clippy::cast_precision_loss,
    reason = "Python divides by the integer as a float too"
)]
pub(crate) fn scaling(alpha: f64, rank: usize) -> f64 {
    alpha / rank as f64
}
