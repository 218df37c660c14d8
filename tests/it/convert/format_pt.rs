//! Where a safetensors file has metadata, they say `format: pt`: the loaders of accelerate and of
//! transformers 4 refuse metadata without it, and take a file without any.

use std::path::Path;

use indexmap::IndexMap;
use nnx_checkpoint::{
    CheckpointFormat, CheckpointReader, ConvertOptions, NNCheckpoint, SharedTensors, Tensor,
    convert, safetensors,
};
use nnx_tests::fixtures_dir;

fn metadata(path: &Path) -> IndexMap<String, String> {
    CheckpointReader::open(path).unwrap().metadata().clone()
}

/// The metadata that a conversion gives a file with those.
fn converted(source: Option<&[(&str, &str)]>, options: ConvertOptions) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from.safetensors", "to.safetensors"].map(|name| folder.path().join(name));
    let tensor = Tensor::from_bytes(nnx_checkpoint::Dtype::UInt8, &[1], vec![7]).unwrap();
    let texts = source.map(|pairs| {
        let pairs = pairs.iter();
        pairs
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect::<IndexMap<_, _>>()
    });
    let mut file = std::fs::File::create(&from).unwrap();
    safetensors::write(
        &mut file,
        &[("a.b", &tensor), ("a.c", &tensor)],
        texts.as_ref(),
    )
    .unwrap();
    convert(&from, &to, &options).unwrap();
    metadata(&to).into_iter().collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn metadata_say_the_format_unless_they_say_another() {
    let plain = ConvertOptions::default();
    assert_eq!(converted(None, plain.clone()), pairs(&[]));
    assert_eq!(
        converted(None, plain.clone().metadata("note", "x")),
        pairs(&[("note", "x"), ("format", "pt")])
    );
    assert_eq!(
        converted(Some(&[("note", "x")]), plain.clone()),
        pairs(&[("note", "x"), ("format", "pt")])
    );
    assert_eq!(
        converted(Some(&[("format", "mlx")]), plain.clone()),
        pairs(&[("format", "mlx")])
    );
    assert_eq!(
        converted(None, plain.metadata("format", "tf")),
        pairs(&[("format", "tf")])
    );
}

#[test]
fn aliases_come_with_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixtures_dir().join("torch/tied_state_dict.pt");
    let flat = folder.path().join("flat.safetensors");
    let options = ConvertOptions::default().drop_non_tensors(true);
    let done = convert(
        &source,
        &flat,
        &options.clone().tied(SharedTensors::Aliased),
    )
    .unwrap();
    assert!(
        done.notes.iter().any(|note| note.contains("alias")),
        "{:?}",
        done.notes
    );
    assert_eq!(metadata(&flat)["format"], "pt");
}

#[test]
fn an_nnx_checkpoint_says_the_format_after_a_conversion_and_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = fixtures_dir().join("nnx-0.4.1/checkpoints");
    let [torch, safe] = ["ff_relu.pt", "ff_relu.safetensors"].map(|name| checkpoints.join(name));
    assert_eq!(metadata(&safe).get("format"), None);

    for source in [&torch, &safe] {
        let target = folder.path().join("converted.safetensors");
        convert(source, &target, &ConvertOptions::default().overwrite(true)).unwrap();
        assert_eq!(metadata(&target)["format"], "pt", "{}", source.display());
        // It is a checkpoint as before, which goes back into a pickle.
        let checkpoint = NNCheckpoint::from_file(&target).unwrap();
        let back = folder.path().join("back.pt");
        checkpoint.to_file(&back, CheckpointFormat::Pickle).unwrap();
        convert(&target, &back, &ConvertOptions::default().overwrite(true)).unwrap();
        assert_eq!(super::tensors(&back), super::tensors(&torch));
    }

    // `to_file` writes what NNx writes, unless asked for more.
    let checkpoint = NNCheckpoint::from_file(&torch).unwrap();
    let target = folder.path().join("saved.safetensors");
    checkpoint
        .to_file(&target, CheckpointFormat::SafeTensors)
        .unwrap();
    assert_eq!(metadata(&target).get("format"), None);
    let checkpoint = checkpoint.with_format_metadata();
    checkpoint
        .to_file(&target, CheckpointFormat::SafeTensors)
        .unwrap();
    assert_eq!(metadata(&target)["format"], "pt");
}
