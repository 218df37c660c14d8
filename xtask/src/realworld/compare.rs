//! Compares a file with PyTorch's reading of it.

use std::collections::BTreeMap;
use std::path::Path;

use nnx_checkpoint::{CheckpointReader, ConvertOptions, TensorEntry, convert};

use super::{Expected, sha256};
use crate::Result;

/// The differences between a file's tensors and the expected ones, one in each line.
///
/// # Errors
/// When the file cannot be opened.
pub(super) fn differences(
    path: &Path,
    expected: &BTreeMap<String, Expected>,
) -> Result<Vec<String>> {
    let checkpoint = CheckpointReader::open(path)?;
    let mut differences = Vec::new();
    for (name, expected) in expected {
        let found = checkpoint
            .entry(name)
            .map(|entry| found(&checkpoint, entry));
        match found {
            None => differences.push(format!("`{name}` is missing")),
            Some(Err(error)) => differences.push(format!("`{name}` is not read: {error}")),
            Some(Ok(found)) if found != *expected => {
                differences.push(format!("`{name}`: expected {expected:?}, found {found:?}"));
            }
            Some(Ok(_)) => {}
        }
    }
    let more = checkpoint.tensors().iter().map(TensorEntry::name);
    let more = more.filter(|name| !expected.contains_key(*name));
    differences.extend(more.map(|name| format!("`{name}` is not expected")));
    Ok(differences)
}

/// The differences after a conversion to safetensors, and after one to torch.
///
/// # Errors
/// When the file cannot be converted.
pub(super) fn converted(path: &Path, expected: &BTreeMap<String, Expected>) -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let options = ConvertOptions::default().drop_non_tensors(true);
    let mut all = Vec::new();
    for name in ["converted.safetensors", "converted.pt"] {
        let target = folder.path().join(name);
        convert(path, &target, &options)?;
        all.extend(differences(&target, expected)?);
    }
    Ok(all)
}

fn found(checkpoint: &CheckpointReader, entry: &TensorEntry) -> Result<Expected> {
    let tensor = checkpoint.tensor(entry.name())?;
    if (tensor.dtype(), tensor.shape()) != (entry.dtype(), entry.shape()) {
        return Err(format!("listed as {entry:?}").into());
    }
    Ok(Expected {
        dtype: tensor.dtype().name().into(),
        shape: tensor.shape().to_vec(),
        sha256: sha256(&tensor.to_bytes()?),
    })
}
