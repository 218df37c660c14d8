//! `nnx scan`: whether files are safe to unpickle.

mod contents;
mod files;
mod fillings;
mod inflate;
mod pickles;
mod sight;
mod storages;
mod tar;
#[cfg(test)]
mod tests;
mod text;
mod verdict;
mod zip;

use std::path::Path;

use self::contents::{Place, Scanner};
use self::files::Found;
use self::sight::Sight;
use self::verdict::{Judgement, Report};
use crate::arguments::Scan;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::parallel;
use crate::progress::{Progress, Unit};
use crate::size;
use crate::terminal::Page;

pub(crate) fn run(arguments: &Scan) -> Outcome {
    let mut found = Vec::new();
    let mut here = Vec::new();
    for path in &arguments.paths {
        match crate::hub::local(path) {
            Ok(path) => here.push(path.into_owned()),
            Err(failure) => found.push(Found {
                path: path.clone(),
                failure: Some(failure),
            }),
        }
    }
    found.extend(files::below(&here));
    let progress = Progress::of(found.len() as u64, Unit::Files, "scanning");
    let judged = parallel::map(&found, |found| {
        let judgement = judge(found);
        progress.advance(1);
        Ok::<_, std::convert::Infallible>(judgement)
    });
    drop(progress);
    let Ok(files) = judged;
    let report = Report::of(files);
    let output = if arguments.json {
        json::object(&report)
    } else {
        text::render(&report, &Page::of_stdout())
    };
    let outcome = Outcome::new(output, report.status());
    match report.unjudged() {
        0 => outcome,
        unjudged => {
            let files = size::count(report.files.len(), "file");
            outcome.with_error(&format!("could not judge {unjudged} of {files}"))
        }
    }
}

fn judge(found: &Found) -> Judgement {
    let path = found.path.as_path();
    match &found.failure {
        Some(failure) => Judgement::failed(path, failure.clone()),
        None => judge_file(path),
    }
}

fn judge_file(path: &Path) -> Judgement {
    let judged = Sight::of(path).and_then(|before| {
        let source = before.open(path)?;
        let mut scanner = Scanner::default();
        scanner.file(source.bytes());
        if Sight::of(path)? != before {
            let message = "the file changed while it was looked at";
            scanner.fail(Failure::new("io", message), &Place::default());
        }
        Ok(scanner.into_judgement(path))
    });
    judged.unwrap_or_else(|failure| Judgement::failed(path, failure.in_path(path)))
}
