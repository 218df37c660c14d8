//! The text literals of Python.

use crate::error::Result;
use crate::python::text::cursor::Cursor;
use crate::value::Value;

/// Whether a prefix of `rest` opens a text: `r'`, `u"` and the like.
pub(super) fn starts(rest: &str) -> bool {
    matches!(
        rest.as_bytes(),
        [b'r' | b'R' | b'u' | b'U', b'\'' | b'"', ..]
    )
}

/// Skips spaces and comments, and within brackets the ends of lines.
pub(super) fn skip_space(cursor: &mut Cursor<'_>, in_brackets: bool) {
    loop {
        let rest = cursor.rest();
        let space = |c| match c {
            ' ' | '\t' | '\u{c}' => true,
            '\n' | '\r' => in_brackets,
            _ => false,
        };
        cursor.offset += rest.len() - rest.trim_start_matches(space).len();
        if cursor.peek() != Some('#') {
            return;
        }
        let rest = cursor.rest();
        cursor.offset += rest.find(['\n', '\r']).unwrap_or(rest.len());
        if !in_brackets {
            return;
        }
    }
}

/// Reads a text and the ones that directly follow it, which Python joins.
pub(super) fn read(cursor: &mut Cursor<'_>, in_brackets: bool) -> Result<Value> {
    let mut out = String::new();
    loop {
        read_one(cursor, &mut out)?;
        skip_space(cursor, in_brackets);
        if !matches!(cursor.peek(), Some('\'' | '"')) && !starts(cursor.rest()) {
            return Ok(Value::Str(out));
        }
    }
}

fn read_one(cursor: &mut Cursor<'_>, out: &mut String) -> Result<()> {
    let raw = cursor.eat("r") || cursor.eat("R");
    let _unicode = !raw && (cursor.eat("u") || cursor.eat("U"));
    let quote = match () {
        () if cursor.eat("'''") => "'''",
        () if cursor.eat("\"\"\"") => "\"\"\"",
        () if cursor.eat("'") => "'",
        () if cursor.eat("\"") => "\"",
        () => return Err(cursor.unexpected("a quote")),
    };
    loop {
        if cursor.eat(quote) {
            return Ok(());
        }
        match cursor.peek() {
            None => return Err(cursor.unexpected("the closing quote")),
            Some('\n' | '\r') if quote.len() == 1 => {
                return Err(cursor.unexpected("the closing quote"));
            }
            Some('\\') if raw => {
                cursor.offset += 1;
                out.push('\\');
                // A raw text keeps the backslash and the character behind it.
                if let Some(character) = cursor.peek() {
                    cursor.offset += character.len_utf8();
                    out.push(character);
                }
            }
            Some('\\') => escape(cursor, out)?,
            Some(character) => {
                cursor.offset += character.len_utf8();
                out.push(character);
            }
        }
    }
}

fn escape(cursor: &mut Cursor<'_>, out: &mut String) -> Result<()> {
    cursor.offset += 1;
    let Some(character) = cursor.peek() else {
        return Err(cursor.unexpected("an escape"));
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
        'x' => return code(cursor, out, 1, 2, 16),
        'u' => return code(cursor, out, 1, 4, 16),
        'U' => return code(cursor, out, 1, 8, 16),
        '0'..='7' => {
            let digits = cursor.rest().bytes().take(3);
            let length = digits
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            return code(cursor, out, 0, length, 8);
        }
        // Names of characters would need the whole Unicode name table, and `repr` never uses them.
        'N' => return Err(cursor.unexpected("an escape other than a character's name")),
        _ => {
            // Python keeps the backslash of an escape that it does not know.
            out.push('\\');
            Some(character)
        }
    };
    cursor.offset += character.len_utf8();
    out.extend(plain);
    Ok(())
}

/// Pushes the character whose code the next digits state.
fn code(
    cursor: &mut Cursor<'_>,
    out: &mut String,
    skip: usize,
    length: usize,
    radix: u32,
) -> Result<()> {
    let digits = cursor.rest().get(skip..skip + length);
    let character = digits
        .filter(|digits| digits.chars().all(|digit| digit.is_digit(radix)))
        .and_then(|digits| u32::from_str_radix(digits, radix).ok())
        .and_then(char::from_u32)
        .ok_or_else(|| cursor.unexpected("the code of a character"))?;
    cursor.offset += skip + length;
    out.push(character);
    Ok(())
}
