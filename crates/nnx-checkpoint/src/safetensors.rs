//! The safetensors format: the length of a JSON header, the header, the tensors' bytes.
//!
//! The codec is our own, on serde_json, because a checkpoint tool needs what the format's own crate
//! leaves out: it keeps the order of the metadata, refuses a key that occurs twice, names the
//! tensor and the offset in its errors, and gives the same bytes at every write.
//!
//! This module is for tools that look at the format itself: its types follow the format closely, and
//! change between minor versions where the rest of the crate does not.
//!
//! ```
//! use bytes::Bytes;
//! use indexmap::IndexMap;
//! use nnx_checkpoint::safetensors::{SafeTensors, write};
//! use nnx_checkpoint::{Dtype, Limits, Tensor};
//!
//! let weight = Tensor::from_bytes(Dtype::Float32, &[2], vec![0; 8])?;
//! let metadata = IndexMap::from([("format".to_owned(), "pt".to_owned())]);
//! let mut file = Vec::new();
//! write(&mut file, &[("weight", &weight)], Some(&metadata))?;
//!
//! let read = SafeTensors::parse(&Bytes::from(file), &Limits::default())?;
//! assert_eq!(read.metadata(), &metadata);
//! assert_eq!(read.get("weight").map(Tensor::shape), Some([2].as_slice()));
//! # Ok::<(), nnx_checkpoint::Error>(())
//! ```

mod header;
mod layout;
mod reader;
mod shards;
mod writer;

pub use reader::SafeTensors;
pub use shards::split_into_shards;
pub(crate) use writer::lay_out;
pub use writer::{write, write_within};

/// The key of the header that holds the string map; no tensor can have that name.
const METADATA: &str = "__metadata__";

#[cfg(test)]
mod tests;
