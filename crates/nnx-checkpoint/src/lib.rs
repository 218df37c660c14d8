//! Reads and writes PyTorch and safetensors checkpoints without Python.
//!
//! Nothing in a file is ever executed, imported or looked up by name beyond a table in this source;
//! nothing panics on a damaged file; no length that a file states is believed before it was checked.
//! It runs no networks and knows no tensor library: tensors are bytes with a dtype, a shape and
//! strides.
//!
//! | to | use |
//! |---|---|
//! | load a state dict in one call | [`load_state_dict`] |
//! | open any checkpoint and list its tensors | [`CheckpointReader`] |
//! | open and write a checkpoint of NNx | [`NNCheckpoint`] (feature `nnx`) |
//! | open and write what `torch.save` writes | [`torch::TorchObject`], [`torch::TorchBuilder`] |
//! | open and write a safetensors file | [`safetensors::SafeTensors`], [`safetensors::write`] |
//! | convert a checkpoint | [`convert()`] |
//! | check a checkpoint against its checksums | [`verify()`] |
//! | look into a pickle | [`pickle::read`], [`pickle::Graph`] |
//! | cast elements to another dtype | [`cast()`], [`Caster`] |
//! | tell what a file is | [`sniff`] |
//! | tell what a pickle names | [`GlobalRef`], [`SafetyLevel`] |
//! | replace a file in one step | [`save_atomic`] |
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `nnx` | yes | [`NNCheckpoint`], and with it the crate `nnx-params` |
//! | `ndarray` | no | conversions between [`Tensor`] and arrays of the crate `ndarray` |
//! | `safetensors` | no | [`Tensor`] for the functions of the crate `safetensors` |
//! | `candle` | no | conversions between [`Tensor`] and candle's tensor, and a `VarBuilder` over any open file |
//!
//! ```
//! use nnx_checkpoint::{Dtype, Limits, Tensor, safetensors};
//!
//! let bias = Tensor::from_bytes(Dtype::Float32, &[2], vec![0; 8])?;
//! let mut file = Vec::new();
//! safetensors::write(&mut file, &[("bias", &bias)], None)?;
//!
//! let file = safetensors::SafeTensors::parse(bytes::Bytes::from(file), &Limits::default())?;
//! assert_eq!(file.get("bias").map(Tensor::shape), Some(&[2][..]));
//! # Ok::<(), nnx_checkpoint::Error>(())
//! ```

#![warn(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing
)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

#[cfg(feature = "candle")]
mod candle;
mod cast;
#[cfg(feature = "nnx")]
mod checkpoint;
mod checkpoint_part;
mod convert;
mod distributed;
mod dtype;
mod error;
mod globals;
mod limits;
mod message_text;
mod name_index;
#[cfg(feature = "ndarray")]
mod ndarray;
pub mod npy;
mod numpy;
mod open;
pub mod pickle;
mod reader;
pub mod safetensors;
mod save;
pub mod scan;
mod setters;
mod shards;
mod sniff;
mod source;
mod state_dict;
mod state_dict_mismatch;
mod tar;
mod target_folder;
mod target_format;
mod tensor;
pub mod torch;
mod unique_keys;
mod verify;
mod weights_name;
pub mod zip;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use cast::{Caster, cast};
#[cfg(feature = "nnx")]
pub use checkpoint::{CheckpointFormat, NNCheckpoint};
pub use checkpoint_part::CheckpointPart;
pub use convert::{
    Conversion, ConvertOptions, Progress, Share, SharedTensors, Worker, convert, convert_between,
    convert_with,
};
pub use dtype::Dtype;
pub use error::{DistributedFault, Error, ErrorKind, Result};
pub use globals::{GlobalRef, SafetyLevel};
pub use limits::Limits;
#[cfg(feature = "ndarray")]
pub use ndarray::ArrayElement;
pub use open::OpenOptions;
pub use reader::{
    CheckpointReader, NonTensorEntry, PickledValue, Subtree, TensorEntry, index_or_file,
    load_state_dict, shards_of,
};
pub use save::save_atomic;
pub use sniff::{Format, SNIFF_BYTES, compression, sniff};
pub use source::{ByteRange, CachedRange, Folder, FolderEntries, LocalFolder, RangeRead, Source};
pub use state_dict::{DictKind, StateDict, StateDictMetadata, StateValue};
pub use state_dict_mismatch::{ShapeMismatch, StateDictMismatch};
pub use target_folder::{PendingFile, TargetFolder};
pub use target_format::TargetFormat;
#[cfg(feature = "safetensors")]
pub use tensor::SafeTensorsView;
pub use tensor::{Chunk, Quantizer, Storage, Tensor, TensorClass, contiguous_strides};
pub use verify::{Verification, is_fault, verify, verify_in, verify_with};
pub use weights_name::{WeightsName, WeightsPart};
