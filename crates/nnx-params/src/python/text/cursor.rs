//! A position in a text that is being read, and the errors that state it.

use crate::error::{Error, ErrorKind, Result, TextForm};
use crate::python::text::limits::{MAX_DEPTH, MAX_VALUES};

/// A position in a text of some grammar.
pub(super) struct Cursor<'a> {
    text: &'a str,
    form: TextForm,
    /// Bytes from the start of the text.
    pub(super) offset: usize,
    values: usize,
}

impl<'a> Cursor<'a> {
    /// The start of a text.
    pub(super) fn new(text: &'a str, form: TextForm) -> Self {
        Self {
            text,
            form,
            offset: 0,
            values: 0,
        }
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// The text from an earlier offset up to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.offset).unwrap_or_default()
    }

    /// The next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves behind a token, if it is next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.offset += token.len();
        }
        found
    }

    /// Counts a value.
    ///
    /// # Errors
    ///
    /// There are too many.
    pub(super) fn count_value(&mut self) -> Result<()> {
        if self.values >= MAX_VALUES {
            return Err(Error::new(ErrorKind::Values {
                form: self.form,
                offset: self.offset,
                limit: MAX_VALUES,
            }));
        }
        self.values += 1;
        Ok(())
    }

    /// The grammar allows something else here.
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(c) => format!("`{}`", c.escape_debug()),
        };
        Error::new(ErrorKind::Syntax {
            form: self.form,
            offset: self.offset,
            expected,
            found,
        })
    }

    /// The text is nested too deeply here.
    #[cold]
    pub(super) fn too_deep(&self) -> Error {
        Error::new(ErrorKind::Depth {
            form: self.form,
            offset: self.offset,
            limit: MAX_DEPTH,
        })
    }

    /// The integer that starts at an offset has too many digits.
    #[cold]
    pub(super) fn integer_range(&self, start: usize, digits: usize) -> Error {
        Error::new(ErrorKind::IntegerRange {
            form: self.form,
            offset: start,
            digits,
        })
    }
}
