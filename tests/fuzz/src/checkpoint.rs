//! Checkpoints of NNx, read and written in both forms.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use nnx_checkpoint::{CheckpointFormat, Format, NNCheckpoint, OpenOptions, StateValue};
use nnx_params::{NNCheckpointTransform, NetParams, Value, python_text};

use crate::limits::limits;
use crate::{same, wrap};

/// A checkpoint that is read is written in both forms, and read again with nothing lost.
///
/// A pickle that is no file of PyTorch is judged within an archive of its own.
///
/// # Panics
/// When a promise is broken.
pub fn checkpoint(data: &[u8]) {
    judge(&Bytes::copy_from_slice(data));
    if nnx_checkpoint::sniff(data) == Some(Format::Pickle)
        && let Some(archive) = wrap::archive(data)
    {
        judge(&archive.into());
    }
}

fn judge(bytes: &Bytes) {
    let Ok(checkpoint) =
        NNCheckpoint::from_bytes_with(bytes, &OpenOptions::default().limits(limits()))
    else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for format in [CheckpointFormat::Pickle, CheckpointFormat::SafeTensors] {
        let path = folder.path().join(format.name());
        if checkpoint.to_file(&path, format).is_err() {
            assert!(!path.exists(), "a refused checkpoint left a file");
            continue;
        }
        let again = NNCheckpoint::from_file(&path)
            .unwrap_or_else(|error| panic!("written as {format:?} and not read: {error}"));
        same_checkpoint(&checkpoint, &again, format);
        second_writing(&again, &path, format);
    }
}

fn second_writing(again: &NNCheckpoint, path: &Path, format: CheckpointFormat) {
    let first = std::fs::read(path).expect("the file was read before");
    let target = path.with_extension("again");
    again
        .to_file(&target, format)
        .expect("what was read was written before");
    let second = std::fs::read(&target).expect("the file was written");
    assert!(first == second, "the second writing as {format:?} differs");
}

fn same_checkpoint(one: &NNCheckpoint, other: &NNCheckpoint, format: CheckpointFormat) {
    assert_eq!(states(one, format), states(other, format), "as {format:?}");
    assert_eq!(
        one.training_state_id, other.training_state_id,
        "as {format:?}"
    );
    assert_eq!(
        one.training_state_present, other.training_state_present,
        "as {format:?}"
    );

    let names = |checkpoint: &NNCheckpoint| -> Vec<String> {
        checkpoint
            .net_state
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    let (mut ours, mut theirs) = (names(one), names(other));
    if format == CheckpointFormat::SafeTensors {
        // That form has its own order.
        ours.sort();
        theirs.sort();
    }
    assert_eq!(ours, theirs, "the names of the state dict as {format:?}");
    let values: BTreeMap<_, _> = other.net_state.iter().collect();
    for (name, value) in one.net_state.iter() {
        match (value, values[name]) {
            (StateValue::Tensor(one), StateValue::Tensor(other)) => match format {
                CheckpointFormat::Pickle => same::tensors(name, one, other, &limits()),
                CheckpointFormat::SafeTensors => same::values(name, one, other, &limits()),
            },
            (StateValue::Object(one), StateValue::Object(other)) => {
                let describe = |object: &nnx_checkpoint::torch::PickledObject| {
                    object.whole().graph().describe(object.id())
                };
                assert_eq!(describe(one), describe(other), "{name:?}");
            }
            (one, other) => panic!("{name:?}: {one:?} became {other:?}"),
        }
    }
}

/// The configurations. JSON has one NaN where a pickle has many.
fn states(checkpoint: &NNCheckpoint, format: CheckpointFormat) -> Vec<Value> {
    let model = checkpoint.model_params.full_state();
    let net = checkpoint.net_params.as_ref().map(NetParams::full_state);
    let mut states = vec![
        model.expect("a checkpoint that was read has no module of this process"),
        checkpoint.idp.full_state(),
    ];
    states.extend(net);
    let transforms = checkpoint.transforms.iter();
    states.extend(transforms.map(NNCheckpointTransform::full_state));
    let value = |state| match format {
        CheckpointFormat::Pickle => Value::Map(state),
        CheckpointFormat::SafeTensors => Value::Str(python_text::json_dumps(&Value::Map(state))),
    };
    states.into_iter().map(value).collect()
}
