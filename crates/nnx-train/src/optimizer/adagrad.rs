//! Adagrad: `torch.optim.Adagrad`. NNx does not build it; a saved state of it can be continued.

use nnx_run::GroupSettings;

use super::blocks::{self, BLOCK, Update};
use super::operations::{add, add_product, add_quotient, denominator};
use super::settings;
use super::slots::{SlotNames, Slots};
use crate::error::Result;

pub(super) const CLASS: &str = "torch.optim.adagrad.Adagrad";

/// The settings of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adagrad {
    lr: f64,
    lr_decay: f64,
    eps: f64,
    weight_decay: f64,
    initial: f64,
    maximize: bool,
}

/// The sum of the squared gradients.
pub(super) const SLOTS: SlotNames = SlotNames {
    counts: true,
    buffers: &["sum"],
};

impl Adagrad {
    pub(super) fn read(of: &GroupSettings) -> Result<Self> {
        Ok(Self {
            lr: settings::number(of, "lr")?,
            lr_decay: settings::number(of, "lr_decay")?,
            eps: settings::number(of, "eps")?,
            weight_decay: settings::number(of, "weight_decay")?,
            initial: settings::number_or(of, "initial_accumulator_value", 0.0)?,
            maximize: settings::flag(of, "maximize")?,
        })
    }

    pub(super) fn update(&self, weights: &mut [f32], gradient: &[f32], slots: &mut Slots) {
        slots.step += 1.0;
        let step = f64::from(slots.step);
        let [sum, ..] = &mut slots.buffers;
        blocks::run(AdagradUpdate {
            settings: *self,
            rate: self.lr / (1.0 + (step - 1.0) * self.lr_decay),
            weights,
            gradient,
            sum: sum.get_or_insert_with(|| vec![self.initial as f32; gradient.len()]),
        });
    }
}

struct AdagradUpdate<'a> {
    settings: Adagrad,
    rate: f64,
    weights: &'a mut [f32],
    gradient: &'a [f32],
    sum: &'a mut [f32],
}

impl Update for AdagradUpdate<'_> {
    #[inline(always)]
    fn run(self) {
        let Adagrad {
            eps,
            weight_decay,
            maximize,
            ..
        } = self.settings;
        let (mut scratch, mut roots) = ([0.0; BLOCK], [0.0; BLOCK]);
        let blocks = self.weights.chunks_mut(BLOCK);
        let blocks = blocks
            .zip(self.gradient.chunks(BLOCK))
            .zip(self.sum.chunks_mut(BLOCK));
        for ((weights, gradient), sum) in blocks {
            let gradient = blocks::copied(&mut scratch, gradient, maximize);
            if weight_decay != 0.0 {
                add(gradient, weights, weight_decay as f32);
            }
            add_product(sum, gradient, gradient, 1.0);
            let root = blocks::copied(&mut roots, sum, false);
            denominator(root, 1.0, eps as f32);
            add_quotient(weights, gradient, root, -self.rate as f32);
        }
    }
}
