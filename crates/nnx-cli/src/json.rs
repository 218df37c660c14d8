//! JSON for scripts.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use crate::escape::is_unsafe;

/// The number of levels whose members are on separate lines.
const LINED_LEVELS: usize = 2;

/// An object. Its members and their members are on separate lines, so that each tensor has one
/// line.
pub(crate) fn object<T: Serialize>(value: &T) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Lines::default());
    // Writing to a vector cannot fail, and the structures of this crate can always be serialized.
    let written = value.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "{written:?}");
    out.push(b'\n');
    String::from_utf8(out).unwrap_or_default()
}

/// A float, or for NaN and the infinities a text.
pub(crate) fn float<S: serde::Serializer>(float: f64, serializer: S) -> Result<S::Ok, S::Error> {
    match float {
        f64::INFINITY => serializer.serialize_str("Infinity"),
        f64::NEG_INFINITY => serializer.serialize_str("-Infinity"),
        float if float.is_nan() => serializer.serialize_str("NaN"),
        float => serializer.serialize_f64(float),
    }
}

/// A float for JSON, or null.
#[cfg(feature = "run")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonFloat(pub(crate) Option<f64>);

#[cfg(feature = "run")]
impl Serialize for JsonFloat {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(value) => float(value, serializer),
            None => serializer.serialize_none(),
        }
    }
}

/// A number that counts something: without a point if it is whole.
#[cfg(feature = "run")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonCount(pub(crate) f64);

#[cfg(feature = "run")]
impl Serialize for JsonCount {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// From this number on, not every integer is a float.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            float(self.0, serializer)
        }
    }
}

/// Escapes, in addition to what JSON requires, every character that a terminal would interpret. A
/// reader of the JSON gets the same text.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// For each open level, whether it has a member.
    filled: Vec<bool>,
}

impl Lines {
    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled.push(false);
        out.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let filled = self.filled.pop().unwrap_or_default();
        self.depth = self.depth.saturating_sub(1);
        if filled && self.depth < LINED_LEVELS {
            self.line(out)?;
        }
        out.write_all(bracket)
    }

    fn member<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if let Some(filled) = self.filled.last_mut() {
            *filled = true;
        }
        let lined = self.depth <= LINED_LEVELS;
        if !first {
            out.write_all(if lined { b"," } else { b", " })?;
        }
        if lined { self.line(out) } else { Ok(()) }
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.member(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.member(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unsafe) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            let mut characters = from.chars();
            if let Some(character) = characters.next() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        out.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        serde_json::ser::CompactFormatter.write_char_escape(out, escape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_on_lines_down_to_the_second_level() {
        let value = serde_json::json!({"a": [[1, [2]], {}], "b": {}, "c": []});
        assert_eq!(
            object(&value),
            "{\n  \"a\": [\n    [1, [2]],\n    {}\n  ],\n  \"b\": {},\n  \"c\": []\n}\n"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&object(&value)).unwrap(),
            value
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_reads_back() {
        let text = "a\u{1b}\u{7f}\u{9b}\u{202e}\"\\\u{e0001}é";
        let printed = object(&[text]);
        assert_eq!(
            printed,
            "[\n  \"a\\u001b\\u007f\\u009b\\u202e\\\"\\\\\\udb40\\udc01é\"\n]\n"
        );
        assert_eq!(
            serde_json::from_str::<Vec<String>>(&printed).unwrap(),
            [text]
        );
    }
}
