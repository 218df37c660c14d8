//! State dicts of any tensors.

use std::collections::HashSet;

use nnx_checkpoint::{Dtype, Storage, Tensor, TensorClass};

use crate::supply::Supply;

/// Tensors of a state dict, at most.
const MAX_TENSORS: usize = 8;

/// Tensors of any dtype, shape and strides, under names of their own; some share a storage.
pub(crate) fn state_dict(
    supply: &mut Supply<'_>,
    dtypes: impl Fn(Dtype) -> bool,
) -> Vec<(String, Tensor)> {
    let dtypes: Vec<_> = Dtype::all().filter(|&dtype| dtypes(dtype)).collect();
    let mut storages: Vec<(Dtype, Storage)> = Vec::new();
    let mut names = HashSet::new();
    let mut tensors = Vec::new();
    for _ in 0..supply.below(MAX_TENSORS + 1) {
        let name = supply.text();
        if !names.insert(name.clone()) {
            continue;
        }
        if storages.is_empty() || supply.bool() {
            let dtype = dtypes[supply.below(dtypes.len())];
            let length = supply.below(40) * dtype.size();
            let location = ["cpu", "cuda:0", "mps"][supply.below(3)];
            let storage = Storage::at(supply.bytes(length), location);
            storages.push((dtype, storage));
        }
        let (dtype, storage) = storages[supply.below(storages.len())].clone();
        tensors.push((name, tensor(supply, dtype, &storage)));
    }
    tensors
}

fn tensor(supply: &mut Supply<'_>, dtype: Dtype, storage: &Storage) -> Tensor {
    let dimensions = supply.below(5);
    let shape: Vec<_> = (0..dimensions).map(|_| supply.below(5)).collect();
    let strides: Vec<_> = (0..dimensions).map(|_| supply.below(8)).collect();
    let offset = supply.below(8);
    let tensor = Tensor::view(storage.clone(), dtype, offset, &shape, &strides)
        .or_else(|_| {
            // It did not fit: all of the storage, as one row.
            let elements = storage.byte_len() / dtype.size();
            Tensor::view(storage.clone(), dtype, 0, &[elements], &[1])
        })
        .expect("a row of all elements fits");
    let class = if supply.bool() {
        TensorClass::Parameter
    } else {
        TensorClass::Tensor
    };
    tensor.with_class(class).with_requires_grad(supply.bool())
}
