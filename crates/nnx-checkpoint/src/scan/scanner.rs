//! Looking into a file, whose kind is detected from its bytes.

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;

use super::entry_path::EntryPath;
use super::error::ScanError;
use super::report::{FileReport, Finding};
use crate::globals::{SafetyLevel, is_of_script};
use crate::npy::NpyFile;
use crate::safetensors::SafeTensors;
use crate::tar::TarHeader;
use crate::{Format, Limits, compression, sniff, zip};

/// How deep archives and pickles within one another are looked into.
const MAX_NESTING: usize = 8;
/// Bytes that one deflated entry or compressed file may inflate to.
pub(super) const MAX_INFLATED_BYTES: u64 = 1 << 30;
/// Bytes that all that is deflated in one file may inflate to together.
const MAX_INFLATED_TOTAL: u64 = 1 << 33;

/// Collects what is to be said of one file.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) limits: Limits,
    pub(super) pickles: usize,
    findings: Vec<Finding>,
    seen: HashSet<(Option<String>, String, String, SafetyLevel)>,
    errors: Vec<ScanError>,
    /// Bytes that deflated entries may still inflate to.
    pub(super) inflatable: u64,
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            limits: Limits::default().max_inflated_bytes(MAX_INFLATED_BYTES),
            pickles: 0,
            findings: Vec::new(),
            seen: HashSet::new(),
            errors: Vec::new(),
            inflatable: MAX_INFLATED_TOTAL,
        }
    }
}

impl Scanner {
    /// Looks into a whole file.
    pub(super) fn file(&mut self, bytes: &Bytes) {
        self.look(bytes, &EntryPath::default());
    }

    pub(super) fn into_report(self, path: Option<&Path>) -> FileReport {
        FileReport::new(path, self.pickles, self.findings, self.errors)
    }

    /// Looks into bytes. Whatever else they are, they are tried as a pickle, for a file can be
    /// sound in two formats at once.
    pub(super) fn look(&mut self, bytes: &Bytes, place: &EntryPath) {
        if place.nesting > MAX_NESTING {
            let message = format!("more than {MAX_NESTING} archives or pickles within one another");
            return self.fail(ScanError::new("limit_exceeded", message), place);
        }
        let format = sniff(bytes);
        let is_zip = matches!(format, Some(Format::TorchZip | Format::EmptyZip));
        if is_zip {
            self.zip(bytes, place);
        } else {
            self.stream(bytes, place, self.is_sound(format, bytes));
        }
        if TarHeader::parse(bytes).is_some() {
            self.tar(bytes, place);
        }
        if !is_zip && !place.is_storage {
            match zip::find_embedded(bytes) {
                Ok(Some(range)) => self.zip(&bytes.slice(range), place),
                Ok(None) => {}
                Err(failure) => self.fail(failure, place),
            }
        }
        match format {
            Some(Format::Npy) => self.numpy(bytes, place),
            Some(Format::Compressed) => match compression(bytes) {
                Some("gzip") => self.gzip(bytes, place),
                Some("zlib") => self.zlib(bytes, place),
                name => {
                    let name = name.unwrap_or("unknown");
                    let message = format!("a compressed file ({name}); unpack it first");
                    self.fail(ScanError::new("unsupported", message), place);
                }
            },
            Some(format @ (Format::Hdf5 | Format::GitLfsPointer)) => {
                self.fail(ScanError::new("unsupported", why_not(format)), place);
            }
            _ if bytes.starts_with(b"x^") => self.zlib_or_text(bytes, place),
            _ => {}
        }
    }

    /// Whether the bytes are sound in a format other than pickle, so that a beginning like a
    /// pickle's means nothing.
    fn is_sound(&self, format: Option<Format>, bytes: &Bytes) -> bool {
        format == Some(Format::SafeTensors) && SafeTensors::parse(bytes, &self.limits).is_ok()
    }

    /// Adds a class or function, unless it is known or was named before in the same entry.
    pub(super) fn find(
        &mut self,
        module: &str,
        name: &str,
        offset: Option<u64>,
        place: &EntryPath,
    ) {
        let level = match SafetyLevel::of_global(module, name) {
            SafetyLevel::Suspicious if place.is_script && is_of_script(module) => {
                SafetyLevel::Innocuous
            }
            level => level,
        };
        if level != SafetyLevel::Innocuous {
            self.add((module, name), level, offset, place);
        }
    }

    /// Adds a finding, unless it was added before in the same entry.
    pub(super) fn add(
        &mut self,
        (module, name): (&str, &str),
        level: SafetyLevel,
        offset: Option<u64>,
        place: &EntryPath,
    ) {
        let (module, name) = (module.to_owned(), name.to_owned());
        let key = (place.entry.clone(), module.clone(), name.clone(), level);
        if self.seen.insert(key) {
            self.findings.push(Finding {
                module,
                name,
                level,
                offset: place.value.or(offset),
                entry: place.entry.clone(),
            });
        }
    }

    /// Adds something that could not be looked at.
    pub(super) fn fail(&mut self, failure: impl Into<ScanError>, place: &EntryPath) {
        let failure = failure.into();
        let offset = place.value.or(failure.offset());
        let failure = match &place.entry {
            Some(entry) => failure.in_entry(entry),
            None => failure,
        };
        self.errors.push(failure.at(offset));
    }

    /// A NumPy array: behind its header, the values of an array of objects are a pickle.
    fn numpy(&mut self, bytes: &Bytes, place: &EntryPath) {
        match NpyFile::parse(bytes) {
            Ok(file) => self.stream_at(bytes, file.data_offset, place, true),
            Err(error) => self.fail(error, place),
        }
    }
}

fn why_not(format: Format) -> String {
    match format {
        Format::Hdf5 => "an HDF5 file may hold code of Keras, which this command does not look \
                         for"
        .to_owned(),
        _ => format.to_string(),
    }
}
