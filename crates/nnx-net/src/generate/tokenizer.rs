//! The tokenizer of a language model.

use std::path::Path;

use crate::error::{Error, Result};

/// Turns text into tokens and back, as a `tokenizer.json` says.
#[derive(Clone, Debug)]
pub struct Tokenizer(tokenizers::Tokenizer);

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// When it cannot be read, or is no tokenizer.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        tokenizers::Tokenizer::from_file(path)
            .map(Self)
            .map_err(|error| {
                Error::configuration(format!(
                    "`{}` is no tokenizer that can be read: {error}",
                    path.display()
                ))
            })
    }

    /// Reads the bytes of a `tokenizer.json`.
    ///
    /// # Errors
    /// When they are no tokenizer.
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        tokenizers::Tokenizer::from_bytes(bytes)
            .map(Self)
            .map_err(|error| Error::configuration(format!("the bytes are no tokenizer: {error}")))
    }

    /// The text of `tokenizer.json`, as Python's `Tokenizer.save` writes it.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn to_json(&self) -> Result<String> {
        self.0.to_string(true).map_err(failed)
    }

    /// How many tokens there are, added ones included.
    pub fn vocab_size(&self) -> usize {
        self.0.get_vocab_size(true)
    }

    /// The tokens of a text.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.0.encode(text, true);
        Ok(encoding.map_err(failed)?.get_ids().to_vec())
    }

    /// The text of tokens, without special ones.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn decode(&self, tokens: &[u32]) -> Result<String> {
        self.0.decode(tokens, true).map_err(failed)
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
fn failed(error: tokenizers::Error) -> Error {
    Error::configuration(format!("the tokenizer failed: {error}"))
}
