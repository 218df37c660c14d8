//! RMSprop, centered or not: `torch.optim.RMSprop`. NNx does not build it; a saved state of it can
//! be continued.

use nnx_run::GroupSettings;

use super::blocks::{self, BLOCK, Update};
use super::operations::{add, add_product, add_quotient, denominator, lerp, mul};
use super::settings;
use super::slots::{SlotNames, Slots, buffer, buffer_if};
use crate::error::Result;

pub(super) const CLASS: &str = "torch.optim.rmsprop.RMSprop";

/// The settings of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct RmsProp {
    lr: f64,
    alpha: f64,
    eps: f64,
    momentum: f64,
    weight_decay: f64,
    centered: bool,
    maximize: bool,
}

/// The moving average of the squared gradient, the accumulated step of momentum, and the moving
/// average of the gradient if it is centered.
pub(super) const SLOTS: SlotNames = SlotNames {
    counts: true,
    buffers: &["square_avg", "momentum_buffer", "grad_avg"],
};

impl RmsProp {
    pub(super) fn read(of: &GroupSettings) -> Result<Self> {
        Ok(Self {
            lr: settings::number(of, "lr")?,
            alpha: settings::number(of, "alpha")?,
            eps: settings::number(of, "eps")?,
            momentum: settings::number(of, "momentum")?,
            weight_decay: settings::number(of, "weight_decay")?,
            centered: settings::flag(of, "centered")?,
            maximize: settings::flag(of, "maximize")?,
        })
    }

    pub(super) fn update(&self, weights: &mut [f32], gradient: &[f32], slots: &mut Slots) {
        let elements = gradient.len();
        slots.step += 1.0;
        let [square_avg, momentum_buffer, grad_avg] = &mut slots.buffers;
        blocks::run(RmsPropUpdate {
            settings: *self,
            weights,
            gradient,
            square_avg: buffer(square_avg, elements),
            momentum_buffer: buffer_if(self.momentum > 0.0, momentum_buffer, elements),
            grad_avg: buffer_if(self.centered, grad_avg, elements),
        });
    }
}

struct RmsPropUpdate<'a> {
    settings: RmsProp,
    weights: &'a mut [f32],
    gradient: &'a [f32],
    square_avg: &'a mut [f32],
    /// Empty without momentum.
    momentum_buffer: &'a mut [f32],
    /// Empty unless it is centered.
    grad_avg: &'a mut [f32],
}

impl Update for RmsPropUpdate<'_> {
    #[inline(always)]
    fn run(self) {
        let RmsProp {
            lr,
            alpha,
            eps,
            momentum,
            weight_decay,
            centered: _,
            maximize,
        } = self.settings;
        let (mut scratch, mut averages) = ([0.0; BLOCK], [0.0; BLOCK]);
        let mut buffers = self.momentum_buffer.chunks_mut(BLOCK);
        let mut means = self.grad_avg.chunks_mut(BLOCK);
        let blocks = self.weights.chunks_mut(BLOCK);
        let blocks = blocks
            .zip(self.gradient.chunks(BLOCK))
            .zip(self.square_avg.chunks_mut(BLOCK));
        for ((weights, gradient), square_avg) in blocks {
            let gradient = blocks::copied(&mut scratch, gradient, maximize);
            if weight_decay != 0.0 {
                add(gradient, weights, weight_decay as f32);
            }
            mul(square_avg, alpha as f32);
            add_product(square_avg, gradient, gradient, (1.0 - alpha) as f32);
            let average = blocks::copied(&mut averages, square_avg, false);
            if let Some(mean) = means.next() {
                lerp(mean, gradient, (1.0 - alpha) as f32);
                add_product(average, mean, mean, -1.0);
            }
            denominator(average, 1.0, eps as f32);
            if let Some(buffer) = buffers.next() {
                mul(buffer, momentum as f32);
                add_quotient(buffer, gradient, average, 1.0);
                add(weights, buffer, -lr as f32);
            } else {
                add_quotient(weights, gradient, average, -lr as f32);
            }
        }
    }
}
