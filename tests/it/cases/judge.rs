//! Reading a file whole, and comparing with an entry of an `expected.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nnx_checkpoint::{CheckpointReader, Error, ErrorKind};
use nnx_tests::{Json, sha256};

/// By name: dtype as safetensors spells it, shape, hash.
type Tensors = BTreeMap<String, (String, Vec<usize>, String)>;

/// The contents that were read from a file.
pub(crate) struct Outcome {
    tensors: Tensors,
    others: BTreeSet<String>,
    metadata: Vec<(String, String)>,
    notes: Vec<String>,
    format: &'static str,
}

impl Outcome {
    /// The name of the file's format.
    pub(crate) fn format(&self) -> &'static str {
        self.format
    }

    /// Makes it the outcome of a file of another format, whose contents are to be the same.
    pub(crate) fn set_format(&mut self, format: &'static str) {
        self.format = format;
    }
}

/// Opens a file and takes every tensor's bytes.
pub(crate) fn read(path: &Path) -> Result<Outcome, Error> {
    let reader = CheckpointReader::open(path)?;
    let mut tensors = BTreeMap::new();
    for entry in reader.tensors() {
        let tensor = reader.tensor(entry.name())?;
        let bytes = tensor.to_bytes()?;
        assert_eq!(bytes.len() as u64, entry.byte_len(), "{}", entry.name());
        let dtype = entry
            .dtype()
            .safetensors_name()
            .unwrap_or(entry.dtype().name());
        tensors.insert(
            entry.name().to_owned(),
            (dtype.to_owned(), entry.shape().to_vec(), sha256(&bytes)),
        );
    }
    assert_eq!(tensors.len(), reader.tensors().len(), "names differ");
    Ok(Outcome {
        tensors,
        others: reader
            .non_tensors()
            .iter()
            .map(|other| other.path().to_owned())
            .collect(),
        metadata: reader
            .metadata()
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        notes: reader.notes().to_vec(),
        format: reader.format().name(),
    })
}

/// The tensors of an entry, under the names that are expected; `F4` shapes count single values
/// there, pairs here.
fn expected_tensors(expected: &Json, key: &str) -> Option<Tensors> {
    let tensors = expected.find(key)?;
    let tensors = tensors.state().keys().map(|name| {
        let tensor = tensors.get(name);
        let dtype = tensor.get("dtype").text().to_owned();
        let mut shape: Vec<usize> = tensor.get("shape").items().iter().map(Json::size).collect();
        if let ("F4", Some(last)) = (dtype.as_str(), shape.last_mut()) {
            *last /= 2;
        }
        let hash = tensor.get("sha256").text().to_owned();
        (name.to_owned(), (dtype, shape, hash))
    });
    Some(tensors.collect())
}

/// Whether a leaf is listed: under its own path, or that of something above or below it.
fn is_listed(others: &BTreeSet<String>, path: &str) -> bool {
    others.iter().any(|other| {
        let lies_below = |above: &str, below: &str| {
            below == above
                || below
                    .strip_prefix(above)
                    .is_some_and(|rest| rest.starts_with('.'))
        };
        lies_below(other, path) || lies_below(path, other)
    })
}

/// Judges an outcome; an error says what is wrong.
pub(crate) fn judge(expected: &Json, outcome: Result<Outcome, Error>) -> Result<(), String> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let mut reasons: Vec<String> = Vec::new();
            if let Some(reason) = expected.find("error") {
                reasons.push(reason.text().to_owned());
                reasons.extend(expected.find("or").map(|or| or.texts()).unwrap_or_default());
            } else if let Some(reasons_too) = expected.find("or_error") {
                reasons.extend(reasons_too.texts());
            } else {
                return Err(format!("refused: {error}"));
            }
            return if reasons.iter().any(|reason| fits(reason, &error)) {
                Ok(())
            } else {
                Err(format!(
                    "refused for another reason than {reasons:?}: {error}"
                ))
            };
        }
    };
    if let Some(reason) = expected.find("error") {
        let read_after_all = expected_tensors(expected, "tensors_if_read")
            .is_some_and(|tensors| tensors == outcome.tensors);
        let is_empty = reason.text() == "no_tensors" && outcome.tensors.is_empty();
        return if read_after_all || is_empty || expected.find("accept_ok").is_some() {
            Ok(())
        } else {
            Err(format!(
                "read, with tensors {:?}, where `{}` was expected",
                outcome.tensors.keys(),
                reason.text()
            ))
        };
    }
    let tensors = expected_tensors(expected, "tensors").expect("tensors or an error");
    for (name, tensor) in &tensors {
        let found = outcome.tensors.get(name);
        if found != Some(tensor) {
            return Err(format!("`{name}` is {found:?}, expected {tensor:?}"));
        }
    }
    if expected.find("more_tensors_ok").is_none() && tensors.len() != outcome.tensors.len() {
        return Err(format!(
            "tensors {:?}, expected {:?}",
            outcome.tensors.keys(),
            tensors.keys()
        ));
    }
    for path in expected
        .find("skipped")
        .map(|paths| paths.texts())
        .unwrap_or_default()
    {
        if !is_listed(&outcome.others, &path) {
            return Err(format!("`{path}` is not among {:?}", outcome.others));
        }
    }
    if let Some(parts) = expected_tensors(expected, "parts") {
        for (name, tensor) in &parts {
            let found = outcome.tensors.get(name);
            if found != Some(tensor) {
                return Err(format!(
                    "the part `{name}` is {found:?}, expected {tensor:?}"
                ));
            }
        }
    }
    if let Some(metadata) = expected.find("metadata") {
        let metadata: Vec<(String, String)> = metadata
            .state()
            .keys()
            .map(|key| (key.to_owned(), metadata.get(key).text().to_owned()))
            .collect();
        if metadata != outcome.metadata {
            return Err(format!("metadata {:?}", outcome.metadata));
        }
    }
    if let Some(format) = expected.find("format")
        && format.text() != outcome.format
    {
        return Err(format!("format {}", outcome.format));
    }
    match expected.find("warn") {
        Some(warn) if outcome.notes.is_empty() => Err(format!("no note of `{}`", warn.text())),
        _ => Ok(()),
    }
}

