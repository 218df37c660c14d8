//! Numbers: the text forms of protocol 0 and the little-endian form of long integers.

use super::super::big_int;
use super::super::graph::Node;
use crate::{Error, Result};

/// Decimal digits of a long integer that CPython converts, so that the quadratic conversion stays
/// short (`sys.int_info.default_max_str_digits`).
const MAX_DIGITS: usize = 4300;
/// Decimal digits converted at a time.
const CHUNK_DIGITS: usize = 9;

/// An integer in two's complement, little-endian.
pub(super) fn from_little_endian(bytes: &[u8]) -> Node {
    let bytes = big_int::shortest(bytes);
    let fill = if big_int::is_negative(bytes) {
        0xff
    } else {
        0x00
    };
    let mut word = [fill; 8];
    match word.get_mut(..bytes.len()) {
        Some(low) => {
            low.copy_from_slice(bytes);
            Node::Int(i64::from_le_bytes(word))
        }
        None => Node::BigInt(bytes.into()),
    }
}

/// The argument of `INT`, as the C unpickler has it: C's `strtol` with any base (where a leading
/// zero means octal), else what Python's `int(text, 0)` takes. Of two characters, 0 and 1 are the
/// booleans.
pub(super) fn int(line: &[u8]) -> Result<Node> {
    match c_long(until_nul(line)) {
        Some(value @ 0..=1) if line.len() == 2 => Ok(Node::Bool(value == 1)),
        Some(value) => Ok(Node::Int(value)),
        None => any_base(line),
    }
}

/// The argument of `LONG`: a trailing `L` is usual.
pub(super) fn long(line: &[u8]) -> Result<Node> {
    any_base(line.strip_suffix(b"L").unwrap_or(line))
}

/// The argument of `FLOAT`.
pub(super) fn float(line: &[u8]) -> Result<Node> {
    std::str::from_utf8(until_nul(line))
        .ok()
        .and_then(|text| text.parse().ok())
        .map(Node::Float)
        .ok_or_else(|| wrong("a decimal float", line))
}

/// The argument of `PUT` and `GET`: an integer as Python's `int(text)` reads it, from 0 to the
/// largest value of C's `ssize_t`.
pub(super) fn key(line: &[u8]) -> Result<u64> {
    let integer = Integer::parse(line, Some(10));
    integer
        .and_then(|integer| {
            let value = integer.digits.iter().try_fold(0u64, |value, &digit| {
                value.checked_mul(10)?.checked_add(u64::from(digit))
            })?;
            let in_range = value == 0 || (!integer.negative && i64::try_from(value).is_ok());
            in_range.then_some(value)
        })
        .ok_or_else(|| wrong("a memo key from 0", line))
}

/// The part of a text that C sees: up to its first zero byte.
fn until_nul(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == 0).next().unwrap_or(line)
}

/// Whether C and Python take the byte for white space in front of a number.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

fn without_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

/// C's `strtol(text, …, 0)`, where it takes the whole text and the number fits.
fn c_long(text: &[u8]) -> Option<i64> {
    let start = text.iter().position(|&byte| !is_space(byte))?;
    let (negative, rest) = without_sign(text.get(start..)?);
    let (base, digits) = match rest {
        [b'0', b'x' | b'X', digits @ ..] => (16, digits),
        [b'0', digits @ ..] if !digits.is_empty() => (8, digits),
        digits => (10, digits),
    };
    // `from_str_radix` would take a second sign.
    if !digits.first()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = i128::from_str_radix(std::str::from_utf8(digits).ok()?, base).ok()?;
    let value = if negative {
        magnitude.checked_neg()?
    } else {
        magnitude
    };
    i64::try_from(value).ok()
}

/// A number that Python's `int(text, 0)` takes.
fn any_base(line: &[u8]) -> Result<Node> {
    let Integer {
        negative,
        base,
        digits,
    } = Integer::parse(line, None).ok_or_else(|| wrong("an integer", line))?;
    let mut bytes = match base {
        10 if digits.len() > MAX_DIGITS => {
            return Err(Error::unsupported(format!(
                "expected an integer of at most {MAX_DIGITS} decimal digits, found {}",
                digits.len()
            )));
        }
        10 => magnitude(&digits),
        base => from_bits(&digits, base.trailing_zeros()),
    };
    // Room for the sign.
    bytes.push(0);
    if negative {
        big_int::negate(&mut bytes);
    }
    Ok(from_little_endian(&bytes))
}

/// An integer in digits, as `PyLong_FromString` of CPython reads it.
struct Integer {
    negative: bool,
    base: u8,
    /// The values of the digits, the highest first.
    digits: Vec<u8>,
}

impl Integer {
    /// `base`: that of the digits, or none when the text may say it.
    fn parse(line: &[u8], base: Option<u8>) -> Option<Self> {
        let text = until_nul(line);
        let start = text.iter().position(|&byte| !is_space(byte))?;
        let end = text.iter().rposition(|&byte| !is_space(byte))?;
        let (negative, rest) = without_sign(text.get(start..=end)?);
        let (base, rest) = match (base, rest) {
            (Some(base), _) => (base, rest),
            (None, [b'0', b'x' | b'X', digits @ ..]) => (16, digits),
            (None, [b'0', b'o' | b'O', digits @ ..]) => (8, digits),
            (None, [b'0', b'b' | b'B', digits @ ..]) => (2, digits),
            // A leading zero once meant octal: now nothing but zero may have one.
            (None, [b'0', rest @ ..]) if rest.iter().any(|byte| !matches!(byte, b'0' | b'_')) => {
                return None;
            }
            (None, _) => (10, rest),
        };
        // One underscore may follow the base.
        let rest = match rest {
            [b'_', digits @ ..] if base != 10 => digits,
            rest => rest,
        };
        Some(Self {
            negative,
            base,
            digits: values(rest, base)?,
        })
    }
}

/// The values of digits, between any two of which there may be an underscore.
fn values(text: &[u8], base: u8) -> Option<Vec<u8>> {
    let mut digits = Vec::new();
    let mut is_open = true;
    for &byte in text {
        if byte == b'_' && !is_open {
            is_open = true;
            continue;
        }
        let digit = char::from(byte).to_digit(u32::from(base))?;
        digits.push(u8::try_from(digit).ok()?);
        is_open = false;
    }
    (!is_open).then_some(digits)
}

/// The little-endian bytes of a number whose digits have so many bits each.
fn from_bits(digits: &[u8], width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut pending, mut filled) = (0u32, 0u32);
    for &digit in digits.iter().rev() {
        pending |= u32::from(digit) << filled;
        filled = filled.saturating_add(width);
        if filled >= 8 {
            let [low, ..] = pending.to_le_bytes();
            bytes.push(low);
            pending >>= 8;
            filled = filled.saturating_sub(8);
        }
    }
    let [low, ..] = pending.to_le_bytes();
    bytes.push(low);
    bytes
}

/// The little-endian bytes of a number in decimal digits.
fn magnitude(digits: &[u8]) -> Vec<u8> {
    let mut limbs: Vec<u32> = Vec::new();
    let (first, chunks) = digits.as_rchunks::<CHUNK_DIGITS>();
    for chunk in std::iter::once(first).chain(chunks.iter().map(|chunk| &chunk[..])) {
        let mut carry = chunk.iter().fold(0u64, |value, digit| {
            value.wrapping_mul(10).wrapping_add(u64::from(*digit))
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
