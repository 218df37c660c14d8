//! The real NNx in a process of its own, which answers line by line.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::Result;

/// A Python that runs a script, which says the version of torch and then answers questions.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The version of torch.
    pub(crate) torch: String,
}

impl Peer {
    /// # Errors
    /// When Python does not start, or lacks NNx.
    pub(crate) fn start(
        python: &Path,
        script: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-c", script]).args(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let questions = child.stdin.take().ok_or("no standard input")?;
        let answers = child.stdout.take().ok_or("no standard output")?;
        let mut peer = Self {
            child,
            questions,
            answers: BufReader::new(answers),
            torch: String::new(),
        };
        peer.torch = peer.answer()?;
        Ok(peer)
    }

    /// The answer to a question that is answered with seconds.
    ///
    /// # Errors
    /// When Python fails.
    pub(crate) fn time(&mut self, question: &str) -> Result<Duration> {
        Ok(Duration::from_secs_f64(self.ask(question)?.parse()?))
    }

    /// The answer to a question.
    ///
    /// # Errors
    /// When Python fails.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String> {
        writeln!(self.questions, "{question}")?;
        self.questions.flush()?;
        self.answer()
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line)? {
            0 => Err("Python has ended; its errors are above".into()),
            _ => Ok(line.trim().to_owned()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends by itself when nobody asks any more; a failing bench does not wait for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
