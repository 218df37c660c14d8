//! Bytes for tests.

/// Bytes that neither repeat nor can be compressed; each seed gives other ones.
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    // Marsaglia's xorshift.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len.saturating_add(8));
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
