//! The real NNx in a Python that answers questions, one in each line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use nnx_params::{State, Value, python_text};

use crate::Result;
use crate::workspace::line_of;

/// The script that runs there; it judges only the files that it loads.
const SCRIPT: &str = include_str!("../../python/runs.py");

/// A Python that waits for questions.
#[derive(Debug)]
pub(super) struct Python {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Python {
    pub(super) fn start(interpreter: &Path) -> Result<Self> {
        let mut command = Command::new(interpreter);
        // Isolated: neither the user's variables nor other folders affect the imports.
        command.args(["-I", "-c", SCRIPT]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        let child = command.spawn();
        let mut child =
            child.map_err(|error| format!("cannot run `{}`: {error}", line_of(&command)))?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("Python has no pipes".into());
        };
        Ok(Self {
            child,
            questions: Some(questions),
            answers: BufReader::new(answers),
        })
    }

    /// Asks, and waits for the answer.
    pub(super) fn ask<const N: usize>(
        &mut self,
        function: &str,
        arguments: [(&str, Value); N],
    ) -> Result<Value> {
        self.put(function, arguments)?;
        self.answer(function)
    }

    /// Sends a question without waiting; [`answer`](Self::answer) returns the answer.
    pub(super) fn put<const N: usize>(
        &mut self,
        function: &str,
        arguments: [(&str, Value); N],
    ) -> Result<()> {
        let mut question = State::from_iter([("ask", function)]);
        question.extend(arguments);
        let questions = self.questions.as_mut().ok_or("Python has gone")?;
        writeln!(questions, "{}", python_text::json_dumps(&question.into()))?;
        Ok(questions.flush()?)
    }

    /// The answer to the first question without an answer.
    pub(super) fn answer(&mut self, function: &str) -> Result<Value> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("Python ended while it was asked to `{function}`").into());
        }
        match python_text::json_loads(&line)? {
            Value::Map(mut answer) => match (answer.remove("ok"), answer.remove("error")) {
                (Some(value), _) => Ok(value),
                (None, Some(Value::Str(error))) => {
                    Err(format!("Python failed to `{function}`: {error}").into())
                }
                _ => Err("Python gave no answer".into()),
            },
            _ => Err("Python's answer is no object".into()),
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // Python ends after the last question.
        drop(self.questions.take());
        let _ = self.child.wait();
    }
}

/// A path as an argument.
pub(super) fn path(path: &Path) -> Value {
    Value::Str(path.to_string_lossy().into_owned())
}
