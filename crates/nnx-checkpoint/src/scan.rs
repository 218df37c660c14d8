//! Whether files are safe to unpickle.
//!
//! A scan looks at every pickle in a file, however deep it is within archives, compressed files and
//! other pickles, and says what it names. Nothing is unpickled.
//!
//! ```
//! use nnx_checkpoint::scan::{self, Verdict};
//!
//! let report = scan::scan_bytes(&b"cos\nsystem\n(S'true'\ntR."[..]);
//! assert_eq!(report.verdict(), Verdict::Dangerous);
//! let finding = &report.findings()[0];
//! assert_eq!((&*finding.module, &*finding.name, finding.offset), ("os", "system", Some(0)));
//! ```

mod candidates;
mod entry_path;
mod error;
mod file_fingerprint;
mod inflate;
mod mutations;
mod pickles;
mod report;
mod scanner;
mod storages;
mod tar;
mod zip;

use std::path::{Path, PathBuf};

use bytes::Bytes;

pub use self::candidates::{Candidate, candidates};
pub use self::error::ScanError;
pub use self::report::{FileReport, Finding, Report, Verdict, VerdictCounts};
use self::scanner::Scanner;

/// Scans a file, or every file in a folder and below it.
///
/// A path that cannot be read, and a folder without a file, is in the report as
/// [`Verdict::Unjudged`]. Files are scanned one after the other; to scan them at once, scan each of
/// the [`candidates`].
pub fn scan(path: impl Into<PathBuf>) -> Report {
    let files = candidates(&[path.into()]);
    Report::new(files.iter().map(Candidate::scan).collect())
}

/// Scans one file. Small files are read and large ones mapped; one that changes meanwhile is
/// [`Verdict::Unjudged`].
pub fn scan_file(path: impl AsRef<Path>) -> FileReport {
    candidates::scan_file(path.as_ref())
}

/// Scans the bytes of a file.
pub fn scan_bytes(bytes: impl Into<Bytes>) -> FileReport {
    let mut scanner = Scanner::default();
    scanner.file(&bytes.into());
    scanner.into_report(None)
}

#[cfg(test)]
mod tests;
