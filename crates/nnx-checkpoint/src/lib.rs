//! Reads and writes PyTorch and safetensors checkpoints without Python.
//!
//! Nothing in a file is ever executed, imported or looked up by name.

#![warn(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing
)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

mod dtype;
mod error;
mod limits;
pub mod pickle;
pub mod safetensors;
mod save;
mod sniff;
mod source;
mod state_dict;
mod tensor;
pub mod torch;
pub mod zip;

pub use dtype::Dtype;
pub use error::{Error, ErrorKind, Result};
pub use limits::Limits;
pub use save::save_atomic;
pub use sniff::{Format, SNIFF_BYTES, sniff};
pub use source::Source;
pub use state_dict::{Mapping, Modules, StateDict, StateValue};
pub use tensor::{Storage, Tensor, TensorClass, contiguous_strides};
