//! Checkpoints over bytes that are only read by range: the readings, and their times.

use std::sync::{Arc, Mutex};

use nnx_checkpoint::{
    ByteRange, CheckpointReader, Chunk, NNCheckpoint, OpenOptions, RangeRead, Result, Storage,
};
use nnx_tests::fixtures_dir;

/// A file in memory without a map, which notes what is read of it.
#[derive(Clone, Debug)]
struct Remote(Arc<Noted>);

#[derive(Debug)]
struct Noted {
    bytes: Vec<u8>,
    reads: Mutex<Vec<(u64, u64)>>,
}

impl Remote {
    fn new(bytes: Vec<u8>) -> Self {
        let reads = Mutex::default();
        Self(Arc::new(Noted { bytes, reads }))
    }

    /// The readings since the last call: begin and length of each.
    fn reads(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.0.reads.lock().unwrap())
    }

    fn open(&self) -> CheckpointReader {
        CheckpointReader::from_range(self.clone(), &OpenOptions::default()).unwrap()
    }
}

impl RangeRead for Remote {
    fn byte_len(&self) -> u64 {
        self.0.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).unwrap();
        into.copy_from_slice(&self.0.bytes[start..start + into.len()]);
        let read = (offset, into.len() as u64);
        self.0.reads.lock().unwrap().push(read);
        Ok(())
    }
}

fn total(reads: &[(u64, u64)]) -> u64 {
    reads.iter().map(|read| read.1).sum()
}

/// A state dict of four tensors of a mebibyte each, as `torch.save` writes it.
fn torch_file() -> Vec<u8> {
    use nnx_checkpoint::torch::TorchBuilder;
    use nnx_checkpoint::{Dtype, Tensor};
    let mut builder = TorchBuilder::new();
    let mut pairs = Vec::new();
    for index in 0..4u8 {
        let tensor = Tensor::from_bytes(Dtype::UInt8, &[1 << 20], vec![index; 1 << 20]).unwrap();
        let key = builder.text(&format!("layer.{index}"));
        pairs.push((key, builder.tensor(&tensor).unwrap()));
    }
    let root = builder.dict(pairs);
    let mut file = Vec::new();
    builder.finish(root).write_to(&mut file, "archive").unwrap();
    file
}

#[test]
fn opening_an_archive_reads_its_directory_and_its_pickle() {
    let remote = Remote::new(torch_file());
    let reader = remote.open();
    let reads = remote.reads();
    assert!(reads.len() <= 8, "{reads:?}");
    assert!(total(&reads) < 300 << 10, "{reads:?}");
    assert_eq!(reader.tensors().len(), 4);
    // An unread tensor has all but its bytes.
    let tensor = reader.unread_tensor("layer.2").unwrap();
    assert_eq!(tensor.shape(), [1 << 20]);
    assert_eq!(remote.reads(), []);
    // Its range in one piece, with the header in front of it; and once.
    let bytes = tensor.to_bytes().unwrap().into_owned();
    assert!(bytes.iter().all(|&byte| byte == 2));
    let reads = remote.reads();
    assert_eq!(reads.len(), 1, "{reads:?}");
    assert!(total(&reads) < (1 << 20) + (70 << 10), "{reads:?}");
    assert_eq!(reader.tensor("layer.2").unwrap().to_bytes().unwrap(), bytes);
    assert_eq!(remote.reads(), []);
}

#[test]
fn opening_a_safetensors_file_reads_its_header() {
    use nnx_checkpoint::{Dtype, Tensor, safetensors};
    let [a, b] = [1u8, 2]
        .map(|value| Tensor::from_bytes(Dtype::UInt8, &[1 << 20], vec![value; 1 << 20]).unwrap());
    let mut file = Vec::new();
    safetensors::write(&mut file, &[("a", &a), ("b", &b)], None).unwrap();
    let header = 8 + u64::from_le_bytes(*file.first_chunk().unwrap());
    let remote = Remote::new(file);
    let reader = remote.open();
    // Some bytes to know the format by, then the length and the text of the header.
    let reads = remote.reads();
    assert!(total(&reads) <= 512 + 8 + header, "{reads:?}");
    assert_eq!(
        *reader.tensor("b").unwrap().to_bytes().unwrap(),
        [2; 1 << 20]
    );
    assert_eq!(remote.reads(), [(header + (1 << 20), 1 << 20)]);
}

