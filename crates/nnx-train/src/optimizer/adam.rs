//! Adam, AMSGrad and AdamW: `torch.optim.Adam` and `torch.optim.AdamW`.

use nnx_run::GroupSettings;

use super::blocks::{self, BLOCK, Update};
use super::operations::{add, add_product, add_quotient, denominator, lerp, maximum, mul};
use super::settings;
use super::slots::{SlotNames, Slots, buffer, buffer_if};
use crate::error::Result;

pub(super) const ADAM: &str = "torch.optim.adam.Adam";
pub(super) const ADAM_W: &str = "torch.optim.adamw.AdamW";

/// The settings of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adam {
    lr: f64,
    betas: (f64, f64),
    eps: f64,
    weight_decay: f64,
    amsgrad: bool,
    maximize: bool,
    decoupled: bool,
}

/// The moving averages of the gradient and of its square, and in AMSGrad the largest of the latter.
pub(super) const SLOTS: SlotNames = SlotNames {
    counts: true,
    buffers: &["exp_avg", "exp_avg_sq", "max_exp_avg_sq"],
};

impl Adam {
    pub(super) fn read(of: &GroupSettings, class: &str) -> Result<Self> {
        Ok(Self {
            lr: settings::number(of, "lr")?,
            betas: settings::betas(of)?,
            eps: settings::number(of, "eps")?,
            weight_decay: settings::number(of, "weight_decay")?,
            amsgrad: settings::flag(of, "amsgrad")?,
            maximize: settings::flag(of, "maximize")?,
            // The states of older versions lack the setting.
            decoupled: match of.get("decoupled_weight_decay") {
                Some(_) => settings::flag(of, "decoupled_weight_decay")?,
                None => class == ADAM_W,
            },
        })
    }

    pub(super) fn update(&self, weights: &mut [f32], gradient: &[f32], slots: &mut Slots) {
        let elements = gradient.len();
        slots.step += 1.0;
        let step = f64::from(slots.step);
        let [exp_avg, exp_avg_sq, max_exp_avg_sq] = &mut slots.buffers;
        blocks::run(AdamUpdate {
            settings: *self,
            corrections: (
                1.0 - self.betas.0.powf(step),
                (1.0 - self.betas.1.powf(step)).powf(0.5),
            ),
            weights,
            gradient,
            exp_avg: buffer(exp_avg, elements),
            exp_avg_sq: buffer(exp_avg_sq, elements),
            max_exp_avg_sq: buffer_if(self.amsgrad, max_exp_avg_sq, elements),
        });
    }
}

struct AdamUpdate<'a> {
    settings: Adam,
    /// The first bias correction, and the square root of the second one.
    corrections: (f64, f64),
    weights: &'a mut [f32],
    gradient: &'a [f32],
    exp_avg: &'a mut [f32],
    exp_avg_sq: &'a mut [f32],
    /// Empty without AMSGrad.
    max_exp_avg_sq: &'a mut [f32],
}

impl Update for AdamUpdate<'_> {
    #[inline(always)]
    fn run(self) {
        let Adam {
            lr,
            betas: (beta1, beta2),
            eps,
            weight_decay,
            amsgrad: _,
            maximize,
            decoupled,
        } = self.settings;
        let (correction1, correction2_sqrt) = self.corrections;
        let mut scratch = [0.0; BLOCK];
        let mut maxima = self.max_exp_avg_sq.chunks_mut(BLOCK);
        let blocks = self.weights.chunks_mut(BLOCK);
        let moments = self.exp_avg.chunks_mut(BLOCK);
        let moments = moments.zip(self.exp_avg_sq.chunks_mut(BLOCK));
        let blocks = blocks.zip(self.gradient.chunks(BLOCK)).zip(moments);
        for ((weights, gradient), (exp_avg, exp_avg_sq)) in blocks {
            let gradient = blocks::copied(&mut scratch, gradient, maximize);
            if weight_decay != 0.0 {
                if decoupled {
                    mul(weights, (1.0 - lr * weight_decay) as f32);
                } else {
                    add(gradient, weights, weight_decay as f32);
                }
            }
            lerp(exp_avg, gradient, (1.0 - beta1) as f32);
            mul(exp_avg_sq, beta2 as f32);
            add_product(exp_avg_sq, gradient, gradient, (1.0 - beta2) as f32);
            // The gradient is no longer needed, so its place is taken.
            let root = match maxima.next() {
                Some(maxima) => {
                    maximum(maxima, exp_avg_sq);
                    blocks::copied(&mut scratch, maxima, false)
                }
                None => blocks::copied(&mut scratch, exp_avg_sq, false),
            };
            denominator(root, correction2_sqrt as f32, eps as f32);
            add_quotient(weights, exp_avg, root, -(lr / correction1) as f32);
        }
    }
}
