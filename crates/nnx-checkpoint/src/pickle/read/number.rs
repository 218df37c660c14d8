//! Numbers: the text forms of protocol 0 and the little-endian form of long integers.

use super::super::graph::Node;
use super::super::twos;
use crate::{Error, Result};

/// Decimal digits of a long integer that CPython converts, so that the quadratic conversion stays
/// short (`sys.int_info.default_max_str_digits`).
const MAX_DIGITS: usize = 4300;
/// Decimal digits converted at a time.
const CHUNK_DIGITS: usize = 9;

/// An integer in two's complement, little-endian.
pub(super) fn from_little_endian(bytes: &[u8]) -> Node {
    let bytes = twos::shortest(bytes);
    let fill = if twos::is_negative(bytes) { 0xff } else { 0x00 };
    let mut word = [fill; 8];
    match word.get_mut(..bytes.len()) {
        Some(low) => {
            low.copy_from_slice(bytes);
            Node::Int(i64::from_le_bytes(word))
        }
        None => Node::BigInt(bytes.into()),
    }
}

/// The argument of `INT`: `00` and `01` are the booleans.
pub(super) fn int(line: &[u8]) -> Result<Node> {
    match line {
        b"00" => Ok(Node::Bool(false)),
        b"01" => Ok(Node::Bool(true)),
        _ => decimal(line),
    }
}

/// The argument of `LONG`: a trailing `L` is usual.
pub(super) fn long(line: &[u8]) -> Result<Node> {
    decimal(line.strip_suffix(b"L").unwrap_or(line))
}

/// The argument of `FLOAT`.
pub(super) fn float(line: &[u8]) -> Result<Node> {
    std::str::from_utf8(line)
        .ok()
        .and_then(|text| text.parse().ok())
        .map(Node::Float)
        .ok_or_else(|| wrong("a decimal float", line))
}

/// The argument of `PUT` and `GET`.
pub(super) fn key(line: &[u8]) -> Result<u64> {
    std::str::from_utf8(line)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| wrong("a memo key from 0", line))
}

fn decimal(line: &[u8]) -> Result<Node> {
    let (negative, digits) = match line {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    // Python would take a leading zero for another base or refuse it.
    let sound = match digits {
        [] => false,
        [b'0', _, ..] => false,
        _ => digits.iter().all(u8::is_ascii_digit),
    };
    if !sound {
        return Err(wrong("a decimal integer", line));
    }
    if digits.len() > MAX_DIGITS {
        return Err(Error::unsupported(format!(
            "expected an integer of at most {MAX_DIGITS} decimal digits, found {}",
            digits.len()
        )));
    }
    let mut bytes = magnitude(digits);
    // Room for the sign.
    bytes.push(0);
    if negative {
        twos::negate(&mut bytes);
    }
    Ok(from_little_endian(&bytes))
}

/// The little-endian bytes of a number in decimal digits.
fn magnitude(digits: &[u8]) -> Vec<u8> {
    let mut limbs: Vec<u32> = Vec::new();
    let (first, chunks) = digits.as_rchunks::<CHUNK_DIGITS>();
    for chunk in std::iter::once(first).chain(chunks.iter().map(|chunk| &chunk[..])) {
        let mut carry = chunk.iter().fold(0u64, |value, digit| {
            value
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit.wrapping_sub(b'0')))
        });
        for limb in &mut limbs {
            let product = u64::from(*limb)
                .wrapping_mul(1_000_000_000)
                .wrapping_add(carry);
            let [a, b, c, d, high @ ..] = product.to_le_bytes();
            *limb = u32::from_le_bytes([a, b, c, d]);
            carry = u64::from(u32::from_le_bytes(high));
        }
        if let Some(limb) = u32::try_from(carry).ok().filter(|&limb| limb != 0) {
            limbs.push(limb);
        }
    }
    limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect()
}

#[cold]
fn wrong(expected: &str, line: &[u8]) -> Error {
    Error::malformed(format!(
        "expected {expected}, found `{}`",
        super::text::shown(line)
    ))
}
