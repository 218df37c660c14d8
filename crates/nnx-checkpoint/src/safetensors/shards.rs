//! Weights in several files, as `huggingface_hub` splits them.

use indexmap::IndexMap;

use crate::Tensor;
use crate::shards::{Sized, split};

/// Splits tensors into files, by their places, so that no file has more bytes of tensors than
/// `max_bytes`, in the order given.
///
/// A tensor that is larger gets a file of its own; tensors of one storage stay together and count
/// once. There is always at least one file.
///
/// ```
/// use nnx_checkpoint::{Dtype, Tensor, safetensors};
///
/// let four = Tensor::from_bytes(Dtype::UInt8, &[4], vec![0; 4])?;
/// let six = Tensor::from_bytes(Dtype::UInt8, &[6], vec![0; 6])?;
/// let two = Tensor::from_bytes(Dtype::UInt8, &[2], vec![0; 2])?;
/// assert_eq!(safetensors::split_into_shards(&[&four, &six, &two], 8), [vec![0], vec![1, 2]]);
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
pub fn split_into_shards(tensors: &[&Tensor], max_bytes: u64) -> Vec<Vec<usize>> {
    let mut storages: IndexMap<((usize, u64), usize), ()> = IndexMap::new();
    let sized = tensors.iter().enumerate().map(|(at, tensor)| {
        let storage = tensor.storage();
        // Empty storages have no place of their own.
        let place = match storage.byte_len() {
            0 => ((0, at as u64), 0),
            bytes => (storage.data_ptr(), bytes),
        };
        Sized {
            bytes: tensor.byte_len() as u64,
            storage: storages.insert_full(place, ()).0,
        }
    });
    split(sized, Some(max_bytes))
}
