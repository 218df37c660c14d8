//! Safetensors files, read, written, and compared with the format's own library.

use bytes::Bytes;
use nnx_checkpoint::safetensors::{SafeTensors, write_within};

use crate::limits::limits;
use crate::same;

/// A file that is read is written and read again, and the format's own library reads the same.
///
/// # Panics
/// When a promise is broken.
pub fn safetensors(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let Ok(file) = SafeTensors::parse(&bytes, &limits()) else {
        return;
    };
    agrees_with_the_library(&file, data);
    let written = written(&file);
    let again = SafeTensors::parse(&written, &limits()).expect("what was written is read");
    assert_eq!(file.metadata(), again.metadata());
    assert_eq!(file.tensors().len(), again.tensors().len());
    for (name, tensor) in file.tensors() {
        let other = again.get(name).expect("a written tensor is there");
        same::values(name, tensor, other, &limits());
    }
    assert!(
        written == self::written(&again),
        "the second writing differs"
    );
}

fn written(file: &SafeTensors) -> Bytes {
    let tensors: Vec<_> = file.tensors().collect();
    let mut out = Vec::new();
    let metadata = Some(file.metadata()).filter(|metadata| !metadata.is_empty());
    write_within(&mut out, &tensors, metadata, &limits()).expect("what was read is written");
    out.into()
}

fn agrees_with_the_library(file: &SafeTensors, data: &[u8]) {
    let theirs = safetensors::SafeTensors::deserialize(data)
        .unwrap_or_else(|error| panic!("the format's own library refuses the file: {error}"));
    assert_eq!(file.tensors().len(), theirs.len());
    for (name, tensor) in file.tensors() {
        let view = theirs
            .tensor(name)
            .expect("a tensor that the library has too");
        assert_eq!(
            tensor.dtype().safetensors_name(),
            Some(&*view.dtype().to_string())
        );
        let bytes = tensor
            .to_bytes_within(&limits())
            .expect("a contiguous tensor");
        assert!(bytes == view.data(), "the elements of {name:?} differ");
    }
}
