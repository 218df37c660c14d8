//! The zip archive that `torch.save` writes: a reader that trusts nothing and a writer that gives
//! PyTorch's own bytes.
//!
//! The structure is that of PKWARE's APPNOTE 6.3; the choices of PyTorch's writer within it were
//! taken from its files.
//!
//! This module is for tools that look at the format itself: its types follow the format closely, and
//! change between minor versions where the rest of the crate does not.
//!
//! ```
//! use bytes::Bytes;
//! use nnx_checkpoint::Limits;
//! use nnx_checkpoint::zip::{ZipArchive, ZipWriter};
//!
//! let mut writer = ZipWriter::new(Vec::new(), "archive");
//! writer.record("version", b"3\n")?;
//! let file = Bytes::from(writer.finish()?);
//!
//! let archive = ZipArchive::parse(&file, &Limits::default())?;
//! let entry = archive.entry("archive/version").expect("it was written above");
//! assert_eq!(archive.data(entry)?, "3\n");
//! # Ok::<(), nnx_checkpoint::Error>(())
//! ```

mod archive;
mod central_directory;
mod embedded;
mod entry;
mod eocd;
mod fields;
mod inflate;
mod local_header;
mod record;
mod serialization_id;
mod writer;

pub use archive::ZipArchive;
pub(crate) use archive::decoded;
pub(crate) use embedded::find_embedded;
pub use entry::ZipEntry;
pub use writer::ZipWriter;

#[cfg(test)]
mod tests;
