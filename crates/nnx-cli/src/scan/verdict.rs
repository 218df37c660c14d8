//! What a scan says of a file; the form as JSON is that of `nnx scan --json`.

use std::path::Path;

use nnx::checkpoint::Standing;
use serde::Serialize;

use crate::failure::Failure;
use crate::outcome;
use crate::path::PathText;

/// What is said of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Unpickling it would make plain data alone, or it has no pickle in it.
    Clean,
    /// It names classes that are not on the list of known ones.
    Unknown,
    /// It names what runs code.
    Dangerous,
    /// Not all of it could be looked at, and the rest is not dangerous.
    Unjudged,
}

/// A class or function, named by a pickle, that is not on the list of known ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) module: String,
    pub(super) name: String,
    #[serde(serialize_with = "standing_name")]
    pub(super) standing: Standing,
    /// Bytes from the start of the entry where there is one, else of the file.
    pub(super) offset: Option<u64>,
    pub(super) entry: Option<String>,
}

/// One file's verdict and the reasons for it.
#[derive(Debug, Serialize)]
pub(super) struct Judgement {
    #[serde(flatten)]
    pub(super) path: PathText,
    pub(super) verdict: Verdict,
    /// How many pickles were found in the file.
    pub(super) pickles: usize,
    pub(super) findings: Vec<Finding>,
    /// What could not be looked at.
    pub(super) errors: Vec<Failure>,
}

impl Judgement {
    pub(super) fn new(
        path: &Path,
        pickles: usize,
        findings: Vec<Finding>,
        errors: Vec<Failure>,
    ) -> Self {
        let names = |standing| findings.iter().any(|finding| finding.standing == standing);
        let verdict = if names(Standing::Dangerous) {
            Verdict::Dangerous
        } else if !errors.is_empty() {
            Verdict::Unjudged
        } else if !findings.is_empty() {
            Verdict::Unknown
        } else {
            Verdict::Clean
        };
        Self {
            path: PathText::new(path),
            verdict,
            pickles,
            findings,
            errors,
        }
    }

    /// A file that could not be read at all.
    pub(super) fn failed(path: &Path, failure: Failure) -> Self {
        Self::new(path, 0, Vec::new(), vec![failure])
    }
}

/// All that a scan says.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) files: Vec<Judgement>,
    pub(super) counts: Counts,
    /// The first error of the first file that could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// How many files each verdict was given to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) clean: usize,
    pub(super) unknown: usize,
    pub(super) dangerous: usize,
    pub(super) unjudged: usize,
}

impl Report {
    pub(super) fn of(files: Vec<Judgement>) -> Self {
        let mut counts = Counts::default();
        for file in &files {
            match file.verdict {
                Verdict::Clean => counts.clean += 1,
                Verdict::Unknown => counts.unknown += 1,
                Verdict::Dangerous => counts.dangerous += 1,
                Verdict::Unjudged => counts.unjudged += 1,
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

    pub(super) fn unjudged(&self) -> usize {
        self.counts.unjudged
    }

    /// The exit status: that of the worst file, where not knowing is the worst.
    pub(super) fn status(&self) -> u8 {
        match self.counts {
            Counts { unjudged: 1.., .. } => outcome::EXIT_ERROR,
            Counts { unknown: 1.., .. } | Counts { dangerous: 1.., .. } => outcome::EXIT_FINDINGS,
            _ => outcome::EXIT_OK,
        }
    }
}

fn standing_name<S: serde::Serializer>(
    standing: &Standing,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(standing.name())
}
