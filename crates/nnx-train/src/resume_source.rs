//! The checkpoint that a training goes on from.

use std::str::FromStr;

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{Checkpoints, ResumeMode};
use nnx_run::{CheckpointStore, CheckpointTag, Manifest, TrainingState};

use crate::error::{Error, Result};
use crate::model::Model;
use crate::session::Session;

/// A checkpoint of another run, verified.
#[derive(Debug)]
pub(crate) struct ResumeSource {
    pub(crate) checkpoint: NNCheckpoint,
    /// The training state; `None` if only the weights are restored.
    pub(crate) state: Option<TrainingState>,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) tag: CheckpointTag,
    /// The run and the checkpoint, for messages.
    pub(crate) label: String,
}

impl ResumeSource {
    /// Reads and verifies the source of a session.
    ///
    /// # Errors
    /// When the tag is not one, the checkpoint does not exist or was changed, the model has another
    /// recipe, or the mode asks for a training state that is not there.
    pub(crate) fn read(session: &Session<'_>, id: &str) -> Result<Self> {
        let settings = &session.settings;
        let tag = tag(&settings.source_checkpoint)?;
        let store = CheckpointStore::new(id, &session.root)?;
        let label = format!("{id}/{tag}");
        let manifest = store.verify(&tag)?;
        let (checkpoint, state) = store.load_with_training_state(&tag)?;
        let checkpoint = checkpoint
            .ok_or_else(|| Error::resume(format!("the checkpoint `{label}` does not exist")))?;
        let model: &dyn Model = session.model;
        if checkpoint.transforms != model.transforms() {
            return Err(Error::resume(format!(
                "`{label}` was trained with other transforms than the model's: apply the same recipe to \
                 the model before resuming"
            )));
        }
        if let Some(manifest) = &manifest
            && state.is_some()
            && manifest.checkpoint_id() != checkpoint.training_state_id.as_deref()
        {
            return Err(Error::resume(format!(
                "`{label}` changed while it was read, try again"
            )));
        }
        let state = match settings.resume_mode {
            ResumeMode::WeightsOnly => None,
            ResumeMode::Stateful if state.is_none() => {
                return Err(Error::resume(format!(
                    "`{label}` has no training state, so that only its weights can be restored: resume \
                     with `weights_only`"
                )));
            }
            _ => state,
        };
        let source = Self {
            checkpoint,
            state,
            manifest,
            tag,
            label,
        };
        source.check_kind(settings.trainer.is_some())?;
        Ok(source)
    }

    /// Checks that one optimizer goes on from one, and several from several.
    fn check_kind(&self, has_several: bool) -> Result<()> {
        let Some(state) = &self.state else {
            return Ok(());
        };
        let is_none = |key| state.get(key).is_none_or(nnx_run::Data::is_none);
        let had_several = !is_none("optimizers") && is_none("optimizer");
        if had_several == has_several {
            return Ok(());
        }
        let number = |several| {
            if several {
                "several optimizers"
            } else {
                "one optimizer"
            }
        };
        Err(Error::resume(format!(
            "`{}` was trained with {}, this training has {}",
            self.label,
            number(had_several),
            number(has_several)
        )))
    }
}

/// The tag of a checkpoint to resume from: a phase, or that of a callback with its epoch.
fn tag(text: &str) -> Result<CheckpointTag> {
    let is_phase = Checkpoints::from_str(text).is_ok();
    let numbered = text.rsplit_once("_e").is_some_and(|(tag, epoch)| {
        !tag.is_empty() && !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit())
    });
    if is_phase || numbered {
        return Ok(CheckpointTag::new(text)?);
    }
    Err(Error::resume(format!(
        "`{text}` is no checkpoint to resume from: expected `first`, `q1`, `q2`, `q3`, `best`, `last` or \
         the tag of a callback such as `custom_e3`"
    )))
}
