//! `nnx scan`: checks whether files are safe to unpickle.

mod report;
mod text;

use std::path::PathBuf;

use nnx::checkpoint::scan::{self, Candidate, FileReport};

use self::report::ReportLines;
use crate::arguments::Scan;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::parallel;
use crate::progress::{Progress, Unit};
use crate::size;
use crate::terminal::Page;

/// A file to scan, or a path on the Hub that could not be downloaded.
enum Target {
    Here(Candidate),
    NotFetched(PathBuf, Failure),
}

/// The result for a target.
enum Scanned {
    Here(FileReport),
    NotFetched(PathBuf, Failure),
}

pub(crate) fn run(arguments: &Scan) -> Outcome {
    let mut targets = Vec::new();
    let mut here = Vec::new();
    for path in &arguments.paths {
        match crate::hub::local(path) {
            Ok(path) => here.push(path.into_owned()),
            Err(failure) => targets.push(Target::NotFetched(path.clone(), failure)),
        }
    }
    targets.extend(scan::candidates(&here).into_iter().map(Target::Here));
    let progress = Progress::new(targets.len() as u64, Unit::Files, "scanning");
    let scanned = parallel::map(&targets, |target| {
        let scanned = match target {
            Target::Here(candidate) => Scanned::Here(candidate.scan()),
            Target::NotFetched(path, failure) => Scanned::NotFetched(path.clone(), failure.clone()),
        };
        progress.advance(1);
        Ok::<_, std::convert::Infallible>(scanned)
    });
    drop(progress);
    let Ok(files) = scanned;
    let report = ReportLines::new(&files);
    let output = if arguments.json {
        json::object(&report)
    } else {
        text::render(&report, &Page::of_stdout())
    };
    let outcome = Outcome::new(output, report.status());
    match report.counts.unjudged {
        0 => outcome,
        unjudged => {
            let files = size::count(report.files.len(), "file");
            outcome.with_error(&format!("could not judge {unjudged} of {files}"))
        }
    }
}
