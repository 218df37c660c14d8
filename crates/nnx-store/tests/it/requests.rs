//! How many requests the reading of a file takes.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::Duration;

use nnx_checkpoint::torch::TorchBuilder;
use nnx_checkpoint::{ByteRange, Dtype, OpenOptions, RangeRead, Result, Storage, Tensor};
use nnx_store::StoreLocation;

use crate::server::{Fault, Server};

const TENSORS: usize = 500;
/// Bytes of a tensor: 500 of them are 2 GiB.
const TENSOR_BYTES: u64 = 4_294_967;

/// Zeros without end.
#[derive(Debug)]
struct Zeros;

impl RangeRead for Zeros {
    fn byte_len(&self) -> u64 {
        TENSOR_BYTES
    }

    fn read_at(&self, _: u64, into: &mut [u8]) -> Result<()> {
        into.fill(0);
        Ok(())
    }
}

/// Leaves holes where zeros are written.
struct Sparse(File);

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() >= 4096 && bytes.iter().all(|byte| *byte == 0) {
            self.0
                .seek(SeekFrom::Current(i64::try_from(bytes.len()).unwrap()))?;
            return Ok(bytes.len());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The file of a state dict of 2 GiB in 500 tensors, as `torch.save` writes it.
fn large_file() -> File {
    let mut builder = TorchBuilder::new();
    let mut pairs = Vec::new();
    for index in 0..TENSORS {
        let zeros = ByteRange::new(Arc::new(Zeros));
        let storage = Storage::from_range(zeros, "cpu").unwrap();
        let len = usize::try_from(TENSOR_BYTES).unwrap();
        let tensor = Tensor::view(storage, Dtype::UInt8, 0, &[len], &[1]).unwrap();
        let name = format!("model.layers.{index}.self_attn.q_proj.weight");
        let key = builder.text(&name);
        pairs.push((key, builder.tensor(&tensor).unwrap()));
    }
    let root = builder.dict(pairs);
    let mut file = Sparse(tempfile::tempfile().unwrap());
    builder.finish(root).write_to(&mut file, "model").unwrap();
    file.0
}

#[test]
fn a_file_of_two_gibibytes_is_listed_with_few_requests() {
    let file = large_file();
    let len = file.metadata().unwrap().len();
    assert!(len > 2_147_000_000, "{len} bytes");
    let server = Server::with_latency(file, Fault::None, Duration::from_millis(20));
    let location = StoreLocation::source(&server.url("model.pt"), Arc::new(|_| ())).unwrap();
    let reader = location.open(&OpenOptions::default()).unwrap();
    assert_eq!(reader.tensors().len(), TENSORS);
    let pickle = reader.object().unwrap().graph();
    assert!(pickle.len() > TENSORS);
    let (requests, bytes) = (server.requests(), server.bytes());
    println!("{requests} requests, {bytes} bytes");
    assert!(requests <= 8, "{requests} requests");
    assert!(bytes <= 1 << 20, "{bytes} bytes");
    // A tensor is one request for its header, and one or two for its bytes.
    let tensor = reader
        .tensor("model.layers.250.self_attn.q_proj.weight")
        .unwrap();
    assert_eq!(tensor.byte_len() as u64, TENSOR_BYTES);
    let (requests, bytes) = (server.requests() - requests, server.bytes() - bytes);
    assert!(requests <= 3, "{requests} requests for a tensor");
    assert!(
        bytes <= TENSOR_BYTES + (256 << 10),
        "{bytes} bytes for a tensor"
    );
}

#[test]
fn the_header_of_a_safetensors_file_is_one_request() {
    let header = br#"{"w":{"dtype":"U8","shape":[1000000],"data_offsets":[0,1000000]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.resize(bytes.len() + 1_000_000, 7);
    let server = Server::from_bytes(&bytes, Fault::None);
    let location =
        StoreLocation::source(&server.url("model.safetensors"), Arc::new(|_| ())).unwrap();
    let reader = location.open(&OpenOptions::default()).unwrap();
    assert_eq!(reader.tensors().len(), 1);
    // The location looks whether the file is there, and keeps what it got.
    assert_eq!(server.requests(), 1);
    let tensor = reader.tensor("w").unwrap();
    assert!(*tensor.to_bytes().unwrap() == [7; 1_000_000]);
    assert_eq!(server.requests(), 2);
}
