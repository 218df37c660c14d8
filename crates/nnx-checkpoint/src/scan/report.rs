//! The report of a scan.

use std::path::{Path, PathBuf};

use super::error::ScanError;
use crate::SafetyLevel;

/// The verdict of a scan on a file, from best to worst but for [`Unjudged`](Self::Unjudged), of which no
/// one knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Unpickling it would make plain data alone, or it has no pickle in it.
    Clean,
    /// It names classes that are not on the list of known ones.
    Suspicious,
    /// It names what runs code.
    Dangerous,
    /// Not all of it could be looked at, and the rest is not dangerous.
    Unjudged,
}

impl Verdict {
    /// The verdict in one word, for scripts: `clean`, `unknown`, `dangerous` or `unjudged`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Suspicious => "unknown",
            Self::Dangerous => "dangerous",
            Self::Unjudged => "unjudged",
        }
    }
}

/// A class or function, named by a pickle, that is not on the list of known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The Python module.
    pub module: String,
    /// The name within the module.
    pub name: String,
    /// Its safety; never [`SafetyLevel::Innocuous`].
    pub level: SafetyLevel,
    /// Bytes from the start of the entry where there is one, else of the file.
    pub offset: Option<u64>,
    /// The archive entry; behind that of the archive, where this is in an archive itself.
    pub entry: Option<String>,
}

/// One file's verdict and the reasons for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    path: Option<PathBuf>,
    verdict: Verdict,
    pickles: usize,
    findings: Vec<Finding>,
    errors: Vec<ScanError>,
}

impl FileReport {
    pub(super) fn new(
        path: Option<&Path>,
        pickles: usize,
        findings: Vec<Finding>,
        errors: Vec<ScanError>,
    ) -> Self {
        let is_dangerous = |finding: &Finding| finding.level == SafetyLevel::Dangerous;
        let verdict = if findings.iter().any(is_dangerous) {
            Verdict::Dangerous
        } else if !errors.is_empty() {
            Verdict::Unjudged
        } else if !findings.is_empty() {
            Verdict::Suspicious
        } else {
            Verdict::Clean
        };
        Self {
            path: path.map(Path::to_owned),
            verdict,
            pickles,
            findings,
            errors,
        }
    }

    /// A file that could not be read at all.
    pub(super) fn failed(path: &Path, error: ScanError) -> Self {
        Self::new(Some(path), 0, Vec::new(), vec![error])
    }

    /// The file; none for bytes.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The worst of the findings.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// How many pickles were found in the file.
    pub fn pickles(&self) -> usize {
        self.pickles
    }

    /// The unknown globals that the pickles name, each once for each archive entry.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The parts that could not be judged.
    pub fn errors(&self) -> &[ScanError] {
        &self.errors
    }
}

/// The report of a scan of several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    files: Vec<FileReport>,
}

impl Report {
    /// The report of files that were scanned one by one.
    pub fn new(files: Vec<FileReport>) -> Self {
        Self { files }
    }

    /// The files in the order in which they were found.
    pub fn files(&self) -> &[FileReport] {
        &self.files
    }

    /// How many files have each verdict.
    pub fn counts(&self) -> VerdictCounts {
        let count = |verdict| {
            let files = self.files.iter();
            files.filter(|file| file.verdict == verdict).count()
        };
        VerdictCounts {
            clean: count(Verdict::Clean),
            suspicious: count(Verdict::Suspicious),
            dangerous: count(Verdict::Dangerous),
            unjudged: count(Verdict::Unjudged),
        }
    }

    /// The verdict on all files together: dangerous if one is, else unjudged if one is, else
    /// suspicious if one is. A report on no file is unjudged.
    pub fn verdict(&self) -> Verdict {
        match self.counts() {
            _ if self.files.is_empty() => Verdict::Unjudged,
            VerdictCounts { dangerous: 1.., .. } => Verdict::Dangerous,
            VerdictCounts { unjudged: 1.., .. } => Verdict::Unjudged,
            VerdictCounts {
                suspicious: 1.., ..
            } => Verdict::Suspicious,
            _ => Verdict::Clean,
        }
    }
}

/// How many files have each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerdictCounts {
    /// Files with [`Verdict::Clean`].
    pub clean: usize,
    /// Files with [`Verdict::Suspicious`].
    pub suspicious: usize,
    /// Files with [`Verdict::Dangerous`].
    pub dangerous: usize,
    /// Files with [`Verdict::Unjudged`].
    pub unjudged: usize,
}
