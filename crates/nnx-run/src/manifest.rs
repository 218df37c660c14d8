//! The manifest of a checkpoint: the files that belong together, and their digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nnx_params::python_text::{json_dumps, json_loads};
use nnx_params::{State, Value};

use crate::error::{Error, Result, shown};
use crate::layout::read_text;
use crate::limits::MAX_MANIFEST_BYTES;
use crate::stage::{file_digest, replace_text};
use crate::training_state::counters::Counters;

/// The name of the format in a manifest.
const FORMAT: &str = "nnx.resume-point/1";
/// The suffix that makes the name of a manifest from that of its checkpoint.
pub(crate) const MANIFEST_SUFFIX: &str = ".manifest.json";

/// The contents of one save of a checkpoint: its files and their sha-256 digests, the ordinal of the
/// save, and the progress of the training.
///
/// Keys that this version does not know are kept in [`state`](Self::state).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest(State);

impl Manifest {
    pub(crate) fn new(
        generation: i128,
        checkpoint_id: Option<&str>,
        completed_epoch: Value,
        counters: Option<&Counters>,
        files: &BTreeMap<String, String>,
    ) -> Self {
        let counters = counters.cloned().unwrap_or_default();
        let files = files
            .iter()
            .map(|(name, digest)| (name.as_str(), digest.as_str()));
        // In the order in which Python writes the keys.
        let mut state = State::new();
        state.insert("checkpoint_id", checkpoint_id.map(Value::from));
        state.insert("committed_updates", counters.committed_updates);
        state.insert("completed_epoch", completed_epoch);
        state.insert("files", State::from_iter(files));
        state.insert("format", FORMAT);
        state.insert("generation", generation);
        state.insert("global_step", counters.global_step);
        state.insert("planned_n_epochs", counters.planned_n_epochs);
        Self(state)
    }

    /// The whole manifest as plain data.
    pub fn state(&self) -> &State {
        &self.0
    }

    /// The ordinal of the save, from 1. It increases each time the checkpoint is replaced.
    pub fn generation(&self) -> Option<i128> {
        self.0.get("generation").and_then(Value::as_int)
    }

    /// The id that training state and checkpoint share; `None` without a training state.
    pub fn checkpoint_id(&self) -> Option<&str> {
        self.0.get("checkpoint_id").and_then(Value::as_str)
    }

    /// The last epoch that was finished, from 0.
    pub fn completed_epoch(&self) -> Option<i128> {
        self.0.get("completed_epoch").and_then(Value::as_int)
    }

    /// The progress of the training.
    pub fn counters(&self) -> Counters {
        Counters::from_state(&self.0)
    }

    /// The files that belong together, each with its sha-256 digest in lower-case hex.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.0.get("files").and_then(Value::as_map);
        files
            .into_iter()
            .flat_map(State::iter)
            .map(|(name, digest)| (name, digest.as_str().unwrap_or_default()))
    }

    /// The manifest beside a checkpoint; `None` if there is none.
    pub(crate) fn read(checkpoint: &Path) -> Result<Option<Self>> {
        Self::read_at(&live(checkpoint))
    }

    /// The staged manifest that an interrupted save left, if it can be read.
    pub(crate) fn read_staged(checkpoint: &Path) -> Option<Self> {
        Self::read_at(&staged(checkpoint)).ok().flatten()
    }

    fn read_at(path: &Path) -> Result<Option<Self>> {
        let Some(text) = read_text(path, "bytes of manifest", MAX_MANIFEST_BYTES)? else {
            return Ok(None);
        };
        let value = json_loads(&text).map_err(|error| {
            Error::resume_point(format!("expected a manifest: {error}")).in_path(path)
        })?;
        match value {
            Value::Map(state) if state.get("format") == Some(&FORMAT.into()) => {
                Ok(Some(Self(state)))
            }
            _ => {
                let what = format!("expected a manifest of the format `{FORMAT}`, found another");
                Err(Error::resume_point(what).in_path(path))
            }
        }
    }

    /// Writes the manifest beside a checkpoint.
    pub(crate) fn write(&self, checkpoint: &Path) -> Result<()> {
        replace_text(&live(checkpoint), &self.text())
    }

    /// Writes the staged manifest beside a checkpoint.
    pub(crate) fn write_staged(&self, checkpoint: &Path) -> Result<()> {
        replace_text(&staged(checkpoint), &self.text())
    }

    /// The text of Python's `json.dump(manifest, sort_keys=True, indent=1)`.
    fn text(&self) -> String {
        let mut text = String::new();
        indented(&Value::Map(self.0.clone()), 1, &mut text);
        text
    }

    /// The difference between the manifest and the files, if there is one. Only the files that the
    /// manifest lists are opened, and they are not unpickled.
    pub(crate) fn problem(&self, checkpoint: &Path) -> Result<Option<String>> {
        let (Some(folder), Some(name)) = (checkpoint.parent(), checkpoint.file_name()) else {
            return Ok(Some("the checkpoint has no name".to_owned()));
        };
        let name = name.to_string_lossy();
        let files: Vec<(&str, &str)> = self.files().collect();
        let lists = |wanted: &str| files.iter().any(|(name, _)| *name == wanted);
        if !lists(&name) {
            return Ok(Some(format!("the manifest does not list `{name}`")));
        }
        for (name, _) in &files {
            let is_name = !name.is_empty()
                && !name.contains(['/', '\\', '\0'])
                && !matches!(*name, "." | "..");
            if !is_name {
                let name = shown(name);
                return Ok(Some(format!(
                    "the manifest lists `{name}`, which is not the name of a file"
                )));
            }
            if !folder.join(name).is_file() {
                let name = shown(name);
                return Ok(Some(format!(
                    "the manifest lists `{name}`, which does not exist"
                )));
            }
        }
        if let Some(id) = self.0.get("checkpoint_id").filter(|id| !id.is_none()) {
            let state = format!("{name}.opt.{}.pt", id.as_str().unwrap_or_default());
            if !lists(&state) {
                let state = shown(&state);
                return Ok(Some(format!(
                    "the manifest names a training state, `{state}`, that it does not list"
                )));
            }
        }
        for (name, digest) in &files {
            if file_digest(&folder.join(name))? != *digest {
                let name = shown(name);
                return Ok(Some(format!(
                    "`{name}` changed after it was written: its digest differs from the manifest's"
                )));
            }
        }
        Ok(None)
    }
}

/// The path of a checkpoint's manifest.
pub(crate) fn live(checkpoint: &Path) -> PathBuf {
    with_suffix(checkpoint, MANIFEST_SUFFIX)
}

/// The path of the next manifest, which is written before its checkpoint is renamed. If the writer
/// stops after that and before the manifest is replaced, this one describes the files.
pub(crate) fn staged(checkpoint: &Path) -> PathBuf {
    with_suffix(checkpoint, ".manifest.staged.json")
}

/// The path with a suffix added to its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

/// JSON with sorted keys and one space per level, as Python's `indent=1` gives it.
pub(crate) fn indented(value: &Value, level: usize, text: &mut String) {
    match value {
        Value::Map(state) if !state.is_empty() => {
            let mut entries: Vec<_> = state.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (index, (key, value)) in entries.into_iter().enumerate() {
                text.push_str(if index == 0 { "{\n" } else { ",\n" });
                text.push_str(&" ".repeat(level));
                text.push_str(&json_dumps(&key.into()));
                text.push_str(": ");
                indented(value, level.saturating_add(1), text);
            }
            text.push('\n');
            text.push_str(&" ".repeat(level.saturating_sub(1)));
            text.push('}');
        }
        value => text.push_str(&json_dumps(value)),
    }
}
