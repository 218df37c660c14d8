//! The containers that hold a pickle of PyTorch.

use super::object::TorchObject;
use super::opening::Opening;
use super::{bare, legacy, tar, zip};
use crate::Format;
use crate::error::Result;
use crate::source::ByteRange;

/// Reads the bytes of a file whose format is that of the opening.
pub(crate) fn read(bytes: &ByteRange, opening: &mut Opening) -> Result<TorchObject> {
    match opening.format {
        Format::TorchZip => zip::read(bytes, opening),
        Format::Tar => tar::read(bytes, opening),
        Format::Pickle => bare::read(bytes, opening),
        _ => legacy::read(bytes, None, opening),
    }
}
