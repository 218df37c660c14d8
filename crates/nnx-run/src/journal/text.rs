//! The texts of a journal, byte for byte as Python writes them.

use nnx_params::python_text::json_dumps;
use nnx_params::{NNIterationDataPoint, State, Value};
use sha2::{Digest, Sha256};

/// The chain of an index without lines.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The name of the chunk of that number.
pub(super) fn chunk_name(number: u64) -> String {
    format!("chunk-{number:08}.jsonl")
}

/// The line of a record with its line feed.
pub(super) fn record_line(record: &NNIterationDataPoint) -> Vec<u8> {
    line(&record.full_state(), KeyOrder::Unchanged)
}

/// A line of the index or of the epochs with its line feed.
pub(super) fn sorted_line(state: &State) -> Vec<u8> {
    line(state, KeyOrder::Sorted)
}

/// The sha-256 of bytes, in lower-case hex.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The chain of an index after one more line: each line is hashed together with the chain before it.
pub(super) fn chained(chain: &str, line: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(chain.as_bytes());
    hash.update(line);
    hex(&hash.finalize())
}

/// Lines with their ends, as Python splits bytes: at `\n`, `\r` and `\r\n`.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let length = match end {
            None => rest.len(),
            Some(at) => match rest.get(at..) {
                Some([b'\r', b'\n', ..]) => at.saturating_add(2),
                _ => at.saturating_add(1),
            },
        };
        let (line, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(line)
    })
}

/// Whether a line has nothing but its line end.
pub(super) fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"\n" | b"\r" | b"\r\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOrder {
    Unchanged,
    Sorted,
}

fn line(state: &State, keys: KeyOrder) -> Vec<u8> {
    let mut text = String::new();
    write_map(state, keys, &mut text);
    text.push('\n');
    text.into_bytes()
}

/// JSON without spaces.
fn write(value: &Value, keys: KeyOrder, text: &mut String) {
    match value {
        Value::Map(state) => write_map(state, keys, text),
        Value::List(items) | Value::Tuple(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, keys, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&json_dumps(scalar)),
    }
}

fn write_map(state: &State, keys: KeyOrder, text: &mut String) {
    let mut entries: Vec<_> = state.iter().collect();
    if keys == KeyOrder::Sorted {
        entries.sort_unstable_by_key(|(key, _)| *key);
    }
    text.push('{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&json_dumps(&key.into()));
        text.push(':');
        write(value, keys, text);
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected lines are those of Python's `bytes.splitlines(keepends=True)`.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = lines(text.as_bytes()).collect();
        let expected: Vec<_> = expected.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_end_as_in_python() {
        check("", &[]);
        check("a", &["a"]);
        check("a\n", &["a\n"]);
        check("a\nb", &["a\n", "b"]);
        check("a\r\n\nb\rc\n\r", &["a\r\n", "\n", "b\r", "c\n", "\r"]);
        check("a\u{2028}b\u{b}c", &["a\u{2028}b\u{b}c"]);
    }

    #[test]
    fn lines_have_no_spaces_and_all_floats() {
        let inner = State::from_iter([("z", Value::Float(f64::NAN)), ("a", Value::None)]);
        let list = Value::List(vec![Value::Float(1e-5), Value::from("é, \"x\"")]);
        let state = State::from_iter([("b", Value::Map(inner)), ("a", list)]);
        let text = |line: Vec<u8>| String::from_utf8(line).unwrap();
        assert_eq!(
            text(sorted_line(&state)),
            "{\"a\":[1e-05,\"\\u00e9, \\\"x\\\"\"],\"b\":{\"a\":null,\"z\":NaN}}\n"
        );
        assert_eq!(
            text(line(&state, KeyOrder::Unchanged)),
            "{\"b\":{\"z\":NaN,\"a\":null},\"a\":[1e-05,\"\\u00e9, \\\"x\\\"\"]}\n"
        );
    }
}
