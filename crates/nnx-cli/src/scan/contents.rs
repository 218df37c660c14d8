//! Looking into a file: what it is, its bytes decide.

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;
use nnx::checkpoint::safetensors::SafeTensors;
use nnx::checkpoint::{Format, Limits, Standing, compression, sniff};

use super::verdict::{Finding, Judgement};
use super::{tar, zip};
use crate::failure::Failure;

/// How deep archives and pickles within one another are looked into.
const MAX_NESTING: usize = 8;
/// Bytes that one deflated entry or compressed file may inflate to.
pub(super) const MAX_INFLATED_BYTES: u64 = 1 << 30;
/// Bytes that all that is deflated in one file may inflate to together.
const MAX_INFLATED_TOTAL: u64 = 1 << 33;

/// Where bytes that are looked at lie in the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The archive entry, behind that of the archive where it is in one itself.
    pub(super) entry: Option<String>,
    /// The offset of a pickled value that the bytes are the value of: offsets within it would mean
    /// nothing to anyone.
    pub(super) value: Option<u64>,
    /// How many archives and values there are around the bytes.
    pub(super) nesting: usize,
    /// Whether the bytes are the numbers of a tensor: their beginning is looked at, and no more, so
    /// that a scan need not read all of a large file.
    pub(super) is_storage: bool,
    /// Whether the bytes are a pickle of a TorchScript archive, whose program has the classes of
    /// `__torch__`.
    pub(super) is_script: bool,
}

impl Place {
    /// The place of an entry of the archive that is here.
    pub(super) fn entry(&self, name: &str) -> Self {
        let entry = match &self.entry {
            Some(outer) => format!("{outer}/{name}"),
            None => name.to_owned(),
        };
        Self {
            entry: Some(entry),
            value: self.value,
            nesting: self.nesting.saturating_add(1),
            is_storage: false,
            is_script: false,
        }
    }

    /// The place of a value of the pickle that is here.
    pub(super) fn value(&self, offset: Option<u64>) -> Self {
        Self {
            entry: self.entry.clone(),
            value: self.value.or(offset),
            nesting: self.nesting.saturating_add(1),
            is_storage: false,
            is_script: false,
        }
    }
}

/// Collects what is to be said of one file.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) limits: Limits,
    pub(super) pickles: usize,
    findings: Vec<Finding>,
    seen: HashSet<(Option<String>, String, String, Standing)>,
    errors: Vec<Failure>,
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
        self.look(bytes, &Place::default());
    }

    pub(super) fn into_judgement(self, path: &Path) -> Judgement {
        Judgement::new(path, self.pickles, self.findings, self.errors)
    }

    /// Looks into bytes. Whatever else they are, they are tried as a pickle, for a file can be
    /// sound in two formats at once.
    pub(super) fn look(&mut self, bytes: &Bytes, place: &Place) {
        if place.nesting > MAX_NESTING {
            let message = format!("more than {MAX_NESTING} archives or pickles within one another");
            return self.fail(Failure::new("limit_exceeded", message), place);
        }
        let format = sniff(bytes);
        let is_zip = matches!(format, Some(Format::TorchZip | Format::EmptyZip));
        if is_zip {
            self.zip(bytes, place);
        } else {
            self.stream(bytes, place, self.is_sound(format, bytes));
        }
        if tar::is_tar(bytes) {
            self.tar(bytes, place);
        }
        if !is_zip && !place.is_storage {
            match zip::behind_others(bytes) {
                Ok(Some(archive)) => self.zip(&archive, place),
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
                    self.fail(Failure::new("unsupported", message), place);
                }
            },
            Some(format @ (Format::Hdf5 | Format::GitLfsPointer)) => {
                self.fail(Failure::new("unsupported", why_not(format)), place);
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
    pub(super) fn find(&mut self, module: &str, name: &str, offset: Option<u64>, place: &Place) {
        let standing = match Standing::of(module, name) {
            Standing::Unknown if place.is_script && is_of_script(module) => Standing::Known,
            standing => standing,
        };
        if standing != Standing::Known {
            self.add((module, name), standing, offset, place);
        }
    }

    /// Adds a finding, unless it was added before in the same entry.
    pub(super) fn add(
        &mut self,
        (module, name): (&str, &str),
        standing: Standing,
        offset: Option<u64>,
        place: &Place,
    ) {
        let (module, name) = (module.to_owned(), name.to_owned());
        let key = (place.entry.clone(), module.clone(), name.clone(), standing);
        if self.seen.insert(key) {
            self.findings.push(Finding {
                module,
                name,
                standing,
                offset: place.value.or(offset),
                entry: place.entry.clone(),
            });
        }
    }

    /// Adds something that could not be looked at.
    pub(super) fn fail(&mut self, failure: impl Into<Failure>, place: &Place) {
        let failure = failure.into();
        let offset = place.value.or(failure.offset());
        let failure = match &place.entry {
            Some(entry) => failure.in_entry(entry),
            None => failure,
        };
        self.errors.push(failure.at(offset));
    }

    /// A NumPy array: behind its header, the values of an array of objects are a pickle.
    ///
    /// The layout is that of `numpy.lib.format`: magic, version, length of the header, header.
    fn numpy(&mut self, bytes: &Bytes, place: &Place) {
        let length_bytes = if bytes.get(6) == Some(&1) { 2 } else { 4 };
        let start = bytes.get(8..8 + length_bytes).map(|length| {
            let length = length
                .iter()
                .rev()
                .fold(0, |sum, &byte| sum << 8 | usize::from(byte));
            8 + length_bytes + length
        });
        match start.filter(|&start| start <= bytes.len()) {
            Some(start) => self.stream_at(bytes, start, place, true),
            None => {
                let message = "the header of the NumPy array is cut short";
                self.fail(Failure::new("malformed", message), place);
            }
        }
    }
}

/// Whether a class of the module is one that the program of a TorchScript archive defines.
fn is_of_script(module: &str) -> bool {
    module == "__torch__" || module.starts_with("__torch__.")
}

fn why_not(format: Format) -> String {
    match format {
        Format::Hdf5 => "an HDF5 file may hold code of Keras, which this command does not look \
                         for"
        .to_owned(),
        _ => format.to_string(),
    }
}
