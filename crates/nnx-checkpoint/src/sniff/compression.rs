//! Compressed files, of which there are many kinds.

/// How a file is compressed that [`sniff`](super::sniff) calls
/// [`Compressed`](super::Format::Compressed), by its first bytes: `gzip`, `zlib`, `xz` and so on.
///
/// ```
/// assert_eq!(nnx_checkpoint::compression(b"\x1f\x8b\x08\0"), Some("gzip"));
/// assert_eq!(nnx_checkpoint::compression(b"PK\x03\x04"), None);
/// ```
pub fn compression(prefix: &[u8]) -> Option<&'static str> {
    certain(prefix).or_else(|| likely(prefix))
}

/// By a beginning that no file of another format has: as the length of a safetensors header it
/// would pass that format's bound of 100,000,000.
pub(super) fn certain(prefix: &[u8]) -> Option<&'static str> {
    match prefix {
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some("bzip2"),
        // A frame of Zstandard that a decoder passes over.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("Zstandard"),
        _ => MAGICS
            .iter()
            .find(|(magic, _)| prefix.starts_with(magic))
            .map(|(_, name)| *name),
    }
}

/// From the formats' own documents, in the order of how often models are met in them.
const MAGICS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x04\x22\x4d\x18", "LZ4"),
    (b"\x02\x21\x4c\x18", "LZ4"),
    (b"LZIP", "lzip"),
    (b"\x89LZO\x00\r\n\x1a\n", "lzop"),
    (b"\xff\x06\x00\x00sNaPpY", "Snappy"),
    (b"MSCF\x00\x00\x00\x00", "Cabinet"),
    // The format of joblib before 0.10: the length in hexadecimal digits, then a stream of zlib.
    (b"ZF0x", "joblib"),
];

/// By a beginning that a safetensors header may have too, if it is one in which a space precedes
/// the brace.
pub(super) fn likely(prefix: &[u8]) -> Option<&'static str> {
    match prefix {
        [0x1f, 0x8b, 0x08, ..] => Some("gzip"),
        _ if is_short_length(prefix) => None,
        // CMF and FLG of RFC 1950, for the window that everyone uses; `x^` begins texts as well.
        [0x78, 0x01 | 0x9c | 0xda, ..] => Some("zlib"),
        // The width of the codes, and two bits that are reserved.
        [0x1f, 0x9d, flags, ..] if flags & 0x60 == 0 && (9..=16).contains(&(flags & 0x1f)) => {
            Some("compress")
        }
        // Properties, size of the dictionary, and an uncompressed size that is not told.
        [
            0x5d,
            0,
            0,
            _,
            _,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            ..,
        ] => Some("LZMA"),
        _ => None,
    }
}

/// Whether the first eight bytes, as the length of a safetensors header, are within its bound.
fn is_short_length(prefix: &[u8]) -> bool {
    prefix
        .first_chunk()
        .is_some_and(|length| u64::from_le_bytes(*length) <= 100_000_000)
}
