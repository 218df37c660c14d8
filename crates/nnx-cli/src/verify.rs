//! `nnx verify`: checks that a checkpoint is whole.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use nnx::checkpoint::{ErrorKind, OpenOptions, Verification, is_fault, verify_in, verify_with};
use serde::Serialize;

use crate::arguments::Verify;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::interrupt::{Interrupt, STATUS};
use crate::json;
use crate::opened::part_of;
use crate::outcome::{EXIT_FINDINGS, EXIT_OK, Outcome};
use crate::path::PathText;
use crate::progress::{Progress, Unit};
use crate::remote::{Remote, remote_url};
use crate::size;
use crate::terminal::{GREEN, Page, RED};
use crate::wrap::wrapped;

/// Columns before a fault.
const INDENT: usize = 2;

/// The result of a verification, for people and scripts.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    path: PathText,
    sound: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    tensors: usize,
    bytes: u64,
    faults: Vec<Failure>,
    notes: Vec<String>,
}

pub(crate) fn run(arguments: &Verify) -> Outcome {
    match verified(arguments) {
        Ok(outcome) => outcome,
        Err(failure) => Outcome::failure(&failure, arguments.json),
    }
}

fn verified(arguments: &Verify) -> Result<Outcome, Failure> {
    let path = part_of(&arguments.path, None, arguments.tag.as_deref())?;
    let source = match remote_url(&path) {
        Some(url) => Source::Store(Remote::in_store(url)?),
        None => Source::Disk(crate::hub::local(&path)?),
    };
    let interrupt = Interrupt::listen();
    let bar: RefCell<Option<(Progress, u64)>> = RefCell::new(None);
    let found = source.verify(&mut |read, total| {
        let mut bar = bar.borrow_mut();
        let (bar, advanced) =
            bar.get_or_insert_with(|| (Progress::new(total, Unit::Bytes, "verifying"), 0));
        bar.advance(read.saturating_sub(*advanced));
        *advanced = read;
        if interrupt.is_heard() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    drop(bar);
    let report = match found {
        Ok(found) => Report::new(arguments, found),
        Err(error) if is_fault(&error) => Report {
            path: PathText::new(&arguments.path),
            sound: false,
            format: None,
            tensors: 0,
            bytes: 0,
            faults: vec![Failure::from(error)],
            notes: Vec::new(),
        },
        Err(error) => {
            let is_interrupted = matches!(error.kind(), ErrorKind::Interrupted);
            let failure = Failure::from(error).in_path(&path);
            let outcome = Outcome::failure(&failure, arguments.json);
            return Ok(if is_interrupted {
                outcome.with_status(STATUS)
            } else {
                outcome
            });
        }
    };
    let status = if report.sound { EXIT_OK } else { EXIT_FINDINGS };
    let output = if arguments.json {
        json::object(&report)
    } else {
        report.text(&Page::for_stdout())
    };
    Ok(Outcome::new(output, status))
}

/// Where the checkpoint is.
enum Source<'a> {
    Disk(Cow<'a, Path>),
    Store(Remote),
}

impl Source<'_> {
    fn verify(
        &self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> nnx::checkpoint::Result<Verification> {
        let options = OpenOptions::default();
        match self {
            Self::Disk(path) => verify_with(path, &options, progress),
            Self::Store(remote) => verify_in(&*remote.folder, remote.name(), &options, progress),
        }
    }
}

impl Report {
    fn new(arguments: &Verify, found: Verification) -> Self {
        Self {
            path: PathText::new(&arguments.path),
            sound: found.is_sound(),
            format: Some(found.format.name()),
            tensors: found.tensors,
            bytes: found.bytes,
            faults: found.faults.into_iter().map(Failure::from).collect(),
            notes: found.notes,
        }
    }

    fn text(&self, page: &Page) -> String {
        let mut out = String::new();
        let word = if self.sound {
            page.paint(GREEN, "sound")
        } else {
            page.paint(RED, "wrong")
        };
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            out,
            "{word}  {} ({}, {})",
            escaped(&self.path.text),
            size::count(self.tensors, "tensor"),
            size::bytes(self.bytes)
        );
        for fault in &self.faults {
            out.push_str(&wrapped(&escaped(&fault.message()), INDENT, page));
        }
        for note in &self.notes {
            out.push_str(&wrapped(&format!("note: {}", escaped(note)), INDENT, page));
        }
        out
    }
}
