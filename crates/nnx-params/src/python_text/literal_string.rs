//! The text literals of Python.

use super::literal::Reader;
use crate::{Result, Value};

/// Whether a prefix of `rest` opens a text: `r'`, `u"` and the like.
pub(super) fn starts(rest: &str) -> bool {
    matches!(
        rest.as_bytes(),
        [b'r' | b'R' | b'u' | b'U', b'\'' | b'"', ..]
    )
}

/// Reads a text and the ones that directly follow it, which Python joins.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Value> {
    let mut out = String::new();
    loop {
        read_one(reader, &mut out)?;
        reader.skip_space();
        if !matches!(reader.peek(), Some('\'' | '"')) && !starts(reader.rest()) {
            return Ok(Value::Str(out));
        }
    }
}

fn read_one(reader: &mut Reader<'_>, out: &mut String) -> Result<()> {
    let raw = reader.eat("r") || reader.eat("R");
    let _unicode = !raw && (reader.eat("u") || reader.eat("U"));
    let quote = match () {
        () if reader.eat("'''") => "'''",
        () if reader.eat("\"\"\"") => "\"\"\"",
        () if reader.eat("'") => "'",
        () if reader.eat("\"") => "\"",
        () => return Err(reader.unexpected("a quote")),
    };
    loop {
        if reader.eat(quote) {
            return Ok(());
        }
        match reader.peek() {
            None => return Err(reader.unexpected("the closing quote")),
            Some('\n' | '\r') if quote.len() == 1 => {
                return Err(reader.unexpected("the closing quote"));
            }
            Some('\\') if raw => {
                reader.offset += 1;
                out.push('\\');
                // A raw text keeps the backslash and what it would have escaped.
                if let Some(character) = reader.peek() {
                    reader.offset += character.len_utf8();
                    out.push(character);
                }
            }
            Some('\\') => escape(reader, out)?,
            Some(character) => {
                reader.offset += character.len_utf8();
                out.push(character);
            }
        }
    }
}

fn escape(reader: &mut Reader<'_>, out: &mut String) -> Result<()> {
    reader.offset += 1;
    let Some(character) = reader.peek() else {
        return Err(reader.unexpected("an escape"));
    };
    let plain = match character {
        '\n' => None,
        '\\' | '\'' | '"' => Some(character),
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        'x' => return code(reader, out, 1, 2, 16),
        'u' => return code(reader, out, 1, 4, 16),
        'U' => return code(reader, out, 1, 8, 16),
        '0'..='7' => {
            let digits = reader.rest().bytes().take(3);
            let length = digits
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            return code(reader, out, 0, length, 8);
        }
        // Names of characters would need the whole Unicode name table, and `repr` never uses them.
        'N' => return Err(reader.unexpected("an escape other than a character's name")),
        _ => {
            // Python keeps the backslash of an escape that it does not know.
            out.push('\\');
            Some(character)
        }
    };
    reader.offset += character.len_utf8();
    out.extend(plain);
    Ok(())
}

/// Pushes the character whose code the next digits state.
fn code(
    reader: &mut Reader<'_>,
    out: &mut String,
    skip: usize,
    length: usize,
    radix: u32,
) -> Result<()> {
    let digits = reader.rest().get(skip..skip + length);
    let character = digits
        .filter(|digits| digits.chars().all(|digit| digit.is_digit(radix)))
        .and_then(|digits| u32::from_str_radix(digits, radix).ok())
        .and_then(char::from_u32)
        .ok_or_else(|| reader.unexpected("the code of a character"))?;
    reader.offset += skip + length;
    out.push(character);
    Ok(())
}
