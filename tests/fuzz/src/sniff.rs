//! Telling formats apart, against the readers.

use bytes::Bytes;
use nnx_checkpoint::safetensors::SafeTensors;
use nnx_checkpoint::zip::ZipArchive;
use nnx_checkpoint::{Format, SNIFF_BYTES};

use crate::limits::limits;

/// `sniff` looks at its prefix alone, and agrees with the readers.
///
/// # Panics
/// When it does not.
pub fn sniff(data: &[u8]) {
    let found = nnx_checkpoint::sniff(data);
    let prefix = &data[..data.len().min(SNIFF_BYTES)];
    assert_eq!(
        found,
        nnx_checkpoint::sniff(prefix),
        "more than the prefix was looked at"
    );
    if let Some(format) = found {
        assert!(!format.to_string().is_empty(), "{format:?} has no name");
    }
    let bytes = Bytes::copy_from_slice(data);
    if data.get(8) == Some(&b'{') && SafeTensors::parse(&bytes, &limits()).is_ok() {
        assert_eq!(found, Some(Format::SafeTensors));
    }
    if data.starts_with(b"PK\x03\x04") && ZipArchive::parse(&bytes, &limits()).is_ok() {
        assert_eq!(found, Some(Format::TorchZip));
    }
    if data.first() == Some(&0x80) && nnx_checkpoint::pickle::read(data, &limits()).is_ok() {
        assert!(
            matches!(
                found,
                Some(Format::Pickle | Format::TorchLegacy | Format::SafeTensors)
            ),
            "a pickle was taken for {found:?}"
        );
    }
}
