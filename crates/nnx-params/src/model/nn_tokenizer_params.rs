//! Where a model's tokenizer is.

use crate::class::{python_class, required, state_methods, text};
use crate::value::State;

python_class! {
    class {
        /// Where the file of a model's tokenizer is; the caller opens it.
        ///
        /// Python's class also holds the open tokenizer.
        ///
        /// ```
        /// use nnx_params::NNTokenizerParams;
        ///
        /// assert_eq!(NNTokenizerParams::new("runs/tok.json").path(), "runs/tok.json");
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        NNTokenizerParams { unknown: State } in "nnx.nn.params.nn_tokenizer_params";
        required: &["path"];
    }
    fields {
        /// The path as it was given.
        path: String => &str = required(text);
    }
}

impl NNTokenizerParams {
    state_methods!();

    /// The tokenizer at a path, which is usually relative to the working directory.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            unknown: State::new(),
            path: path.into(),
        }
    }
}
