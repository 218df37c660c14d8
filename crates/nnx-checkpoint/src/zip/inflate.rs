//! Deflated entries.

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{Error, Result};

/// The most that deflate can make of one byte: 258 bytes from two bits.
const MAX_RATIO: u64 = 1_032;
/// Bytes of the first and of the largest step by which the output grows.
const STEPS: (usize, usize) = (64 << 10, 64 << 20);

/// Inflates a raw deflate stream that must give exactly `size` bytes and end with its input. Memory
/// grows with the inflated bytes, never with the stated size.
pub(super) fn inflate(deflated: &[u8], size: u64) -> Result<Vec<u8>> {
    if size.div_ceil(MAX_RATIO) > deflated.len() as u64 {
        return Err(Error::malformed(format!(
            "{} deflated bytes cannot give the {size} that are stated",
            deflated.len()
        )));
    }
    // One byte more than stated, so that a stream that goes on is noticed.
    let ceiling = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    let mut out = Vec::new();
    let mut inflater = Decompress::new(false);
    loop {
        if out.len() == out.capacity() {
            let step = out.len().clamp(STEPS.0, STEPS.1);
            let step = step.min(ceiling.saturating_sub(out.len()));
            out.try_reserve_exact(step).map_err(|_| {
                Error::unsupported(format!("no memory for the {size} bytes of an entry"))
            })?;
        }
        let (read, written) = (inflater.total_in(), out.len());
        let rest = usize::try_from(read)
            .ok()
            .and_then(|read| deflated.get(read..))
            .unwrap_or_default();
        let status = inflater
            .decompress_vec(rest, &mut out, FlushDecompress::None)
            .map_err(|error| Error::malformed(format!("the deflate stream is broken: {error}")))?;
        if out.len() as u64 > size {
            return Err(Error::malformed(format!(
                "expected {size} bytes, but the deflate stream goes on"
            )));
        }
        if status == Status::StreamEnd {
            break;
        }
        if inflater.total_in() == read && out.len() == written {
            return Err(Error::malformed(format!(
                "the deflate stream is cut short: {written} bytes of {size} came out"
            )));
        }
    }
    if out.len() as u64 != size {
        return Err(Error::malformed(format!(
            "expected {size} bytes, the deflate stream gave {}",
            out.len()
        )));
    }
    if inflater.total_in() != deflated.len() as u64 {
        return Err(Error::malformed(format!(
            "the deflate stream ends after {} of its {} bytes",
            inflater.total_in(),
            deflated.len()
        )));
    }
    Ok(out)
}
