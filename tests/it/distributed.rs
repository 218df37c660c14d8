//! Checkpoints of several processes: every folder that the real libraries wrote, joined as Python does
//! it, and folders with one fault each.

mod edges;
mod limits;
mod parts;
mod recognition;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nnx_checkpoint::{
    CheckpointPart, CheckpointReader, ConvertOptions, OpenOptions, PickledValue, Result, convert,
    verify,
};
use nnx_tests::fixtures_dir;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Name, dtype, shape and SHA-256 of tensors.
type Tensors = BTreeMap<String, (String, Vec<u64>, String)>;

fn root() -> PathBuf {
    fixtures_dir().join("distributed")
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The folders with expected values below a folder.
fn folders(below: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(below)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries.into_iter().filter(|entry| entry.is_dir()) {
        if entry.ends_with("damaged") || entry.ends_with("edges") {
            continue;
        }
        if entry.join("expected.json").is_file() {
            found.push(entry.clone());
        }
        folders(&entry, found);
    }
}

fn expected(tensors: &Value) -> Tensors {
    let Value::Object(tensors) = tensors else {
        return Tensors::new();
    };
    let tensors = tensors.iter().map(|(name, tensor)| {
        let shape = tensor["shape"].as_array().unwrap().iter();
        let shape = shape.map(|size| size.as_u64().unwrap()).collect();
        let text = |key: &str| tensor[key].as_str().unwrap().to_owned();
        (name.clone(), (text("dtype"), shape, text("sha256")))
    });
    tensors.collect()
}

fn found(reader: &CheckpointReader) -> Result<Tensors> {
    let tensors = reader.tensors().iter().map(|entry| {
        let mut hash = Sha256::new();
        let mut bytes = Vec::new();
        entry.unread_tensor()?.copy_to(&mut bytes)?;
        hash.update(&bytes);
        let hash = hash.finalize();
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let shape = entry.shape().iter().map(|&size| size as u64).collect();
        let form = (entry.dtype().name().to_owned(), shape, hex);
        Ok((entry.name().to_owned(), form))
    });
    tensors.collect()
}

/// The tensors that a folder is joined to; those that only the module of a ZeRO save has are among them.
fn expected_tensors(expected_json: &Value) -> Tensors {
    let mut all = expected(&expected_json["tensors"]);
    all.extend(expected(&expected_json["only_in_module"]));
    all
}

/// Whether the value of a path is the one that Python has. A container that is not listed as a value
/// has members that are.
fn is_same(reader: &CheckpointReader, path: &str, leaf: &Value) -> bool {
    let mut entries = reader.non_tensors().iter();
    if let Some(entry) = entries.find(|entry| entry.path() == path) {
        let value = reader.value(entry);
        return value.is_some_and(|value| is_leaf(&value, leaf));
    }
    let members: Vec<(String, &Value)> = match leaf["t"].as_str().unwrap() {
        "dict" => pairs(leaf)
            .map(|(key, value)| (key["v"].as_str().unwrap().to_owned(), value))
            .collect(),
        "list" | "tuple" => items(leaf)
            .enumerate()
            .map(|(at, item)| (at.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    let is_member =
        |(name, leaf): &(String, &Value)| is_same(reader, &format!("{path}.{name}"), leaf);
    !members.is_empty() && members.iter().all(is_member)
}

/// The items of a list or a tuple.
fn items(leaf: &Value) -> impl ExactSizeIterator<Item = &Value> {
    leaf["v"].as_array().unwrap().iter()
}

/// The keys and values of a dict.
fn pairs(leaf: &Value) -> impl ExactSizeIterator<Item = (&Value, &Value)> {
    items(leaf).map(|pair| (&pair[0], &pair[1]))
}

/// Whether a value is the one that Python has.
fn is_leaf(value: &PickledValue, leaf: &Value) -> bool {
    let text = || leaf["v"].as_str().unwrap();
    match (leaf["t"].as_str().unwrap(), value) {
        ("none", PickledValue::None) => true,
        ("bool", PickledValue::Bool(value)) => leaf["v"].as_bool() == Some(*value),
        ("int", PickledValue::Int(value)) => text() == value.to_string(),
        ("float", PickledValue::Float(value)) => {
            text().parse::<f64>().unwrap().to_bits() == value.to_bits()
                || text() == "nan" && value.is_nan()
        }
        ("str", PickledValue::Text { text: found, .. }) => text() == found,
        (
            kind @ ("list" | "tuple"),
            PickledValue::Sequence {
                class,
                items: found,
                ..
            },
        ) => {
            *class == kind
                && items(leaf).len() == found.len()
                && found
                    .iter()
                    .zip(items(leaf))
                    .all(|(found, leaf)| is_leaf(found, leaf))
        }
        ("dict", PickledValue::Mapping { pairs: found, .. }) => {
            pairs(leaf).len() == found.len()
                && found
                    .iter()
                    .zip(pairs(leaf))
                    .all(|((name, found), (key, leaf))| {
                        key["v"].as_str() == Some(name) && is_leaf(found, leaf)
                    })
        }
        ("torch.dtype", PickledValue::Global(found)) => *found == format!("torch.{}", text()),
        ("torch.Size", PickledValue::Call { callable, args }) => {
            let sizes = items(leaf).map(|size| PickledValue::Int(size.as_i64().unwrap().into()));
            let tuple = PickledValue::Sequence {
                class: "tuple",
                items: sizes.collect(),
                count: items(leaf).len(),
            };
            callable == "torch.Size" && *args == [tuple]
        }
        // As protocol 2 of pickle writes bytes: as the text of their Latin-1 characters.
        ("bytes", PickledValue::Call { callable, args }) => match args.as_slice() {
            [PickledValue::Text { text: latin, .. }, _] => {
                let bytes = latin.chars().map(u32::from);
                let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
                callable == "_codecs.encode" && hex == text()
            }
            _ => false,
        },
        _ => false,
    }
}

/// Converts all of a folder to a safetensors file, or where that has no place for a dtype to a PyTorch
/// file.
fn converted(folder: &Path, target: &Path, is_distributed: bool) -> Result<PathBuf> {
    let mut options = ConvertOptions::default()
        .overwrite(true)
        .drop_non_tensors(true);
    options.part = is_distributed.then_some(CheckpointPart::All);
    let file = target.join("joined.safetensors");
    match convert(folder, &file, &options) {
        Ok(_) => Ok(file),
        Err(error) if error.name() == "unsupported" => {
            let file = target.join("joined.pt");
            convert(folder, &file, &options)?;
            Ok(file)
        }
        Err(error) => Err(error),
    }
}

#[test]
fn every_folder_is_joined_as_the_library_joins_it() {
    let mut all = Vec::new();
    folders(&root(), &mut all);
    let target = tempfile::tempdir().unwrap();
    let (mut folders, mut tensors, mut leaves, mut faults) = (0, 0, 0, Vec::new());
    for folder in &all {
        let name = folder.strip_prefix(root()).unwrap().display().to_string();
        let wanted = json(&folder.join("expected.json"));
        let opened = CheckpointReader::open(folder);
        if wanted["format"] == "unsupported" {
            let refused = opened.err().map(|error| error.name());
            if refused != Some("fsdp_flat_parameters") {
                faults.push(format!("{name}: {refused:?}"));
            }
            folders += 1;
            continue;
        }
        let reader = match opened {
            Ok(reader) => reader,
            Err(error) => {
                faults.push(format!("{name}: {error}"));
                continue;
            }
        };
        let all = expected_tensors(&wanted);
        match found(&reader) {
            Ok(found) if found == all => tensors += found.len(),
            Ok(found) => {
                let differ = |(name, form): &(&String, &_)| all.get(*name) != Some(form);
                let other: Vec<_> = found.iter().filter(differ).map(|(name, _)| name).collect();
                let missing: Vec<_> = all
                    .keys()
                    .filter(|name| !found.contains_key(*name))
                    .collect();
                faults.push(format!("{name}: {other:?} differ, {missing:?} are missing"));
            }
            Err(error) => faults.push(format!("{name}: {error}")),
        }
        if let Value::Object(wanted) = &wanted["leaves"] {
            for (path, leaf) in wanted {
                if is_same(&reader, path, leaf) {
                    leaves += 1;
                } else {
                    faults.push(format!("{name}: the value `{path}` is not {leaf}"));
                }
            }
        }
        let back = converted(folder, target.path(), reader.format().is_distributed());
        match back.and_then(|file| found(&CheckpointReader::open(file)?)) {
            Ok(found) if found == all => {}
            Ok(_) => faults.push(format!("{name}: converted to other tensors")),
            Err(error) => faults.push(format!("{name}: {error}")),
        }
        match verify(folder, &OpenOptions::default()) {
            Ok(found) if found.is_sound() => {}
            other => faults.push(format!("{name}: {other:?}")),
        }
        folders += 1;
    }
    println!("{folders} folders, {tensors} tensors and {leaves} other values as in Python");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(folders, all.len());
    assert!(folders >= 35 && tensors >= 300 && leaves >= 100);
}

#[test]
fn every_damaged_folder_is_refused_for_its_reason() {
    let damaged = root().join("damaged");
    let expected = json(&damaged.join("expected.json"));
    let Value::Object(expected) = expected else {
        panic!("no object");
    };
    let (mut judged, mut faults) = (0, Vec::new());
    for (name, case) in &expected {
        let outcome = verify(damaged.join(name), &OpenOptions::default());
        judged += 1;
        if case["accept_as"].is_string() {
            if !outcome.as_ref().is_ok_and(|found| found.is_sound()) {
                faults.push(format!("{name}: {outcome:?}"));
            }
            continue;
        }
        let reason = match &outcome {
            Ok(found) => found
                .faults
                .first()
                .map(|fault| (fault.name(), fault.to_string())),
            Err(error) => Some((error.name(), error.to_string())),
        };
        let Some((reason, text)) = reason else {
            faults.push(format!("{name}: not noticed"));
            continue;
        };
        println!("{name}: {text}");
        let also = case["or"].as_array().cloned().unwrap_or_default();
        let mut reasons = also
            .iter()
            .chain([&case["error"]])
            .filter_map(Value::as_str);
        let is_reason = |wanted: &str| {
            reason == wanted
                || wanted == "forbidden_global" && reason == "unsafe_global"
                || wanted == "limit" && reason == "limit_exceeded"
        };
        if !reasons.any(is_reason) {
            faults.push(format!(
                "{name}: {text} ({reason}), expected {}",
                case["error"]
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(judged >= 38);
    assert_eq!(judged, expected.len());
}
