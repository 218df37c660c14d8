//! Stochastic gradient descent: `torch.optim.SGD`.

use nnx_run::GroupSettings;

use super::blocks::{self, BLOCK, Update};
use super::operations::{add, mul};
use super::settings;
use super::slots::{SlotNames, Slots, buffer_if};
use crate::error::Result;

pub(super) const CLASS: &str = "torch.optim.sgd.SGD";

/// The settings of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sgd {
    lr: f64,
    momentum: f64,
    dampening: f64,
    weight_decay: f64,
    nesterov: bool,
    maximize: bool,
}

/// The accumulated gradient; without momentum nothing is kept.
pub(super) const SLOTS: SlotNames = SlotNames {
    counts: false,
    buffers: &["momentum_buffer"],
};

impl Sgd {
    pub(super) fn read(of: &GroupSettings) -> Result<Self> {
        Ok(Self {
            lr: settings::number(of, "lr")?,
            momentum: settings::number(of, "momentum")?,
            dampening: settings::number_or(of, "dampening", 0.0)?,
            weight_decay: settings::number(of, "weight_decay")?,
            nesterov: settings::flag(of, "nesterov")?,
            maximize: settings::flag(of, "maximize")?,
        })
    }

    pub(super) fn update(&self, weights: &mut [f32], gradient: &[f32], slots: &mut Slots) {
        let [slot, ..] = &mut slots.buffers;
        let is_first = slot.is_none();
        blocks::run(SgdUpdate {
            settings: *self,
            is_first,
            buffer: buffer_if(self.momentum != 0.0, slot, gradient.len()),
            weights,
            gradient,
        });
    }
}

struct SgdUpdate<'a> {
    settings: Sgd,
    /// The first update copies the gradient; dampening does not apply to it.
    is_first: bool,
    weights: &'a mut [f32],
    gradient: &'a [f32],
    /// Empty without momentum.
    buffer: &'a mut [f32],
}

impl Update for SgdUpdate<'_> {
    #[inline(always)]
    fn run(self) {
        let Sgd {
            lr,
            momentum,
            dampening,
            weight_decay,
            nesterov,
            maximize,
        } = self.settings;
        let mut scratch = [0.0; BLOCK];
        let mut buffers = self.buffer.chunks_mut(BLOCK);
        let blocks = self.weights.chunks_mut(BLOCK);
        for (weights, gradient) in blocks.zip(self.gradient.chunks(BLOCK)) {
            let gradient = blocks::copied(&mut scratch, gradient, maximize);
            if weight_decay != 0.0 {
                add(gradient, weights, weight_decay as f32);
            }
            let Some(buffer) = buffers.next() else {
                add(weights, gradient, -lr as f32);
                continue;
            };
            if self.is_first {
                buffer.copy_from_slice(gradient);
            } else {
                mul(buffer, momentum as f32);
                add(buffer, gradient, (1.0 - dampening) as f32);
            }
            if nesterov {
                add(gradient, buffer, momentum as f32);
                add(weights, gradient, -lr as f32);
            } else {
                add(weights, buffer, -lr as f32);
            }
        }
    }
}
