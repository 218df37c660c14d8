//! Checkpoints of NNx from one of their two forms to the other.

use std::sync::Arc;

use super::{Expected, Plan, tensors, torch};
use crate::checkpoint::NNCheckpoint;
use crate::convert::options::ConvertOptions;
use crate::convert::selection::{Selection, Transform};
use crate::convert::target::Target;
use crate::error::Result;
use crate::reader::nn_checkpoint::NET_STATE;
use crate::target_format::TargetFormat;
use crate::{CheckpointReader, Format};

/// Plans the other form of an NNx checkpoint; none when the source is no such checkpoint, stays in
/// its form, or only a part of it is converted.
///
/// # Errors
/// When the checkpoint is not valid, or the other form has no place for something in it.
pub(super) fn plan(
    reader: &CheckpointReader,
    target: &Target<'_>,
    options: &ConvertOptions,
) -> Result<Option<Plan>> {
    let is_torch = target.format == TargetFormat::Torch;
    if options.renames() || (is_torch && options.drop_non_tensors) {
        return Ok(None);
    }
    let is_safetensors = matches!(
        reader.format(),
        Format::SafeTensors | Format::ShardedSafeTensors
    );
    let is_other_form = is_safetensors == (target.format == TargetFormat::Torch);
    if !is_other_form || !NNCheckpoint::is_one(reader) {
        return Ok(None);
    }
    let mut checkpoint = NNCheckpoint::from_reader(reader, &options.limits)?;
    let mut transform = Transform::new(options);
    for tensor in checkpoint.net_state.tensors_mut() {
        *tensor = transform.apply(tensor, false)?;
    }
    match target.format {
        TargetFormat::SafeTensors => {
            for (key, value) in &options.metadata {
                checkpoint.extra_metadata.insert(key.clone(), value.clone());
            }
            checkpoint = checkpoint.with_format_metadata();
            let (state, metadata) = checkpoint.safetensors_parts()?;
            let selection = Selection::from_tensors(state.into_iter());
            tensors::plan(selection.tensors, metadata, target, options, &mut transform).map(Some)
        }
        TargetFormat::Torch => {
            let object = Arc::new(checkpoint.torch_object()?);
            let expected = checkpoint
                .net_state
                .tensors()
                .map(|(name, tensor)| Expected {
                    name: format!("{NET_STATE}.{name}"),
                    dtype: tensor.dtype(),
                    shape: tensor.shape().to_vec(),
                });
            let target = target.single();
            let root = Some(NNCheckpoint::ARCHIVE_ROOT);
            let file = torch::file(&object, expected.collect(), target, root, options)?;
            Ok(Some(Plan::from_file(file, transform.cast)))
        }
    }
}
