//! Any checkpoint, by its one reader.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use nnx_checkpoint::{CheckpointReader, Format, OpenOptions, SafetyLevel, Tensor};

use crate::limits::{ENOUGH_BYTES, limits};
use crate::wrap;

/// The tensors that are listed are those that are read, and none is left out. A file that names
/// code that runs is refused, and no other file is refused for that reason.
///
/// A pickle that is no file of PyTorch is judged within an archive of its own as well.
///
/// # Panics
/// When a promise is broken.
pub fn reader(data: &[u8]) {
    judge(&Bytes::copy_from_slice(data));
    if nnx_checkpoint::sniff(data) == Some(Format::Pickle)
        && let Some(archive) = wrap::archive(data)
    {
        judge(&archive.into());
    }
}

fn judge(bytes: &Bytes) {
    let options = OpenOptions::default().limits(limits());
    let careful = CheckpointReader::from_bytes(bytes.clone(), &options);
    let options = options.allow_dangerous_globals(true);
    let any = CheckpointReader::from_bytes(bytes.clone(), &options);
    let dangerous = |checkpoint: &CheckpointReader| {
        let mut globals = checkpoint.globals().iter();
        globals.any(|global| global.level == SafetyLevel::Dangerous)
    };
    // The arguments of these two decide whether a file is refused; the tests of `judged_calls`
    // judge which arguments do.
    let dangerous_by_name = |checkpoint: &CheckpointReader| {
        checkpoint.globals().iter().any(|global| {
            global.level == SafetyLevel::Dangerous
                && !matches!(
                    (global.module.as_str(), global.name.as_str()),
                    ("builtins" | "__builtin__", "getattr") | ("functools", "partial")
                )
        })
    };
    match (careful, any) {
        (Ok(careful), Ok(any)) => {
            assert!(!dangerous_by_name(&careful), "a dangerous file was opened");
            assert_eq!(careful.tensors(), any.tensors());
            assert_eq!(careful.non_tensors(), any.non_tensors());
            contents(&careful);
        }
        (Err(error), Ok(any)) => {
            assert!(dangerous(&any), "refused with {error}");
            contents(&any);
        }
        (Ok(_), Err(error)) => panic!("opened, and refused when more was allowed: {error}"),
        (Err(one), Err(_)) => {
            let said = one.to_string();
            assert!(
                !said.is_empty() && !said.contains('\n'),
                "not one line: {said:?}"
            );
        }
    }
}

fn contents(checkpoint: &CheckpointReader) {
    let mut names = HashSet::new();
    let mut storages: HashMap<usize, Tensor> = HashMap::new();
    let mut gathered = 0;
    for entry in checkpoint.tensors() {
        assert!(
            names.insert(entry.name()),
            "two tensors are named {:?}",
            entry.name()
        );
        assert_eq!(checkpoint.entry(entry.name()), Some(entry));
        let Ok(tensor) = checkpoint.tensor(entry.name()) else {
            continue;
        };
        assert_eq!(tensor.dtype(), entry.dtype(), "{:?}", entry.name());
        assert_eq!(tensor.shape(), entry.shape(), "{:?}", entry.name());
        assert_eq!(
            tensor.byte_len() as u64,
            entry.byte_len(),
            "{:?}",
            entry.name()
        );
        match entry.storage() {
            Some(number) => {
                let other = storages.entry(number).or_insert_with(|| tensor.clone());
                let [one, other] = [&tensor, &*other].map(|one| one.storage().bytes());
                let same = one.expect("it was read") == other.expect("it was read");
                assert!(same, "storage {number} has two contents");
            }
            // A number that a quantised module's `state_dict()` has as a tensor.
            None => assert!(entry.shape().is_empty(), "{:?}", entry.name()),
        }
        if let Ok(elements) = tensor.to_bytes_within(&limits()) {
            assert_eq!(elements.len() as u64, entry.byte_len());
            gathered += elements.len();
        }
        if gathered > ENOUGH_BYTES {
            return;
        }
    }
    for other in checkpoint.non_tensors() {
        assert!(
            !other.description().contains('\n'),
            "{:?} is not one line",
            other.path()
        );
    }
    if checkpoint.tensors().is_empty()
        && checkpoint.non_tensors().is_empty()
        && let Some(object) = checkpoint.object()
    {
        let lost = object
            .graph()
            .ids()
            .find(|&id| matches!(object.tensor(id), Ok(Some(_))));
        assert!(lost.is_none(), "a tensor was left out");
    }
}
