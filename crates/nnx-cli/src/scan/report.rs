//! A report as it is printed; the JSON form is that of `nnx scan --json`.

use std::path::Path;

use nnx::checkpoint::SafetyLevel;
use nnx::checkpoint::scan::{FileReport, Finding, ScanError, Verdict};
use serde::{Serialize, Serializer};

use crate::failure::Failure;
use crate::outcome;
use crate::path::PathText;

/// The whole report.
#[derive(Debug, Serialize)]
pub(super) struct ReportLines {
    pub(super) files: Vec<FileLine>,
    pub(super) counts: Counts,
    /// The first error of the first file that could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// The verdict on one file, and the reasons for it.
#[derive(Debug, Serialize)]
pub(super) struct FileLine {
    #[serde(flatten)]
    pub(super) path: PathText,
    #[serde(serialize_with = "verdict_name")]
    pub(super) verdict: Verdict,
    /// The number of pickles in the file.
    pub(super) pickles: usize,
    pub(super) findings: Vec<FindingLine>,
    /// The reasons why parts of the file could not be examined.
    pub(super) errors: Vec<Failure>,
}

/// A class or function that is not on the list of known ones.
#[derive(Debug, Serialize)]
pub(super) struct FindingLine {
    pub(super) module: String,
    pub(super) name: String,
    #[serde(rename = "standing", serialize_with = "level_name")]
    pub(super) level: SafetyLevel,
    pub(super) offset: Option<u64>,
    pub(super) entry: Option<String>,
}

/// The number of files with each verdict.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Counts {
    pub(super) clean: usize,
    pub(super) unknown: usize,
    pub(super) dangerous: usize,
    pub(super) unjudged: usize,
}

impl ReportLines {
    pub(super) fn new(files: Vec<FileLine>) -> Self {
        let mut counts = Counts::default();
        for file in &files {
            match file.verdict {
                Verdict::Clean => counts.clean += 1,
                Verdict::Suspicious => counts.unknown += 1,
                Verdict::Dangerous => counts.dangerous += 1,
                _ => counts.unjudged += 1,
            }
        }
        let mut unjudged = files
            .iter()
            .filter(|file| file.verdict == Verdict::Unjudged);
        let error = unjudged
            .next()
            .and_then(|file| file.errors.first().cloned());
        Self {
            files,
            counts,
            error,
        }
    }

    /// The exit status: that of the worst file. A file that could not be judged is the worst.
    pub(super) fn status(&self) -> u8 {
        match self.counts {
            Counts { unjudged: 1.., .. } => outcome::EXIT_ERROR,
            Counts { unknown: 1.., .. } | Counts { dangerous: 1.., .. } => outcome::EXIT_FINDINGS,
            _ => outcome::EXIT_OK,
        }
    }
}

impl FileLine {
    /// The line of a path on the Hub that could not be fetched.
    pub(super) fn not_fetched(path: &Path, failure: Failure) -> Self {
        Self {
            path: PathText::new(path),
            verdict: Verdict::Unjudged,
            pickles: 0,
            findings: Vec::new(),
            errors: vec![failure],
        }
    }

    /// The same findings under the path that the user knows.
    pub(super) fn with_path(self, path: &Path) -> Self {
        Self {
            path: PathText::new(path),
            ..self
        }
    }

    pub(super) fn new(report: &FileReport) -> Self {
        Self {
            path: PathText::new(report.path().unwrap_or(Path::new(""))),
            verdict: report.verdict(),
            pickles: report.pickles(),
            findings: report.findings().iter().map(FindingLine::new).collect(),
            errors: report.errors().iter().map(failure).collect(),
        }
    }
}

impl FindingLine {
    fn new(finding: &Finding) -> Self {
        Self {
            module: finding.module.clone(),
            name: finding.name.clone(),
            level: finding.level,
            offset: finding.offset,
            entry: finding.entry.clone(),
        }
    }
}

fn failure(error: &ScanError) -> Failure {
    let mut failure = Failure::new(error.name(), error.what()).at(error.offset());
    if let Some(entry) = error.entry() {
        failure = failure.in_entry(entry);
    }
    match error.path() {
        Some(path) => failure.in_path(path),
        None => failure,
    }
}

fn level_name<S: Serializer>(level: &SafetyLevel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level.name())
}

fn verdict_name<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}
