//! Integers of any size in two's complement, little-endian, as `LONG1` and `LONG4` hold them.

/// The same integer without the bytes that only repeat the sign.
pub(crate) fn shortest(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes;
    while let [shorter @ .., last] = bytes {
        let sign = match shorter.last() {
            Some(before) if before & 0x80 == 0 => 0x00,
            Some(_) => 0xff,
            None => break,
        };
        if *last != sign {
            break;
        }
        bytes = shorter;
    }
    bytes
}

/// Whether the integer is below zero.
pub(super) fn is_negative(bytes: &[u8]) -> bool {
    bytes.last().is_some_and(|last| last & 0x80 != 0)
}

/// Makes the integer its opposite; the bytes must have room for it.
pub(super) fn negate(bytes: &mut [u8]) {
    let mut carry = true;
    for byte in bytes {
        let (sum, over) = (!*byte).overflowing_add(u8::from(carry));
        *byte = sum;
        carry = over;
    }
}
