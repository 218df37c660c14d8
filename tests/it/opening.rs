//! Opening a checkpoint touches no tensor's bytes.
//!
//! Linux counts the pages of a map that were touched (and maps up to 16 around each).

use nnx_checkpoint::torch::TorchBuilder;
use nnx_checkpoint::{CheckpointReader, Dtype, Tensor};

const TENSORS: usize = 20_000;
const TENSOR_BYTES: usize = 4_096;

#[test]
fn opening_twenty_thousand_tensors_reads_none_of_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.pt");
    let mut builder = TorchBuilder::new();
    let pairs = (0..TENSORS).map(|index| {
        let bytes = vec![index.to_le_bytes()[0]; TENSOR_BYTES];
        let tensor = Tensor::from_bytes(Dtype::UInt8, &[TENSOR_BYTES], bytes).unwrap();
        let name = builder.text(&format!("layers.{index}.weight"));
        (name, builder.tensor(&tensor).unwrap())
    });
    let pairs = pairs.collect();
    let root = builder.ordered_dict(pairs, None);
    builder.finish(root).save(&path).unwrap();

    let checkpoint = CheckpointReader::open(&path).unwrap();
    assert_eq!(checkpoint.tensors().len(), TENSORS);
    let after_opening = touched(&path);
    let tensors = TENSORS * TENSOR_BYTES;
    assert!(
        after_opening < tensors / 8,
        "{after_opening} bytes touched, the tensors take {tensors}"
    );
    // The count can fail: reading touches what opening left alone.
    for entry in checkpoint.tensors() {
        let tensor = checkpoint.tensor(entry.name()).unwrap();
        assert_eq!(tensor.to_bytes().unwrap().len(), TENSOR_BYTES);
    }
    let after_reading = touched(&path);
    assert!(
        after_reading >= tensors,
        "{after_reading} of {tensors} bytes"
    );
    println!("{after_opening} bytes touched by opening, {after_reading} by reading");
}

/// Bytes of the pages of a mapped file that this process has touched.
fn touched(path: &std::path::Path) -> usize {
    let path = path.canonicalize().unwrap();
    let account = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let map = account
        .lines()
        .skip_while(|line| !line.ends_with(path.to_str().unwrap()));
    let rss = map.skip(1).find_map(|line| line.strip_prefix("Rss:"));
    let kibibytes = rss.unwrap().trim().strip_suffix("kB").unwrap();
    kibibytes.trim().parse::<usize>().unwrap() * 1_024
}
