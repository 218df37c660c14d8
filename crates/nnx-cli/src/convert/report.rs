//! The report of a conversion, for people and for scripts.

use std::fmt::Write as _;
use std::path::Path;

use nnx::checkpoint::{Conversion, ConvertOptions, Share};
use serde::Serialize;

use crate::escape::escaped;
use crate::json;
use crate::path::PathText;
use crate::size;

/// The number of values that are listed.
const SHOWN: usize = 20;

/// One conversion for a script.
#[derive(Debug, Serialize)]
pub(super) struct ConvertReport {
    source: PathText,
    source_format: &'static str,
    format: &'static str,
    files: Vec<File>,
    tensors: usize,
    tensor_bytes: u64,
    cast: usize,
    dropped: Vec<Dropped>,
    dropped_metadata: Vec<String>,
    notes: Vec<String>,
    verified: bool,
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct File {
    #[serde(flatten)]
    path: PathText,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Dropped {
    path: String,
    value: String,
}

impl ConvertReport {
    pub(super) fn new(source: &Path, done: &Conversion, options: &ConvertOptions) -> Self {
        let files = done.files.iter().map(|(path, bytes)| File {
            path: PathText::new(path),
            bytes: *bytes,
        });
        let dropped = done.dropped.iter().map(|entry| Dropped {
            path: entry.path().to_owned(),
            value: entry.description().to_owned(),
        });
        Self {
            source: PathText::new(source),
            source_format: done.source.name(),
            format: done.target.name(),
            files: files.collect(),
            tensors: done.tensors,
            tensor_bytes: done.tensor_bytes,
            cast: done.cast,
            dropped: dropped.collect(),
            dropped_metadata: done.dropped_metadata.clone(),
            notes: done.notes.clone(),
            verified: is_verified(options),
            dry_run: options.dry_run,
        }
    }
}

/// Whether bytes were compared. An index is written of shards whose bytes are not read again.
fn is_verified(options: &ConvertOptions) -> bool {
    options.verify && !options.dry_run && options.share != Share::Index
}

pub(super) fn json(source: &Path, done: &Conversion, options: &ConvertOptions) -> String {
    json::object(&ConvertReport::new(source, done, options))
}

pub(super) fn text(source: &Path, done: &Conversion, options: &ConvertOptions) -> String {
    let mut out = String::new();
    let verb = if options.dry_run {
        "would write"
    } else {
        "wrote"
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        out,
        "{} ({}) → {}: {verb} {}, {}{}{}",
        escaped(&source.display().to_string()),
        done.source.name(),
        done.target.name(),
        size::count(done.tensors, "tensor"),
        size::bytes(done.tensor_bytes),
        match done.cast {
            0 => String::new(),
            cast => format!(", {} cast", size::grouped(cast as u128)),
        },
        if is_verified(options) {
            ", verified"
        } else {
            ""
        }
    );
    for (path, bytes) in &done.files {
        let path = escaped(&path.display().to_string()).into_owned();
        let _ = if options.dry_run {
            writeln!(out, "  {path}")
        } else {
            writeln!(out, "  {path}  {}", size::bytes(*bytes))
        };
    }
    for note in done.notes.iter().take(SHOWN) {
        let _ = writeln!(out, "  note: {}", escaped(note));
    }
    let dropped = done
        .dropped
        .iter()
        .map(|entry| format!("`{}` ({})", entry.path(), entry.description()));
    let metadata = done
        .dropped_metadata
        .iter()
        .map(|key| format!("`{key}` (metadata)"));
    let count = done.dropped.len() + done.dropped_metadata.len();
    for value in dropped.chain(metadata).take(SHOWN) {
        let _ = writeln!(out, "  left out: {}", escaped(&value));
    }
    if count > SHOWN {
        let _ = writeln!(out, "  left out: {} more", count - SHOWN);
    }
    out
}
