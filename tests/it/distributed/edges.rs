//! Checkpoints of several processes at the edges of what is joined, which `distributed_edges.py` made.

use nnx_checkpoint::{CheckpointPart, CheckpointReader, OpenOptions, verify};
use serde_json::Value;

use super::{expected, found, json, root};

/// What is wrong with the outcome of a case, in words.
fn fault(name: &str, case: &Value) -> Option<String> {
    let folder = root().join("edges").join(name);
    let part = case["part"].as_str().unwrap_or("all");
    let options = OpenOptions::default().part(CheckpointPart::from_name(part).unwrap());
    let checked = verify(&folder, &options);
    if let Some(wanted) = case["error"].as_str() {
        let error = match &checked {
            Ok(checked) => checked.faults.first(),
            Err(error) => Some(error),
        };
        let Some(error) = error else {
            return Some("not noticed".to_owned());
        };
        let is_limit = wanted == "limit" && error.name() == "limit_exceeded";
        return (error.name() != wanted && !is_limit)
            .then(|| format!("{error} ({}), expected {wanted}", error.name()));
    }
    match checked {
        Ok(checked) if checked.is_sound() => {}
        other => return Some(format!("{other:?}")),
    }
    let reader = match CheckpointReader::open_with(&folder, &options) {
        Ok(reader) => reader,
        Err(error) => return Some(error.to_string()),
    };
    let note = case["note"].as_str().unwrap_or_default();
    if !reader.notes().iter().any(|found| found.contains(note)) {
        return Some(format!("no note of {note}: {:?}", reader.notes()));
    }
    match found(&reader) {
        Ok(found) if found == expected(&case["tensors"]) => None,
        other => Some(format!("{other:?}")),
    }
}

#[test]
fn every_edge_is_joined_or_refused_for_its_reason() {
    let cases = json(&root().join("edges/expected.json"));
    let cases = cases.as_object().unwrap();
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|(name, case)| {
            println!("{name}");
            Some(format!("{name}: {}", fault(name, case)?))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(cases.len() >= 31);
}
