//! `nnx generate`: prints the text of a language model as it is generated.

use std::io::{self, Write as _};
use std::ops::ControlFlow;

use nnx::GenerativeNNModel;
use nnx::net::{GenerateOptions, Tokenizer};
use serde::Serialize;

use super::model;
use crate::arguments::networks::Generate;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;
use crate::outcome::{EXIT_ERROR, Outcome};

#[derive(Debug, Serialize)]
struct GenerateReport<'a> {
    prompt: &'a str,
    text: String,
    tokens: Vec<u32>,
}

pub(super) fn run(arguments: &Generate) -> Result<Outcome, Failure> {
    let loaded = model::load(&arguments.model)?;
    let path = arguments.tokenizer.as_ref().or(loaded.tokenizer.as_ref());
    let path = path.ok_or_else(|| {
        let what = "the model is in a store, and its tokenizer is not looked for there; give a \
                    file on the disk with `--tokenizer`";
        Failure::new("not_found", what)
    })?;
    if !path.is_file() {
        let what = "the folder of the model has no tokenizer; give one with `--tokenizer`";
        return Err(Failure::new("not_found", what).in_path(path));
    }
    let tokenizer = Tokenizer::from_file(path)?;
    let model = GenerativeNNModel::new(loaded.model, tokenizer)?;
    let options = options(arguments);
    let mut tokens = Vec::new();
    if arguments.json {
        let text = model.generate_with(&arguments.prompt, &options, |token| tokens.push(token))?;
        return Ok(Outcome::success(json::object(&GenerateReport {
            prompt: &arguments.prompt,
            text,
            tokens,
        })));
    }
    let mut printed = Printed::default();
    let text = model.generate_while(&arguments.prompt, &options, |text| printed.show(text));
    printed.finish(text.as_deref().unwrap_or(&printed.0));
    // The line also ends before an error.
    match text {
        Ok(_) => Ok(Outcome::success("\n".to_owned())),
        Err(error) if printed.0.is_empty() => Err(error.into()),
        Err(error) => {
            let outcome = Outcome::new("\n".to_owned(), EXIT_ERROR);
            Ok(outcome.with_error(&Failure::from(error).message()))
        }
    }
}

fn options(arguments: &Generate) -> GenerateOptions {
    GenerateOptions::new()
        .max_new_tokens(arguments.max_tokens)
        .temperature(arguments.temperature)
        .repetition_penalty(arguments.repetition_penalty)
        .stop(arguments.stop.iter().cloned())
        .top_k(arguments.top_k)
        .top_p(arguments.top_p)
        .seed(arguments.seed)
}

/// The part of a growing text that was printed.
#[derive(Debug, Default)]
struct Printed(String);

impl Printed {
    /// Prints the text that was added. If the bytes of the last character are not complete, it may
    /// still change and is not printed yet.
    fn show(&mut self, text: &str) -> ControlFlow<()> {
        let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        match text.strip_prefix(self.0.as_str()) {
            Some("") | None => ControlFlow::Continue(()),
            Some(new) => {
                // The reader of the output has stopped, so the generation stops too.
                let done = print(new).is_err();
                text.clone_into(&mut self.0);
                if done {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
        }
    }

    /// Prints the rest of the text. If the decoder changed earlier characters, the whole text is
    /// printed on a new line.
    fn finish(&self, text: &str) {
        // If the output cannot be written, nothing else can be done.
        let _ = match text.strip_prefix(self.0.as_str()) {
            Some(rest) => print(rest),
            None => print(&format!("\n{text}")),
        };
    }
}

/// Text for a person: line breaks are kept, and characters that a terminal would interpret are
/// escaped.
fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::AutoStream::always(io::stdout().lock());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.write_all(b"\n")?;
        }
        out.write_all(escaped(line).as_bytes())?;
    }
    out.flush()
}
