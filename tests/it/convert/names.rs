//! Standard names become standard names: those by which transformers and diffusers look for weights
//! (`_add_variant` of both, and `WEIGHTS_NAME` and its like).

use std::path::Path;

use nnx_checkpoint::{CheckpointReader, ConvertOptions, TargetFormat, convert, index_or_file};
use nnx_tests::fixtures_dir;

use super::tensors;

/// The names of the files in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Converts a file of that name into a folder, and gives the names in the folder.
fn converted(name: &str, to: TargetFormat, max_shard_size: Option<u64>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("from").join(name);
    std::fs::create_dir(folder.path().join("from")).unwrap();
    let checkpoint = fixtures_dir().join("nnx-0.4.1/checkpoints/ff_relu.pt");
    let options = ConvertOptions::default().drop_non_tensors(true);
    convert(&checkpoint, &source, &options.clone().select("net_state")).unwrap();
    let target = folder.path().join("to");
    std::fs::create_dir(&target).unwrap();
    let mut options = options.to(to);
    options.max_shard_size = max_shard_size;
    convert(&source, &target, &options).unwrap();
    let names = names_in(&target);
    let opened = match names.iter().find(|name| name.ends_with(".json")) {
        Some(index) => target.join(index),
        None => target.join(&names[0]),
    };
    assert_eq!(tensors(&opened), tensors(&source), "{name}");
    names
}

#[test]
fn a_standard_name_becomes_that_of_the_other_format() {
    use TargetFormat::{SafeTensors, Torch};
    for (source, to, expected) in [
        ("pytorch_model.bin", SafeTensors, "model.safetensors"),
        ("model.safetensors", Torch, "pytorch_model.bin"),
        (
            "pytorch_model.fp16.bin",
            SafeTensors,
            "model.fp16.safetensors",
        ),
        ("model.fp16.safetensors", Torch, "pytorch_model.fp16.bin"),
        (
            "diffusion_pytorch_model.fp16.bin",
            SafeTensors,
            "diffusion_pytorch_model.fp16.safetensors",
        ),
        (
            "diffusion_pytorch_model.safetensors",
            Torch,
            "diffusion_pytorch_model.bin",
        ),
        (
            "adapter_model.bin",
            SafeTensors,
            "adapter_model.safetensors",
        ),
        ("best.pt", SafeTensors, "model.safetensors"),
        ("best.safetensors", Torch, "pytorch_model.bin"),
    ] {
        assert_eq!(converted(source, to, None), [expected], "{source}");
    }
}

#[test]
fn shards_and_index_of_a_variant_have_the_names_that_loaders_look_for() {
    assert_eq!(
        converted(
            "pytorch_model.fp16.bin",
            TargetFormat::SafeTensors,
            Some(200)
        ),
        [
            "model.fp16-00001-of-00003.safetensors",
            "model.fp16-00002-of-00003.safetensors",
            "model.fp16-00003-of-00003.safetensors",
            "model.safetensors.index.fp16.json",
        ]
    );
    assert_eq!(
        converted("model.safetensors", TargetFormat::Torch, Some(200)),
        [
            "pytorch_model-00001-of-00003.bin",
            "pytorch_model-00002-of-00003.bin",
            "pytorch_model-00003-of-00003.bin",
            "pytorch_model.bin.index.json",
        ]
    );
}

/// A folder with shards is a source too, and the index beside a shard is found in all spellings.
#[test]
fn every_spelling_of_an_index_is_read() {
    let source = fixtures_dir().join("nnx-0.4.1/checkpoints/ff_relu.pt");
    let options = ConvertOptions::default()
        .drop_non_tensors(true)
        .select("net_state")
        .max_shard_size(200);
    for spelling in [
        "model.safetensors.index.fp16.json",
        "model.fp16.safetensors.index.json",
        "model.safetensors.fp16.index.json",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("model.fp16.safetensors");
        convert(&source, &target, &options).unwrap();
        let written = folder.path().join("model.safetensors.index.fp16.json");
        let index = folder.path().join(spelling);
        std::fs::rename(written, &index).unwrap();
        // A shard under the name of the whole, as an older save leaves it.
        let shard = folder.path().join("model.fp16-00001-of-00003.safetensors");
        let text = std::fs::read_to_string(&index).unwrap();
        std::fs::rename(&shard, &target).unwrap();
        let renamed = text.replace(
            "model.fp16-00001-of-00003.safetensors",
            "model.fp16.safetensors",
        );
        std::fs::write(&index, renamed).unwrap();
        assert_eq!(index_or_file(target.clone()), index, "{spelling}");
        assert_eq!(CheckpointReader::open(&index).unwrap().tensors().len(), 6);
    }
}