/// Every fixture gives the same over a source without a map as over a mapped file.
#[test]
fn a_map_changes_nothing() {
    let mut compared = 0;
    for folder in [
        "torch",
        "torch-extra",
        "reader",
        "quantized",
        "nnx-0.4.1/checkpoints",
    ] {
        for entry in std::fs::read_dir(fixtures_dir().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file()
                || path
                    .extension()
                    .is_some_and(|extension| extension == "json")
            {
                continue;
            }
            let options = OpenOptions::default().allow_dangerous_globals(true);
            let bytes = std::fs::read(&path).unwrap();
            let mapped = CheckpointReader::from_bytes(bytes.clone(), &options);
            let remote = CheckpointReader::from_range(Remote::new(bytes), &options);
            let (mapped, remote) = match (mapped, remote) {
                (Ok(mapped), Ok(remote)) => (mapped, remote),
                (Err(one), Err(other)) => {
                    assert_eq!(one.to_string(), other.to_string(), "{}", path.display());
                    continue;
                }
                (one, other) => panic!("{}: {one:?} and {other:?}", path.display()),
            };
            assert_eq!(mapped.tensors(), remote.tensors(), "{}", path.display());
            assert_eq!(
                mapped.non_tensors(),
                remote.non_tensors(),
                "{}",
                path.display()
            );
            assert_eq!(mapped.notes(), remote.notes(), "{}", path.display());
            for entry in mapped.tensors() {
                let name = entry.name();
                match (mapped.tensor(name), remote.tensor(name)) {
                    (Ok(one), Ok(other)) => {
                        let (one, other) = (one.to_bytes().unwrap(), other.to_bytes().unwrap());
                        assert!(one == other, "{name} of {}", path.display());
                        compared += 1;
                    }
                    (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                    (one, other) => panic!("{name}: {one:?} and {other:?}"),
                }
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn a_checkpoint_of_nnx_is_read_by_range() {
    let folder = fixtures_dir().join("nnx-0.4.1/checkpoints");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(expected) = NNCheckpoint::from_file(&path) else {
            continue;
        };
        let remote = Remote::new(std::fs::read(&path).unwrap());
        let found = NNCheckpoint::from_bytes(ByteRange::new(Arc::new(remote))).unwrap();
        for (name, tensor) in expected.net_state.tensors() {
            let other = found.net_state.tensor(name).unwrap();
            assert!(
                tensor.to_bytes().unwrap() == other.to_bytes().unwrap(),
                "{name}"
            );
        }
        read += 1;
    }
    assert!(read > 5, "{read}");
}

#[test]
fn a_legacy_pickle_in_front_of_storages_is_read_without_them() {
    // Protocol, the four pickles in front, and then a storage of a mebibyte.
    let mut file = std::fs::read(fixtures_dir().join("torch/dtype_float32.legacy.pt")).unwrap();
    file.resize(file.len() + (4 << 20), 7);
    let remote = Remote::new(file);
    let reader = remote.open();
    let reads = remote.reads();
    assert!(total(&reads) < 600 << 10, "{reads:?}");
    assert!(
        reader
            .notes()
            .iter()
            .any(|note| note.contains("4194304 bytes follow"))
    );
}

#[test]
fn chunks_fill_a_storage() {
    let bytes: Vec<u8> = (0..=255).collect();
    let remote = ByteRange::new(Arc::new(Remote::new(bytes)));
    let chunk = |to, start, len| Chunk {
        to,
        range: remote.slice(start, len).unwrap(),
    };
    let chunks = vec![
        chunk(3, 100, 2),
        chunk(0, 10, 3),
        chunk(5, 0, 0),
        chunk(5, 200, 1),
    ];
    let storage = Storage::from_chunks(6, chunks, "cuda:1").unwrap();
    assert_eq!((storage.byte_len(), storage.location()), (6, "cuda:1"));
    let mut copied = Vec::new();
    storage.copy_to(&mut copied).unwrap();
    assert_eq!(copied, [10, 11, 12, 100, 101, 200]);
    assert_eq!(*storage.bytes().unwrap(), copied);
    for (len, chunks, expected) in [
        (
            6,
            vec![chunk(0, 0, 3), chunk(4, 0, 2)],
            "at byte 3, found one at byte 4",
        ),
        (
            6,
            vec![chunk(0, 0, 3), chunk(2, 0, 4)],
            "at byte 3, found one at byte 2",
        ),
        (
            7,
            vec![chunk(0, 0, 3), chunk(3, 0, 3)],
            "chunks of 7 bytes together, found 6",
        ),
        (1, Vec::new(), "chunks of 1 bytes together, found 0"),
    ] {
        let error = Storage::from_chunks(len, chunks, "cpu").unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(remote.slice(250, 7).is_err());
    assert!(remote.slice(u64::MAX, 2).is_err());
}
