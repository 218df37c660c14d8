//! The `.metadata` of a checkpoint of several processes.

use std::fs;
use std::path::Path;

use nnx_checkpoint::{CheckpointReader, ErrorKind, OpenOptions, pickle};

use crate::limits::{ENOUGH_BYTES, limits};

/// The folder whose items the metadata may name.
const ITEMS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../fixtures/distributed/dcp/tensor_parallel_w3"
);

/// A `.metadata` that is opened is a sound pickle for the general reader too; a tensor has the
/// bytes of its shape, or is refused.
///
/// # Panics
/// When a promise is broken, or the folder of the items is not there.
pub fn distributed(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for rank in 0..3 {
        let name = format!("__{rank}_0.distcp");
        fs::copy(Path::new(ITEMS).join(&name), folder.path().join(&name)).expect("an item file");
    }
    fs::write(folder.path().join(".metadata"), data).expect("a file in a temporary folder");
    let options = OpenOptions::default().limits(limits().max_chunks(1 << 14));
    let Ok(reader) = CheckpointReader::open_with(folder.path(), &options) else {
        return;
    };
    let general = pickle::read(data, &options.limits);
    let is_sound = match &general {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
    };
    assert!(is_sound, "opened although {:?}", general.err());
    let mut enough = ENOUGH_BYTES;
    for entry in reader.tensors() {
        let Ok(tensor) = entry.unread_tensor() else {
            continue;
        };
        if tensor.byte_len() > enough {
            break;
        }
        enough -= tensor.byte_len();
        let mut bytes = Vec::new();
        if tensor.copy_to(&mut bytes).is_ok() {
            assert_eq!(bytes.len() as u64, entry.byte_len(), "{}", entry.name());
        }
    }
}
