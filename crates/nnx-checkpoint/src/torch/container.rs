//! The containers that hold a pickle of PyTorch.

use super::load_context::LoadContext;
use super::object::TorchObject;
use super::{legacy, plain_pickle, tar, zip};
use crate::Format;
use crate::error::Result;
use crate::source::ByteRange;

/// Reads the bytes of a file whose format is that of the context.
pub(crate) fn read(bytes: &ByteRange, context: &mut LoadContext) -> Result<TorchObject> {
    match context.format {
        Format::TorchZip => zip::read(bytes, context),
        Format::Tar => tar::read(bytes, context),
        Format::Pickle => plain_pickle::read(bytes, context),
        _ => legacy::read(bytes, None, context),
    }
}

/// Reads a file of `torch.save` that is an item of a larger file: an archive without a comment,
/// which must fill the bytes.
///
/// # Errors
/// When no archive fills them, and as for [`read`].
pub(crate) fn read_item(bytes: &ByteRange, context: &mut LoadContext) -> Result<TorchObject> {
    zip::read_item(bytes, context)
}