/// Whether the error is one for that reason: by its kind, and where a kind is wide, by a word of
/// its text.
fn fits(reason: &str, error: &Error) -> bool {
    let text = error.to_string();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_named =
        |words: &[&str]| matches!(error.kind(), ErrorKind::NotACheckpoint { .. }) && says(words);
    let malformed = matches!(error.kind(), ErrorKind::Malformed { .. });
    let unsupported = matches!(error.kind(), ErrorKind::Unsupported { .. });
    match reason {
        "forbidden_global" => matches!(error.kind(), ErrorKind::UnsafeGlobal { .. }),
        "limit_exceeded" | "header_too_large"
            if matches!(error.kind(), ErrorKind::LimitExceeded { .. }) =>
        {
            true
        }
        "name_collision" => matches!(error.kind(), ErrorKind::NameCollision { .. }),
        "missing_shard" => matches!(error.kind(), ErrorKind::MissingShard { .. }),
        "path_traversal" => matches!(error.kind(), ErrorKind::PathTraversal { .. }),
        "unknown_format" | "format_mismatch" | "bad_magic" => {
            matches!(error.kind(), ErrorKind::NotACheckpoint { .. })
        }
        "unsupported_tensor"
        | "unsupported_dtype"
        | "unknown_storage_type"
        | "zip_unsupported_method"
        | "unsupported_opcode" => unsupported,
        "git_lfs" => is_named(&["Git LFS pointer"]),
        "html" => is_named(&["a web page"]),
        "empty" => matches!(error.kind(), ErrorKind::Empty),
        "torch_package" => is_named(&["a torch.package"]),
        "numpy" => is_named(&["a NumPy ar"]),
        "plain_zip" => is_named(&["a zip archive without"]),
        "plain_tar" => is_named(&["a tar archive without"]),
        "gguf" => is_named(&["GGUF"]),
        "hdf5" => is_named(&["HDF5"]),
        "onnx" => is_named(&["ONNX"]),
        "flax" => is_named(&["Flax"]),
        "compressed" => is_named(&["a compressed file"]),
        "no_weights" => is_named(&["a folder without weights"]),
        "exported_program" => is_named(&["torch.export"]),
        "part_of_a_distributed_checkpoint" => {
            unsupported && says(&["a part of a distributed checkpoint"])
        }
        "unsupported" => unsupported,
        "not_in_shard" => malformed && says(&["does not hold it"]),
        "zip_encrypted" => unsupported && says(&["encrypted"]),
        "zip_header_mismatch" => malformed && says(&["local header"]),
        "missing_root_folder" => malformed && says(&["folder"]),
        "missing_data_pkl" => malformed && says(&["data.pkl"]),
        "ambiguous_root" => malformed && says(&["two folders"]),
        "missing_storage" => malformed && says(&["no record of storage", "does not hold storage"]),
        "storage_too_short" | "storage_size_mismatch" => {
            malformed && says(&["by its persistent id", "bytes"])
        }
        "out_of_bounds" | "overflow" => {
            malformed && says(&["overflow", "reaches", "takes", "must be", "dimensions"])
        }
        "truncated" | "not_fully_covered" => {
            malformed
                && says(&[
                    "ends",
                    "end",
                    "cut short",
                    "found",
                    "expected",
                    "reach past",
                ])
        }
        "duplicate_key" => malformed && says(&["twice"]),
        "invalid_offsets" => malformed && says(&["offsets"]),
        "shape_mismatch" | "misaligned_slice" => malformed && says(&["shape"]),
        "malformed_pickle"
        | "invalid_header"
        | "metadata_not_string"
        | "zip_corrupt"
        | "header_too_large"
        | "trailing_data"
        | "prefix_data" => malformed,
        _ => false,
    }
}
