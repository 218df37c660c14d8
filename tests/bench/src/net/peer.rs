//! The real NNx in a process of its own, which answers line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::Result;

const SCRIPT: &str = include_str!("peer.py");

/// A Python that has loaded the nets and inputs of a folder.
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
    pub(super) fn start(python: &Path, folder: &Path) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT]).arg(folder);
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

    /// The time of a step of the fastest of `count` computations.
    ///
    /// # Errors
    /// When Python fails.
    pub(super) fn time(&mut self, case: &str, count: u32) -> Result<Duration> {
        let seconds: f64 = self.ask(&format!("time {case} {count}"))?.parse()?;
        Ok(Duration::from_secs_f64(seconds))
    }

    /// The file with what Python computes.
    ///
    /// # Errors
    /// When Python fails.
    pub(super) fn output(&mut self, case: &str) -> Result<PathBuf> {
        Ok(self.ask(&format!("output {case}"))?.into())
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
