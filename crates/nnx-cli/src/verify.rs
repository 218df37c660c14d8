//! `nnx verify`: checks that a checkpoint is whole.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use nnx::checkpoint::{ErrorKind, OpenOptions, Verification, is_fault, verify_with};
use serde::Serialize;

use crate::arguments::Verify;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::interrupt::{Interrupt, STATUS};
use crate::json;
use crate::outcome::{EXIT_FINDINGS, EXIT_OK, Outcome};
use crate::path::PathText;
use crate::progress::{Progress, Unit};
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
    let path = match crate::opened::part_of(&arguments.path, arguments.tag.as_deref()) {
        Ok(path) => path,
        Err(failure) => return Outcome::failure(&failure, arguments.json),
    };
    let interrupt = Interrupt::listen();
    let bar: RefCell<Option<(Progress, u64)>> = RefCell::new(None);
    let found = verify_with(&path, &OpenOptions::default(), &mut |read, total| {
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
            return if is_interrupted {
                outcome.with_status(STATUS)
            } else {
                outcome
            };
        }
    };
    let status = if report.sound { EXIT_OK } else { EXIT_FINDINGS };
    let output = if arguments.json {
        json::object(&report)
    } else {
        report.text(&Page::for_stdout())
    };
    Outcome::new(output, status)
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
