//! Files that gzip compressed.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use nnx_checkpoint::Limits;

use crate::error::{Error, Result};

/// Whether the bytes begin as such a file does.
pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The inflated bytes. The memory grows with them, whatever size a header promises.
///
/// # Errors
/// When the bytes are damaged, or inflate to more than the limit.
pub(super) fn inflate(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let most = limits.max_inflated_bytes;
    let mut inflated = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(most.saturating_add(1))
        .read_to_end(&mut inflated)
        .map_err(|error| Error::data(format!("the file is no sound gzip file: {error}")))?;
    if inflated.len() as u64 > most {
        return Err(Error::data(format!(
            "the file inflates to more than `{most}` bytes"
        )));
    }
    Ok(inflated)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn what_inflates_beyond_the_limit_is_refused() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&[0; 1000]).unwrap();
        let bytes = encoder.finish().unwrap();
        let limits = Limits::default().max_inflated_bytes(999);
        let error = inflate(&bytes, &limits).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the file inflates to more than `999` bytes"
        );
        let limits = Limits::default().max_inflated_bytes(1000);
        assert_eq!(inflate(&bytes, &limits).unwrap(), [0; 1000]);
        assert!(inflate(&bytes[..20], &limits).is_err());
    }
}
