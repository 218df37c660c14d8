//! The real NNx in a process of its own, which answers line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::case::BATCH;
use crate::Result;

const SCRIPT: &str = include_str!("peer.py");

/// A Python that trains the cases of a folder.
#[derive(Debug)]
pub(super) struct Peer {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The version of torch.
    pub(super) torch: String,
}

impl Peer {
    /// # Errors
    /// When Python does not start, or lacks NNx.
    pub(super) fn start(python: &Path, folder: &Path, threads: usize) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT]).arg(folder);
        command.args([threads.to_string(), BATCH.to_string()]);
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

    /// How long a case takes, in the loop of NNx or in PyTorch alone.
    ///
    /// # Errors
    /// When Python fails.
    pub(super) fn time(&mut self, what: &str, case: &str) -> Result<Duration> {
        let seconds: f64 = self.ask(&format!("{what} {case}"))?.parse()?;
        Ok(Duration::from_secs_f64(seconds))
    }

    /// The largest resident size so far, in bytes.
    ///
    /// # Errors
    /// When Python fails.
    pub(super) fn memory(&mut self) -> Result<u64> {
        Ok(self.ask("memory")?.parse()?)
    }

    fn ask(&mut self, question: &str) -> Result<String> {
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
