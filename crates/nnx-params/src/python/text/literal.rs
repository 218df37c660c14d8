//! Python's `ast.literal_eval`, for the literals that states hold.

use std::ops::{Deref, DerefMut};

use crate::error::{Error, ErrorKind, Result, TextForm};
use crate::python::text::cursor::Cursor;
use crate::python::text::limits::MAX_DEPTH;
use crate::python::text::literal_string;
use crate::value::Value;

/// Reads a Python literal: `None`, a bool, an int, a float, a text, or a list or tuple of these.
///
/// States hold such texts where Python called `str` on a list or tuple: `[8, 5]`,
/// `(0.9, 0.999)`, `['tanh', 'elu']`.
/// Everything else that `ast.literal_eval` reads (dicts, sets, bytes, complex numbers) is refused.
///
/// # Errors
///
/// The text is not such a literal, or holds an integer beyond 128 bits, more than [`MAX_DEPTH`]
/// levels or more than [`MAX_VALUES`](super::MAX_VALUES) values; the error states the byte offset.
///
/// ```
/// use nnx_params::Value;
/// use nnx_params::python_text::literal_eval;
///
/// assert_eq!(literal_eval("(8, 4)")?, Value::Tuple(vec![Value::Int(8), Value::Int(4)]));
/// assert_eq!(literal_eval("eight").unwrap_err().python_exception(), "ValueError");
/// # Ok::<(), nnx_params::Error>(())
/// ```
pub fn literal_eval(text: &str) -> Result<Value> {
    let mut reader = Reader {
        cursor: Cursor::new(text, TextForm::Literal),
        open: 0,
    };
    if let Some(offset) = text.find('\0') {
        reader.offset = offset;
        return Err(reader.unexpected("no NUL"));
    }
    reader.skip_blank_lines()?;
    let value = reader.sequence_or_value()?;
    // Nothing can follow any more, so that the ends of lines are spaces, too.
    reader.open += 1;
    reader.skip_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.unexpected("the end")),
    }
}

/// Reads literals, within brackets of which some are open.
struct Reader<'a> {
    cursor: Cursor<'a>,
    open: usize,
}

impl<'a> Deref for Reader<'a> {
    type Target = Cursor<'a>;

    fn deref(&self) -> &Cursor<'a> {
        &self.cursor
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cursor
    }
}

/// The digits of the longest integer of 128 bits, which is one written in binary.
const MAX_INTEGER_DIGITS: usize = 128;

