//! A source whose bytes are not those of its checksums.

use nnx_checkpoint::torch::TorchBuilder;
use nnx_checkpoint::{CheckpointReader, ConvertOptions, Dtype, Tensor, convert};

/// A file of `torch.save` with one tensor of two mebibytes.
fn large_torch_file() -> Vec<u8> {
    let mut builder = TorchBuilder::new();
    let tensor = Tensor::from_bytes(Dtype::UInt8, &[2 << 20], vec![7; 2 << 20]).unwrap();
    let key = builder.text("weight");
    let value = builder.tensor(&tensor).unwrap();
    let root = builder.dict(vec![(key, value)]);
    let mut file = Vec::new();
    builder.finish(root).write_to(&mut file, "archive").unwrap();
    file
}

#[test]
fn a_large_record_with_another_checksum_is_told_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (
        folder.path().join("model.pt"),
        folder.path().join("model.safetensors"),
    );
    let mut file = large_torch_file();
    let middle = file.len() / 2;
    file[middle] ^= 1;
    std::fs::write(&source, &file).unwrap();
    for target in [&target, &folder.path().join("other.pt")] {
        let error = convert(&source, target, &ConvertOptions::default()).unwrap_err();
        assert!(error.to_string().contains("the checksum"), "{error}");
        assert_eq!(error.path(), Some(source.as_path()));
        assert!(!target.exists());
    }
    // Nobody compares it.
    let options = ConvertOptions::default().verify(false);
    convert(&source, &target, &options).unwrap();
    let reader = CheckpointReader::open(&target).unwrap();
    let bytes = reader.tensor("weight").unwrap();
    assert!(bytes.to_bytes().unwrap().contains(&6));
}
