//! Files of `torch.save`, read and written.

use bytes::Bytes;
use nnx_checkpoint::torch::TorchObject;
use nnx_checkpoint::{Format, OpenOptions};

use crate::limits::{ENOUGH_BYTES, limits};
use crate::{same, wrap};

/// Every tensor has the bytes of its shape, and the object can be written and read.
///
/// A pickle that is no file of PyTorch is judged within an archive of its own.
///
/// # Panics
/// When a promise is broken.
pub fn torch(data: &[u8]) {
    judge(&Bytes::copy_from_slice(data));
    if nnx_checkpoint::sniff(data) == Some(Format::Pickle)
        && let Some(archive) = wrap::archive(data)
    {
        judge(&archive.into());
    }
}

fn judge(bytes: &Bytes) {
    let Ok(object) = TorchObject::from_bytes(
        bytes,
        &OpenOptions::default()
            .limits(limits())
            .allow_dangerous_globals(true),
    ) else {
        return;
    };
    let mut gathered = 0;
    for id in object.graph().ids() {
        let info = object.tensor_info(id);
        let tensor = object.tensor(id);
        let (Ok(Some(info)), Ok(Some(tensor))) = (&info, &tensor) else {
            // A value that is no tensor without its bytes is none with them.
            let none = matches!(info, Ok(None)) == matches!(tensor, Ok(None));
            assert!(
                none && (info.is_ok() || tensor.is_err()),
                "{info:?}, yet {tensor:?}"
            );
            continue;
        };
        assert_eq!(info.dtype, tensor.dtype());
        assert_eq!(info.shape, tensor.shape());
        assert_eq!(info.class, tensor.class());
        assert_eq!(info.requires_grad, tensor.requires_grad());
        if let Ok(elements) = tensor.to_bytes_within(&limits()) {
            assert_eq!(elements.len(), tensor.byte_len());
            gathered += elements.len();
        }
        if gathered > ENOUGH_BYTES {
            return;
        }
    }
    write_and_read(&object);
}

fn write_and_read(object: &TorchObject) {
    let mut file = Vec::new();
    if object.write_to(&mut file, "archive").is_err() {
        return;
    }
    let file = Bytes::from(file);
    let again =
        TorchObject::from_bytes(&file, &OpenOptions::default().allow_dangerous_globals(true))
            .unwrap_or_else(|error| panic!("what was written is not read: {error}"));
    for (one, other) in same::written_graphs(object.graph(), again.graph()) {
        if let Ok(Some(one)) = object.tensor(one) {
            match again.tensor(other) {
                Ok(Some(other)) => same::tensors("a tensor", &one, &other, &limits()),
                other => panic!("a tensor became {other:?}"),
            }
        }
    }
    // An object that a pickle makes and drops may name a storage too; the written pickle drops none.
    let second = written(&again);
    let third = TorchObject::from_bytes(
        &second,
        &OpenOptions::default().allow_dangerous_globals(true),
    );
    let third = written(&third.expect("what was written is read"));
    assert!(second == third, "the second writing differs");
}

fn written(object: &TorchObject) -> Bytes {
    let mut file = Vec::new();
    let done = object.write_to(&mut file, "archive");
    done.expect("what was read was written before");
    file.into()
}
