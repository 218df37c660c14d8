//! NumPy's file of one array: format versions 1 to 3, as `numpy.lib.format` describes them.

#[cfg(feature = "nnx")]
mod array;

#[cfg(feature = "nnx")]
pub use array::{read, write};

use crate::error::{Error, Result};

/// The bytes that such a file begins with.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// A file of one array, split into its header and the bytes behind it.
///
/// ```
/// use nnx_checkpoint::npy::NpyFile;
///
/// let file = NpyFile::parse(b"\x93NUMPY\x01\x00\x02\x00{}\x00\x00")?;
/// assert_eq!((file.header, file.data_offset), (&b"{}"[..], 12));
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NpyFile<'a> {
    /// The literal of a Python dict with `descr`, `fortran_order` and `shape`; Latin-1 in versions 1
    /// and 2, UTF-8 in version 3.
    pub header: &'a [u8],
    /// Where the elements begin. Those of an array of objects are a pickle.
    pub data_offset: usize,
}

impl<'a> NpyFile<'a> {
    /// Splits the bytes of a file.
    ///
    /// # Errors
    /// [`Malformed`](crate::ErrorKind::Malformed) when the file ends within its header, and
    /// [`Unsupported`](crate::ErrorKind::Unsupported) when it is of another version.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let short = || Error::malformed("the file ends within the header of its array");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(short)?;
        let ([major, _], rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (length, rest) = match major {
            1 => {
                let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
                (u32::from(u16::from_le_bytes(*length)), rest)
            }
            2 | 3 => {
                let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
                (u32::from_le_bytes(*length), rest)
            }
            other => {
                return Err(Error::unsupported(format!(
                    "expected version 1, 2 or 3 of the npy format, found `{other}`"
                )));
            }
        };
        let length = usize::try_from(length).map_err(|_| short())?;
        let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
        Ok(Self {
            header,
            data_offset: bytes.len().saturating_sub(data.len()),
        })
    }
}
