//! The files of `torch.save`: a container, the pickle in it, and the storages it refers to.
//!
//! Reads the zip container of PyTorch 1.6 and later and the legacy stream before it; writes the
//! zip container. The layout of both is that of `torch.serialization`, whose `_save`, `_load`,
//! `_legacy_save` and `_legacy_load` define them.
//!
//! This module is for tools that look at the format itself: its types follow the format closely, and
//! change between minor versions where the rest of the crate does not.

mod builder;
mod container;
mod foreign_zip;
mod legacy;
mod load_context;
mod numbered;
mod object;
mod pickle_location;
mod plain_pickle;
mod rebuild;
mod storage_id;
mod storage_keys;
mod storage_table;
mod stream;
mod tar;
mod torchscript;
mod write;
mod zip;

#[cfg(test)]
mod tests;

pub use builder::TorchBuilder;
pub(crate) use container::{read as read_container, read_item};
pub(crate) use foreign_zip::is_package;
pub(crate) use load_context::LoadContext;
pub(crate) use numbered::NumberedPickle;
pub use object::{PickledObject, StorageInfo, TorchObject};
pub use rebuild::{Layout, QuantizerInfo, SparseKind, TensorInfo};
pub(crate) use torchscript::is_script;
pub(crate) use write::{archive_root, write_records};
