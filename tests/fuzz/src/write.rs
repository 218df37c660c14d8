//! Objects that were never read, written and read.

use std::collections::HashMap;

use bytes::Bytes;
use indexmap::IndexMap;
use nnx_checkpoint::safetensors::SafeTensors;
use nnx_checkpoint::torch::{TorchBuilder, TorchObject};
use nnx_checkpoint::{Dtype, Error, ErrorKind, Limits, OpenOptions, Tensor, safetensors};

use crate::limits::limits;
use crate::supply::Supply;
use crate::{build, pickle, same};

/// [`graph`] or [`state_dict`], as the first byte says.
///
/// # Panics
/// When a promise is broken.
pub fn write(data: &[u8]) {
    match data.split_first() {
        Some((0..0x80, rest)) => graph(rest),
        Some((_, rest)) => state_dict(rest),
        None => {}
    }
}

/// Any graph is written and read back the same, in every protocol that can spell it.
///
/// # Panics
/// When it is not.
pub fn graph(data: &[u8]) {
    for protocol in 2..=5 {
        let graph = build::graph(&mut Supply::new(data), protocol);
        for newer in protocol..=5 {
            match pickle::round_trip(graph.clone(), newer).map_err(Error::into_kind) {
                // An object within its own arguments is begun anew for each thing learnt on the
                // way, in CPython as well; many such may nest too deep for both.
                Ok(())
                | Err(ErrorKind::LimitExceeded {
                    limit: "max_depth", ..
                }) => {}
                Err(kind) => {
                    panic!("a graph of protocol {protocol} not written in {newer}: {kind}")
                }
            }
        }
    }
}

/// Any state dict is written as a torch file and as a safetensors file, and read back the same.
///
/// # Panics
/// When it is not.
pub fn state_dict(data: &[u8]) {
    torch_file(&mut Supply::new(data));
    safetensors_file(&mut Supply::new(data));
}

fn torch_file(supply: &mut Supply<'_>) {
    // Quantised tensors carry their scales beside them and are built by other calls.
    let tensors = build::state_dict(supply, |dtype| !dtype.name().starts_with('q'));
    let mut builder = TorchBuilder::new();
    let pairs = tensors.iter().map(|(name, tensor)| {
        let value = builder
            .tensor(tensor)
            .expect("any tensor of a sound storage is built");
        (builder.text(name), value)
    });
    let pairs: Vec<_> = pairs.collect();
    let root = if supply.bool() {
        builder.ordered_dict(pairs, None)
    } else {
        builder.dict(pairs)
    };
    let mut file = Vec::new();
    builder
        .finish(root)
        .write_to(&mut file, "archive")
        .expect("what was built is written");
    let object = TorchObject::from_bytes(
        Bytes::from(file),
        &OpenOptions::default().allow_dangerous_globals(true),
    )
    .expect("what was written is read");
    let graph = object.graph();
    let read = graph.dict_pairs(graph.root()).expect("the root is a dict");
    assert_eq!(read.len(), tensors.len());
    let mut storages = HashMap::new();
    for ((name, tensor), &(key, value)) in tensors.iter().zip(read) {
        assert_eq!(graph.text(key), Some(&**name));
        let found = object
            .tensor(value)
            .expect("a tensor is read")
            .expect("a tensor is one");
        same::tensors(name, tensor, &found, &limits());
        let known = storages
            .entry(tensor.storage().identity())
            .or_insert(found.storage().clone());
        assert!(
            known.is_same(found.storage()),
            "{name:?} no longer shares its storage"
        );
    }
    let distinct: std::collections::HashSet<_> = storages
        .values()
        .map(nnx_checkpoint::Storage::identity)
        .collect();
    assert_eq!(distinct.len(), storages.len(), "two storages became one");
}

fn safetensors_file(supply: &mut Supply<'_>) {
    let mut tensors = build::state_dict(supply, |dtype| dtype.safetensors_name().is_some());
    // The format counts 4-bit floats one by one, and has no scalar of two.
    tensors.retain(|(_, tensor)| {
        tensor.dtype() != Dtype::Float4E2M1FnX2 || !tensor.shape().is_empty()
    });
    let metadata: IndexMap<_, _> = (0..supply.below(4))
        .map(|_| (supply.text(), supply.text()))
        .collect();
    let views: Vec<(&str, &Tensor)> = tensors
        .iter()
        .map(|(name, tensor)| (&**name, tensor))
        .collect();
    let mut file = Vec::new();
    safetensors::write(&mut file, &views, Some(&metadata)).expect("any such tensors are written");
    let file = Bytes::from(file);
    let read = SafeTensors::parse(&file, &Limits::default()).expect("what was written is read");
    assert_eq!(read.metadata(), &metadata);
    assert_eq!(read.tensors().len(), tensors.len());
    for (name, tensor) in &tensors {
        let found = read.get(name).expect("a written tensor is there");
        same::values(name, tensor, found, &limits());
    }
    let theirs = ::safetensors::SafeTensors::deserialize(&file);
    assert_eq!(
        theirs.expect("the format's own library reads it").len(),
        tensors.len()
    );
}
