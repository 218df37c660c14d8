//! Python's `json.loads`.

use std::ops::{Deref, DerefMut};

use crate::error::{Result, TextForm};
use crate::python::text::cursor::Cursor;
use crate::python::text::limits::MAX_DEPTH;
use crate::value::{State, Value};

/// Reads JSON as Python's `json.loads` does.
///
/// It accepts `NaN`, `Infinity` and `-Infinity`, keeps integers and floats apart, keeps the order
/// of keys, and lets the last of several equal keys win.
///
/// # Errors
///
/// The text is not JSON, or holds half of a surrogate pair, an integer beyond 128 bits, more than
/// [`MAX_DEPTH`] levels or more than [`MAX_VALUES`](super::MAX_VALUES) values; the error states the byte offset.
///
/// ```
/// use nnx_params::Value;
/// use nnx_params::python_text::json_loads;
///
/// assert_eq!(json_loads("[1, 1.0]")?, Value::List(vec![Value::Int(1), Value::Float(1.0)]));
/// assert_eq!(json_loads("-Infinity")?, Value::Float(f64::NEG_INFINITY));
/// # Ok::<(), nnx_params::Error>(())
/// ```
pub fn json_loads(text: &str) -> Result<Value> {
    let mut reader = Reader(Cursor::new(text, TextForm::Json));
    let value = reader.value(0)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.unexpected("the end")),
    }
}

struct Reader<'a>(Cursor<'a>);

impl<'a> Deref for Reader<'a> {
    type Target = Cursor<'a>;

    fn deref(&self) -> &Cursor<'a> {
        &self.0
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        let rest = self.rest();
        self.offset += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        if depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.skip_space();
        self.count_value()?;
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string().map(Value::Str),
            Some('-' | '0'..='9' | 'I') => self.number(),
            _ if self.eat("null") => Ok(Value::None),
            _ if self.eat("true") => Ok(Value::Bool(true)),
            _ if self.eat("false") => Ok(Value::Bool(false)),
            _ if self.eat("NaN") => Ok(Value::Float(f64::NAN)),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value> {
        let mut state = State::new();
        self.eat("{");
        self.skip_space();
        if self.eat("}") {
            return Ok(Value::Map(state));
        }
        loop {
            self.skip_space();
            if self.peek() != Some('"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            self.skip_space();
            if !self.eat(":") {
                return Err(self.unexpected("`:`"));
            }
            state.insert(key, self.value(depth + 1)?);
            self.skip_space();
            if self.eat("}") {
                return Ok(Value::Map(state));
            }
            if !self.eat(",") {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value> {
        let mut items = Vec::new();
        self.eat("[");
        self.skip_space();
        if self.eat("]") {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.eat("]") {
                return Ok(Value::List(items));
            }
            if !self.eat(",") {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.offset;
        let negative = self.eat("-");
        if self.eat("Infinity") {
            let infinity = if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            };
            return Ok(Value::Float(infinity));
        }
        if !self.eat("0") && self.digits() == 0 {
            return Err(self.unexpected("a digit"));
        }
        let mut float = false;
        let before_dot = self.offset;
        if self.eat(".") {
            if self.digits() > 0 {
                float = true;
            } else {
                self.offset = before_dot;
            }
        }
        let before_exponent = self.offset;
        if self.eat("e") || self.eat("E") {
            let _signed = self.eat("+") || self.eat("-");
            if self.digits() > 0 {
                float = true;
            } else {
                self.offset = before_exponent;
            }
        }
        let text = self.since(start);
        if float {
            return text
                .parse()
                .map(Value::Float)
                .map_err(|_| self.unexpected("a number"));
        }
        text.parse()
            .map(Value::Int)
            .map_err(|_| self.integer_range(start, text.len()))
    }

    /// Skips digits and counts them.
    fn digits(&mut self) -> usize {
        let rest = self.rest();
        let count = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        self.offset += count;
        count
    }

    fn string(&mut self) -> Result<String> {
        let mut out = String::new();
        self.eat("\"");
        loop {
            let rest = self.rest();
            let plain = rest
                .find(|c: char| c == '"' || c == '\\' || c < ' ')
                .unwrap_or(rest.len());
            out.push_str(rest.get(..plain).unwrap_or_default());
            self.offset += plain;
            if self.eat("\"") {
                return Ok(out);
            }
            if !self.eat("\\") {
                return Err(self.unexpected("a character of a string or its closing quote"));
            }
            let escape = self.peek();
            let character = match escape {
                Some(c @ ('"' | '\\' | '/')) => c,
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    self.offset += 1;
                    out.push(self.unicode_escape()?);
                    continue;
                }
                _ => return Err(self.unexpected("an escape")),
            };
            self.offset += 1;
            out.push(character);
        }
    }

    /// The character of the hex digits after `\u`, and of a second escape where it takes two.
    fn unicode_escape(&mut self) -> Result<char> {
        let first = self.hex_digits()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        let after_first = self.offset;
        if first < 0xdc00 && self.eat("\\u") {
            let second = self.hex_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                if let Some(character) = char::from_u32(code) {
                    return Ok(character);
                }
            }
            self.offset = after_first;
        }
        // Python keeps a lone surrogate in its text, but it has no UTF-8 form.
        Err(self.unexpected("the second half of a surrogate pair"))
    }

    fn hex_digits(&mut self) -> Result<u32> {
        let digits = self.rest().get(..4);
        let code = digits
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.unexpected("four hexadecimal digits"))?;
        self.offset += 4;
        Ok(code)
    }
}
