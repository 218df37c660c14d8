//! The access token.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// A user access token of the Hub. It never appears in `Debug` or in an error, and it is sent only
/// to the Hub's own origin.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Makes a token of a text without the spaces and line breaks around it, as the `hf` tools do.
    /// An empty token means that no token is sent.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when the text has characters that a header cannot have.
    pub fn new(text: &str) -> Result<Self> {
        let text: String = text.chars().filter(|c| !"\r\n".contains(*c)).collect();
        let text = text.trim();
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Error::from(ErrorKind::Settings {
                what: "the token contains a character that no token has; copy it again".to_owned(),
            }));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether the token is empty, so that none is sent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the header.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// A text from outside, with the token removed.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, "…")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}
