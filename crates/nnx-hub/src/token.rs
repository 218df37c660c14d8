//! The secret that a request is allowed by.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// A user access token of the Hub. It shows itself nowhere: not in `Debug`, not in an error, and it
/// is sent to the Hub's own origin alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token; spaces and line breaks around it are dropped, as the `hf` tools drop them. An empty
    /// one stands for none.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when it holds characters that a header cannot.
    pub fn new(text: &str) -> Result<Self> {
        let text: String = text.chars().filter(|c| !"\r\n".contains(*c)).collect();
        let text = text.trim();
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Error::from(ErrorKind::Settings {
                what: "the token holds a character that no token has; copy it again".to_owned(),
            }));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether it stands for none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the header.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// A text of somebody else's without the token.
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
