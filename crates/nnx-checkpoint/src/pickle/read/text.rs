//! Texts: UTF-8 with lone surrogates, and the escapes of protocol 0.

use super::super::graph::Text;
use crate::{Error, Result};

/// How many bytes of a faulty line an error shows.
const SHOWN_BYTES: usize = 40;

/// UTF-8 as pickles have it: lone surrogates are allowed (`surrogatepass`).
pub(super) fn utf8(bytes: &[u8]) -> Result<Text> {
    let first = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(Text::Utf8(text.into())),
        Err(error) => error,
    };
    let mut valid = first.valid_up_to();
    loop {
        let rest = bytes.get(valid..).unwrap_or(&[]);
        match rest {
            // A surrogate, U+D800 to U+DFFF, in three bytes.
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, after @ ..] => {
                valid = valid.saturating_add(3);
                match std::str::from_utf8(after) {
                    Ok(_) => return Ok(Text::Surrogates(bytes.into())),
                    Err(error) => valid = valid.saturating_add(error.valid_up_to()),
                }
            }
            _ => {
                return Err(Error::malformed(format!(
                    "expected a text in UTF-8, found something else from its byte {valid} on"
                )));
            }
        }
    }
}

/// A line of ASCII: a persistent id of protocol 0.
pub(super) fn ascii(line: &[u8]) -> Result<Text> {
    match std::str::from_utf8(line) {
        Ok(text) if text.is_ascii() => Ok(Text::Utf8(text.into())),
        _ => Err(Error::malformed(format!(
            "expected a persistent id in ASCII, found `{}`",
            shown(line)
        ))),
    }
}

/// A line that names a module or something in it.
pub(super) fn name(line: &[u8]) -> Result<Box<str>> {
    match std::str::from_utf8(line) {
        Ok(text) if !text.is_empty() => Ok(text.into()),
        _ => Err(Error::malformed(format!(
            "expected the name of a module or global in UTF-8, found `{}`",
            shown(line)
        ))),
    }
}

/// The argument of `STRING`: a Python byte string literal.
pub(super) fn quoted(line: &[u8]) -> Result<Vec<u8>> {
    let inner = match line {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        _ => {
            return Err(Error::malformed(format!(
                "expected a text in quotes, found `{}`",
                shown(line)
            )));
        }
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let Some((&escaped, after)) = rest.split_first() else {
            return Err(Error::malformed(
                "expected a character after a backslash, found the end of the text",
            ));
        };
        rest = after;
        match escaped {
            b'\\' | b'\'' | b'"' => out.push(escaped),
            b'a' => out.push(0x07),
            b'b' => out.push(0x08),
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'v' => out.push(0x0b),
            b'f' => out.push(0x0c),
            b'r' => out.push(b'\r'),
            b'0'..=b'7' => {
                // Up to three octal digits; Python keeps the low eight bits.
                let mut value = escaped.wrapping_sub(b'0');
                for _ in 0..2 {
                    let Some((&digit @ b'0'..=b'7', after)) = rest.split_first() else {
                        break;
                    };
                    value = value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'));
                    rest = after;
                }
                out.push(value);
            }
            b'x' => {
                let (value, after) = hex::<2>(rest)
                    .ok_or_else(|| wrong_escape("two hexadecimal digits after `\\x`", rest))?;
                out.push(u8::try_from(value).unwrap_or(u8::MAX));
                rest = after;
            }
            // Python leaves an escape that it does not know as it is.
            other => out.extend([b'\\', other]),
        }
    }
    Ok(out)
}

/// The argument of `UNICODE`: Latin-1, with `\u` before four hex digits and `\U` before eight.
pub(super) fn raw_unicode_escape(line: &[u8]) -> Result<Text> {
    let mut out = Vec::with_capacity(line.len());
    let mut surrogates = false;
    let mut rest = line;
    while let [byte, after @ ..] = rest {
        rest = after;
        let code = match (byte, rest) {
            (b'\\', [b'u', digits @ ..]) => {
                let (code, after) = hex::<4>(digits)
                    .ok_or_else(|| wrong_escape("four hexadecimal digits after `\\u`", digits))?;
                rest = after;
                code
            }
            (b'\\', [b'U', digits @ ..]) => {
                let (code, after) = hex::<8>(digits)
                    .filter(|(code, _)| *code <= u32::from(char::MAX))
                    .ok_or_else(|| {
                        wrong_escape(
                            "eight hexadecimal digits of a code point after `\\U`",
                            digits,
                        )
                    })?;
                rest = after;
                code
            }
            (b'\\', [other, after @ ..]) => {
                // The backslash is kept, and so is the byte behind it: a second backslash
                // begins no escape.
                out.push(b'\\');
                rest = after;
                u32::from(*other)
            }
            _ => u32::from(*byte),
        };
        match char::from_u32(code) {
            Some(character) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => {
                surrogates = true;
                out.extend(surrogate(code));
            }
        }
    }
    if surrogates {
        return Ok(Text::Surrogates(out.into()));
    }
    utf8(&out)
}

/// A surrogate in UTF-8's generalised form: always `1110_1101 10_1xxxxx 10_xxxxxx`.
fn surrogate(code: u32) -> [u8; 3] {
    let [low, middle, ..] = code.to_le_bytes();
    let second = ((middle & 0x0f) << 2) | (low >> 6);
    [0xed, 0x80 | second, 0x80 | (low & 0x3f)]
}

/// The first `N` hexadecimal digits (at most eight) as a number, and the bytes behind them.
fn hex<const N: usize>(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = bytes.split_first_chunk::<N>()?;
    let mut value = 0u32;
    for &digit in digits {
        let digit = char::from(digit).to_digit(16)?;
        value = (value << 4) | digit;
    }
    Some((value, rest))
}

#[cold]
fn wrong_escape(expected: &str, found: &[u8]) -> Error {
    Error::malformed(format!("expected {expected}, found `{}`", shown(found)))
}

/// The start of a line, made printable.
pub(super) fn shown(line: &[u8]) -> String {
    match line.get(..SHOWN_BYTES) {
        Some(start) => format!("{}…", start.escape_ascii()),
        None => line.escape_ascii().to_string(),
    }
}
