//! The result of a command: its output and its exit status.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;

/// The exit status of a command that succeeded.
pub(crate) const EXIT_OK: u8 = 0;
/// The exit status of a scan that flagged a file, a comparison that found a difference, or a check that
/// found something wrong.
pub(crate) const EXIT_FINDINGS: u8 = 1;
/// The exit status when something could not be done.
pub(crate) const EXIT_ERROR: u8 = 2;

/// The output of a command, and its exit status.
#[derive(Debug)]
pub(crate) struct Outcome {
    stdout: String,
    /// Lines for standard error.
    stderr: String,
    status: u8,
}

impl Outcome {
    /// Text for standard output.
    pub(crate) fn success(text: String) -> Self {
        Self::new(text, EXIT_OK)
    }

    /// Text for standard output, with an exit status.
    pub(crate) fn new(stdout: String, status: u8) -> Self {
        Self {
            stdout,
            stderr: String::new(),
            status,
        }
    }

    /// The help page of a call without arguments.
    pub(crate) fn usage(page: String) -> Self {
        Self {
            stdout: String::new(),
            stderr: page,
            status: EXIT_ERROR,
        }
    }

    /// One line on standard error and, with `--json`, the error as JSON on standard output.
    pub(crate) fn failure(failure: &Failure, json: bool) -> Self {
        #[derive(Serialize)]
        struct ErrorReport<'a> {
            error: &'a Failure,
        }
        let stdout = if json {
            json::object(&ErrorReport { error: failure })
        } else {
            String::new()
        };
        Self::new(stdout, EXIT_ERROR).with_error(&failure.message())
    }

    /// The same with another exit status.
    pub(crate) fn with_status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    /// Adds a line for standard error.
    pub(crate) fn with_error(mut self, message: &str) -> Self {
        self.stderr.push_str("nnx: ");
        self.stderr.push_str(&escaped(message));
        self.stderr.push('\n');
        self
    }

    /// Adds a line for standard error for each note.
    #[cfg(feature = "net")]
    pub(crate) fn with_notes(self, notes: &[String]) -> Self {
        let notes = notes.iter();
        notes.fold(self, |outcome, note| {
            outcome.with_error(&format!("note: {note}"))
        })
    }

    /// Prints the output. It is not an error if the reader of the output has stopped early: `nnx …
    /// | head -1` must print nothing else, and the exit status is that of the result.
    pub(crate) fn deliver(self) -> ExitCode {
        let printed = print(
            anstream::AutoStream::always(io::stdout().lock()),
            &self.stdout,
        );
        let status = match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let line = format!("nnx: cannot write the output: {error}\n");
                // If standard error cannot be written either, only the exit status is left to
                // report it.
                let _ = io::stderr().write_all(line.as_bytes());
                EXIT_ERROR
            }
            _ => self.status,
        };
        let _ = print(
            anstream::AutoStream::always(io::stderr().lock()),
            &self.stderr,
        );
        ExitCode::from(status)
    }
}

/// The text contains colours only if they were requested. The stream translates them for old
/// Windows consoles.
fn print(mut stream: impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}
