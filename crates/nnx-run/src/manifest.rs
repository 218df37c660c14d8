//! The manifest of a checkpoint: which files belong together, and their digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nnx_params::python_text::{json_dumps, json_loads};
use nnx_params::{State, Value};

use crate::error::{Error, Result, shown};
use crate::layout::read_text;
use crate::limits::MAX_MANIFEST_BYTES;
use crate::stage::{digest_of, replace_text};
use crate::training_state::Counters;

/// What a manifest says that it is.
const FORMAT: &str = "nnx.resume-point/1";
/// What the name of a manifest adds to that of its checkpoint.
pub(crate) const MANIFEST_SUFFIX: &str = ".manifest.json";

/// What one save of a checkpoint consists of: the files and their sha-256 digests, the ordinal of
/// the save, and where the training stood.
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
        // In the order in which it is written.
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

    /// Everything the manifest says, as plain data.
    pub fn state(&self) -> &State {
        &self.0
    }

    /// The ordinal of the save, from 1; it is kept when a checkpoint is replaced.
    pub fn generation(&self) -> Option<i128> {
        self.0.get("generation").and_then(Value::as_int)
    }

    /// The id that ties the training state to the checkpoint; none where there is no such state.
    pub fn checkpoint_id(&self) -> Option<&str> {
        self.0.get("checkpoint_id").and_then(Value::as_str)
    }

    /// The last epoch that was finished.
    pub fn completed_epoch(&self) -> Option<i128> {
        self.0.get("completed_epoch").and_then(Value::as_int)
    }

    /// Where the training stood.
    pub fn counters(&self) -> Counters {
        Counters::of_state(&self.0)
    }

    /// The files that belong together, each with its sha-256 digest in lower-case hex.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.0.get("files").and_then(Value::as_map);
        files
            .into_iter()
            .flat_map(State::iter)
            .map(|(name, digest)| (name, digest.as_str().unwrap_or_default()))
    }

    /// The manifest beside a checkpoint, if there is one.
    pub(crate) fn read(checkpoint: &Path) -> Result<Option<Self>> {
        Self::read_at(&live(checkpoint))
    }

    /// The manifest that an interrupted save left, if it can be read.
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

    /// Writes the manifest into the place of the one that counts.
    pub(crate) fn write(&self, checkpoint: &Path) -> Result<()> {
        replace_text(&live(checkpoint), &self.text())
    }

    /// Writes the manifest into the place of the one that is to come.
    pub(crate) fn write_staged(&self, checkpoint: &Path) -> Result<()> {
        replace_text(&staged(checkpoint), &self.text())
    }

    /// The text of Python's `json.dump(manifest, sort_keys=True, indent=1)`.
    fn text(&self) -> String {
        let mut text = String::new();
        indented(&Value::Map(self.0.clone()), 1, &mut text);
        text
    }

    /// Why the manifest does not tell of the files as they are, if it does not. No file but those it
    /// lists is touched, and none is unpickled.
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
                    "the manifest lists `{name}`, which is no name of a file"
                )));
            }
            if !folder.join(name).is_file() {
                let name = shown(name);
                return Ok(Some(format!("`{name}` of the manifest is not there")));
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
            if digest_of(&folder.join(name))? != *digest {
                let name = shown(name);
                return Ok(Some(format!(
                    "`{name}` changed after it was written: its digest differs from the manifest's"
                )));
            }
        }
        Ok(None)
    }
}

/// The manifest that counts.
pub(crate) fn live(checkpoint: &Path) -> PathBuf {
    with_suffix(checkpoint, MANIFEST_SUFFIX)
}

/// The next manifest, written before its checkpoint is put into place: when the writer stops between
/// that and the manifest that counts, this one tells of the files as they are.
pub(crate) fn staged(checkpoint: &Path) -> PathBuf {
    with_suffix(checkpoint, ".manifest.staged.json")
}

/// The path with something behind its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

/// JSON with keys in order and one space a level; a manifest is as deep as its text was.
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
