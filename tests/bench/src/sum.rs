//! A number that depends on every byte.

/// The sum of the words of eight bytes.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let (numbers, _) = bytes.as_chunks::<8>();
    numbers.iter().fold(0, |total, number| {
        total.wrapping_add(u64::from_le_bytes(*number))
    })
}
