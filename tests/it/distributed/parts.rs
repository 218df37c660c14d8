//! The parts of a training: the model, the optimizer, or all.

use std::path::Path;

use nnx_checkpoint::{
    CheckpointPart, CheckpointReader, ConvertOptions, OpenOptions, Result, convert,
};

use super::{Tensors, expected_tensors, folders, found, json, root};

/// The tensors that a folder gives by default.
fn converted(folder: &Path, target: &Path) -> Result<Tensors> {
    convert(folder, target, &ConvertOptions::default().overwrite(true))?;
    found(&CheckpointReader::open(target)?)
}

/// The tensors of the model, where there are a model and an optimizer.
fn by_default(all: &Tensors) -> Tensors {
    let is_model = |name: &String| CheckpointPart::Model.has(name);
    let mut model = all.clone();
    model.retain(|name, _| is_model(name));
    if model.is_empty() { all.clone() } else { model }
}

#[test]
fn the_default_conversion_of_every_folder_has_the_model_and_nothing_else() {
    let mut all = Vec::new();
    folders(&root(), &mut all);
    let target = tempfile::tempdir().unwrap();
    let (mut to_torch, mut to_safetensors, mut faults) = (0, 0, Vec::new());
    for folder in &all {
        let name = folder.strip_prefix(root()).unwrap().display().to_string();
        let wanted = json(&folder.join("expected.json"));
        if wanted["format"] == "unsupported" {
            continue;
        }
        let tensors = by_default(&expected_tensors(&wanted));
        match converted(folder, &target.path().join("x.pt")) {
            Ok(found) if found == tensors => to_torch += 1,
            other => faults.push(format!("{name} to a PyTorch file: {other:?}")),
        }
        // Where there is no model, the optimizer is converted with its values.
        let is_model = tensors.keys().any(|name| CheckpointPart::Model.has(name));
        let has_values = wanted["leaves"].as_object().is_some_and(|leaves| {
            let mut names = leaves.keys();
            names.any(|name| CheckpointPart::Model.has(name) == is_model)
        });
        match converted(folder, &target.path().join("x.safetensors")) {
            Ok(found) if found == tensors => to_safetensors += 1,
            Err(error) if error.name() == "unsupported" => {}
            Err(error) if error.name() == "not_held" && has_values => {}
            other => faults.push(format!("{name} to a safetensors file: {other:?}")),
        }
    }
    println!("{to_torch} PyTorch files and {to_safetensors} safetensors files");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(to_torch >= 30 && to_safetensors >= 10);
}

#[test]
fn a_part_lists_nothing_of_another_part() {
    let folder = root().join("fsdp/lightning_w2");
    let names = |part| {
        let options = OpenOptions::default().part(part);
        let reader = CheckpointReader::open_with(&folder, &options).unwrap();
        let tensors = reader.tensors().iter().map(|entry| entry.name().to_owned());
        let values = reader.non_tensors().iter();
        let values = values.map(|entry| entry.path().to_owned());
        let mut names: Vec<String> = tensors.chain(values).collect();
        names.sort();
        names
    };
    let all = names(CheckpointPart::All);
    for part in [CheckpointPart::Model, CheckpointPart::Optimizer] {
        let wanted: Vec<String> = all.iter().filter(|name| part.has(name)).cloned().collect();
        assert!(!wanted.is_empty() && wanted.len() < all.len());
        assert_eq!(names(part), wanted, "{part:?}");
    }
}