impl Reader<'_> {
    #[cold]
    fn not_a_literal(&self, found: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotALiteral {
            offset: self.offset,
            found: found.into(),
        })
    }

    /// Skips spaces and comments, and the ends of lines where a bracket is open.
    fn skip_space(&mut self) {
        let in_brackets = self.open > 0;
        literal_string::skip_space(self, in_brackets);
    }

    /// Skips what may precede an expression: spaces on the first line, or whole lines of
    /// spaces and comments, after which Python takes spaces for a wrong indentation.
    fn skip_blank_lines(&mut self) -> Result<()> {
        let mut start = self.offset;
        self.skip_space();
        while matches!(self.peek(), Some('\n' | '\r')) {
            self.offset += 1;
            start = self.offset;
            self.skip_space();
        }
        if start > 0 && self.offset > start {
            self.offset = start;
            return Err(self.unexpected("an expression without indentation"));
        }
        Ok(())
    }

    /// Reads the text outside of all brackets: a value, or a tuple that has no parentheses.
    fn sequence_or_value(&mut self) -> Result<Value> {
        let first = self.value()?;
        self.skip_space();
        if self.peek() != Some(',') {
            return Ok(first);
        }
        self.count_value()?;
        let mut items = vec![first];
        while self.eat(",") {
            self.skip_space();
            if matches!(self.peek(), None | Some('\n' | '\r')) {
                break;
            }
            items.push(self.value()?);
            self.skip_space();
        }
        Ok(Value::Tuple(items))
    }

    fn value(&mut self) -> Result<Value> {
        self.skip_space();
        // Parentheses count once they turn out to be a tuple.
        if self.peek() != Some('(') {
            self.count_value()?;
        }
        match self.peek() {
            Some('[') => self.bracket("[", "]"),
            Some('(') => self.bracket("(", ")"),
            Some('\'' | '"') => literal_string::read(&mut self.cursor, self.open > 0),
            Some('r' | 'R' | 'u' | 'U') if literal_string::starts(self.rest()) => {
                literal_string::read(&mut self.cursor, self.open > 0)
            }
            Some('0'..='9' | '.') => self.number(false),
            Some('+' | '-') => {
                let negative = self.peek() == Some('-');
                self.offset += 1;
                self.signed_number(negative)
            }
            Some(c) if c == '_' || c.is_alphabetic() => self.name(),
            Some('{') => Err(self.not_a_literal("a dict or set")),
            _ => Err(self.unexpected("a literal")),
        }
    }

    fn name(&mut self) -> Result<Value> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| c != '_' && !c.is_alphanumeric())
            .unwrap_or(rest.len());
        let value = match rest.get(..length).unwrap_or_default() {
            "None" => Value::None,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            _ => return Err(self.not_a_literal("a name")),
        };
        self.offset += length;
        Ok(value)
    }

    fn open_bracket(&mut self, opening: &'static str) -> Result<()> {
        if self.open >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.eat(opening);
        self.open += 1;
        Ok(())
    }

    /// A list, a tuple, or a value in parentheses.
    fn bracket(&mut self, opening: &'static str, closing: &'static str) -> Result<Value> {
        self.open_bracket(opening)?;
        let mut items = Vec::new();
        let mut commas = 0_usize;
        loop {
            self.skip_space();
            if self.eat(closing) {
                break;
            }
            if items.len() > commas {
                return Err(self.unexpected("`,` or the closing bracket"));
            }
            items.push(self.value()?);
            self.skip_space();
            if self.eat(",") {
                commas += 1;
            }
        }
        self.open -= 1;
        if opening == "[" {
            return Ok(Value::List(items));
        }
        match items.pop() {
            Some(only) if items.is_empty() && commas == 0 => Ok(only),
            last => {
                self.count_value()?;
                items.extend(last);
                Ok(Value::Tuple(items))
            }
        }
    }

    /// A number after a sign; it can be in parentheses, but it cannot have a second sign.
    ///
    /// The sign goes down to the digits, because the least integer of 128 bits has no positive.
    fn signed_number(&mut self, negative: bool) -> Result<Value> {
        self.skip_space();
        match self.peek() {
            Some('0'..='9' | '.') => self.number(negative),
            Some('(') => {
                self.open_bracket("(")?;
                let number = self.signed_number(negative)?;
                self.skip_space();
                if self.peek() == Some(',') {
                    return Err(self.not_a_literal("a sign before what is no number"));
                }
                if !self.eat(")") {
                    return Err(self.unexpected("the closing parenthesis"));
                }
                self.open -= 1;
                Ok(number)
            }
            None | Some('\n' | '\r') => Err(self.unexpected("a number")),
            _ => Err(self.not_a_literal("a sign before what is no number")),
        }
    }

    fn number(&mut self, negative: bool) -> Result<Value> {
        let start = self.offset;
        let rest = self.rest();
        let radix = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("0x") => 16,
            Some("0o") => 8,
            Some("0b") => 2,
            _ => 10,
        };
        if radix != 10 {
            self.offset += 2;
            // An underscore may follow the prefix, as one may between any two digits.
            self.eat("_");
            let digits = self.digits(radix)?;
            return self.integer(start, &digits, radix, negative);
        }
        let whole = match self.peek() {
            Some('.') => String::new(),
            _ => self.digits(10)?,
        };
        let mut text = whole.clone();
        let mut float = false;
        if self.eat(".") {
            float = true;
            text.push('.');
            if self.peek().is_some_and(|c| c.is_ascii_digit()) {
                text.push_str(&self.digits(10)?);
            } else if whole.is_empty() {
                return Err(self.unexpected("a digit"));
            }
        }
        if self.eat("e") || self.eat("E") {
            float = true;
            text.push('e');
            if self.eat("-") {
                text.push('-');
            } else {
                self.eat("+");
            }
            text.push_str(&self.digits(10)?);
        }
        if self.peek().is_some_and(|c| c == '_' || c.is_alphanumeric()) {
            return Err(self.unexpected("the end of the number"));
        }
        if float {
            let amount: f64 = text.parse().map_err(|_| self.unexpected("a number"))?;
            return Ok(Value::Float(if negative { -amount } else { amount }));
        }
        if whole.starts_with('0') && whole.bytes().any(|digit| digit != b'0') {
            self.offset = start;
            return Err(self.unexpected("a number without leading zeros"));
        }
        self.integer(start, &whole, 10, negative)
    }

    fn integer(&self, start: usize, digits: &str, radix: u32, negative: bool) -> Result<Value> {
        if self.peek().is_some_and(|c| c == '_' || c.is_alphanumeric()) {
            return Err(self.unexpected("the end of the number"));
        }
        let sign = if negative { "-" } else { "" };
        let significant = match digits.trim_start_matches('0') {
            "" => "0",
            significant => significant,
        };
        Some(significant)
            .filter(|significant| significant.len() <= MAX_INTEGER_DIGITS)
            .and_then(|digits| i128::from_str_radix(&format!("{sign}{digits}"), radix).ok())
            .map(Value::Int)
            .ok_or_else(|| self.integer_range(start, digits.len()))
    }

    /// Digits of a radix, without the single underscores that may separate them.
    fn digits(&mut self, radix: u32) -> Result<String> {
        let rest = self.rest();
        let mut after_digit = false;
        let run = rest
            .bytes()
            .take_while(|byte| {
                let digit = char::from(*byte).is_digit(radix);
                let goes_on = digit || (*byte == b'_' && after_digit);
                after_digit = digit || (after_digit && !goes_on);
                goes_on
            })
            .count();
        self.offset += run;
        if !after_digit {
            return Err(self.unexpected("a digit"));
        }
        Ok(rest.get(..run).unwrap_or_default().replace('_', ""))
    }
}
