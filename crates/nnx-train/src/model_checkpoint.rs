//! Checkpoints at chosen epochs.

use std::collections::BTreeSet;

use nnx_run::CheckpointTag;

use crate::callback::Callback;
use crate::context::Context;
use crate::error::Result;

/// Saves the weights alone at chosen epochs, as `checkpoints/<tag>_e<epoch>.pt`: NNx's
/// `ModelCheckpoint`.
#[derive(Clone, Debug)]
pub struct ModelCheckpoint {
    epochs: BTreeSet<i64>,
    tag: String,
}

impl ModelCheckpoint {
    /// Saves at these epochs, counted from 0, under the tag `custom`.
    pub fn new(epochs: impl IntoIterator<Item = i64>) -> Self {
        Self {
            epochs: epochs.into_iter().collect(),
            tag: "custom".to_owned(),
        }
    }

    /// Sets the first part of the tags.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = tag.into();
        self
    }
}

impl Callback for ModelCheckpoint {
    fn on_train_begin(&mut self, _: &mut Context<'_>) -> Result<()> {
        CheckpointTag::new(&self.tag)?;
        Ok(())
    }

    fn on_epoch_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        if !self.epochs.contains(&ctx.epoch()) {
            return Ok(());
        }
        let tag = CheckpointTag::new(&format!("{}_e{}", self.tag, ctx.epoch()))?;
        ctx.save_later(tag)
    }
}
