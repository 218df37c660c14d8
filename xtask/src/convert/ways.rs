//! PyTorch files from every way of writing, to be loaded in every way that PyTorch has.

use std::path::Path;

use nnx_checkpoint::torch::TorchObject;
use nnx_checkpoint::{
    CheckpointFormat, CheckpointReader, ConvertOptions, Dtype, NNCheckpoint, convert,
};
use serde_json::{Value, json};

use crate::Result;

/// Writes every target that is possible for one source.
pub(super) fn questions(
    source: &Path,
    place: &Path,
    types: &Path,
    questions: &mut Vec<Value>,
) -> Result<()> {
    let Ok(reader) = CheckpointReader::open(source) else {
        return Ok(());
    };
    let folder = place.join("ways");
    std::fs::create_dir_all(&folder)?;
    let mut ask = |name: &str| {
        questions.push(json!({
            "kind": "every_way", "source": source, "target": folder.join(name), "types": types,
        }));
    };
    for (name, options) in conversions(&reader) {
        if convert(source, folder.join(&name), &options).is_ok() {
            ask(&name);
        }
    }
    if let Ok(checkpoint) = NNCheckpoint::from_file(source)
        && checkpoint
            .to_file(folder.join("saved.pt"), CheckpointFormat::Pickle)
            .is_ok()
    {
        ask("saved.pt");
    }
    if let Ok(object) = TorchObject::open(source)
        && object.save(folder.join("object.pt")).is_ok()
    {
        ask("object.pt");
    }
    Ok(())
}

/// Each way to convert, by the name of the file.
fn conversions(reader: &CheckpointReader) -> Vec<(String, ConvertOptions)> {
    let plain = super::of_any_contents();
    let flat = plain.clone().drop_non_tensors(true);
    let mut conversions = vec![
        ("plain.pt".to_owned(), plain.clone()),
        ("compact.pt".to_owned(), plain.clone().compact(true)),
        ("flat.pt".to_owned(), flat.clone()),
        ("flat-compact.pt".to_owned(), flat.clone().compact(true)),
    ];
    for dtype in [Dtype::Float16, Dtype::BFloat16, Dtype::Float64] {
        let cast = plain.clone().dtype(dtype);
        conversions.push((format!("{dtype}.pt"), cast.clone()));
        conversions.push((format!("{dtype}-compact.pt"), cast.compact(true)));
        conversions.push((format!("{dtype}-flat.pt"), flat.clone().dtype(dtype)));
    }
    let mut names = reader.tensors().iter().rev();
    if let Some((part, _)) = names.find_map(|entry| entry.name().split_once('.')) {
        conversions.push(("part.pt".to_owned(), flat.clone().select(part)));
        conversions.push(("renamed.pt".to_owned(), flat.rename(part, "renamed")));
    }
    conversions
}
