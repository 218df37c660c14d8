//! `journal.json`: how much of the other files counts.

use std::path::{Path, PathBuf};

use nnx_params::{State, Value};

use super::file::{amount, count, mapping, whole};
use super::spec::HistoryJournal;
use super::text::GENESIS;
use crate::error::{Error, Result, shown};
use crate::limits::MAX_MANIFEST_BYTES;
use crate::manifest::indented;

/// The name of the format in a manifest.
const FORMAT: &str = "nnx.history-journal";
/// The version that is read and written.
const VERSION: i32 = 1;

/// How much of the files of a journal counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalManifest {
    pub(super) retention: u64,
    pub(super) chunks: u64,
    pub(super) records: u64,
    pub(super) index_bytes: u64,
    /// The chain of the index's lines, in lower-case hex.
    pub(super) index_chain: String,
    pub(super) epochs: u64,
    pub(super) epochs_bytes: u64,
}

/// Where the manifest of a journal is.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("journal.json")
}

impl JournalManifest {
    /// The manifest of a journal without records.
    pub(super) fn empty(retention: u64) -> Self {
        Self {
            retention,
            chunks: 0,
            records: 0,
            index_bytes: 0,
            index_chain: GENESIS.to_owned(),
            epochs: 0,
            epochs_bytes: 0,
        }
    }

    /// Reads the manifest of a journal.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = path(folder);
        let bytes = whole(&path, "bytes of manifest", MAX_MANIFEST_BYTES)?;
        let bytes = bytes.ok_or_else(|| {
            let what = "the manifest of the history journal is missing; restore it from a copy";
            Error::history_corruption(what).in_path(&path)
        })?;
        let state = mapping(&bytes, || "the manifest of a history journal".to_owned());
        state
            .and_then(|state| Self::from_state(&state))
            .map_err(|error| error.in_path(&path))
    }

    fn from_state(state: &State) -> Result<Self> {
        if state.get("format") != Some(&FORMAT.into()) {
            let what = format!("expected a manifest of the format `{FORMAT}`, found another");
            return Err(Error::history_corruption(what));
        }
        let is_known = state
            .get("version")
            .and_then(amount)
            .is_some_and(|version| version == f64::from(VERSION));
        if !is_known {
            let found = state.get("version").map_or_else(
                || "none".to_owned(),
                |version| shown(&nnx_params::python_text::repr(version)),
            );
            return Err(Error::history_corruption(format!(
                "expected version {VERSION} of the history journal, found {found}; a newer version \
                 of this crate may read it"
            )));
        }
        let number = |key: &str| {
            state.get(key).and_then(count).ok_or_else(|| {
                Error::history_corruption(format!(
                    "expected a whole number from 0 as `{key}` of the history journal's manifest"
                ))
            })
        };
        let chain = state.get("index_chain").and_then(Value::as_str);
        Ok(Self {
            retention: number("retention")?.max(1),
            chunks: number("chunks")?,
            records: number("records")?,
            index_bytes: number("index_bytes")?,
            index_chain: chain.map(ToOwned::to_owned).ok_or_else(|| {
                Error::history_corruption(
                    "expected a text as `index_chain` of the history journal's manifest",
                )
            })?,
            epochs: number("epochs")?,
            epochs_bytes: number("epochs_bytes")?,
        })
    }

    /// The text of Python's `json.dumps(manifest, sort_keys=True, indent=1)` and a line feed.
    pub(super) fn text(&self, spec: &HistoryJournal) -> String {
        let mut state = State::new();
        state.insert("format", FORMAT);
        state.insert("version", VERSION);
        for (key, number) in [
            ("retention", spec.retention() as u64),
            ("chunk_size", spec.chunk() as u64),
            ("chunks", self.chunks),
            ("records", self.records),
            ("index_bytes", self.index_bytes),
            ("epochs", self.epochs),
            ("epochs_bytes", self.epochs_bytes),
        ] {
            state.insert(key, Value::Int(number.into()));
        }
        state.insert("index_chain", self.index_chain.as_str());
        let mut text = String::new();
        indented(&Value::Map(state), 1, &mut text);
        text.push('\n');
        text
    }
}
