//! What a run records of the program that trained it.

use std::path::Path;

use nnx_params::{State, Value};

use super::NNRun;
use crate::error::{Error, Result};
use crate::layout::{RunFolder, read_text};
use crate::limits::MAX_YAML_BYTES;
use crate::yaml::from_yaml;

impl NNRun {
    /// Reads the file `metadata.yaml` of a run alone; none where there is no such file.
    ///
    /// Loading a run passes over a file that cannot be read, as the reference does, and
    /// [`warnings`](Self::warnings) tells of it; this call says why.
    ///
    /// # Errors
    /// When the id could lead out of the folder of runs; when the file cannot be read, is no YAML,
    /// or no mapping.
    pub fn read_metadata(id: &str, root: impl AsRef<Path>) -> Result<Option<State>> {
        read(&RunFolder::new(id, root.as_ref())?)
    }
}

/// The metadata of a run, if there are any.
pub(crate) fn read(folder: &RunFolder) -> Result<Option<State>> {
    let path = folder.metadata_yaml();
    let Some(text) = read_text(&path, "bytes of YAML", MAX_YAML_BYTES)? else {
        return Ok(None);
    };
    match from_yaml(&text).map_err(|error| error.in_path(&path))? {
        Value::Map(metadata) => Ok(Some(metadata)),
        other => {
            let found = other.type_name();
            let what = format!("expected a mapping, found a value of type {found}");
            Err(Error::malformed(what).in_path(&path))
        }
    }
}

/// The keys of the reference, with what holds for this program: no Python, hence no packages.
pub(super) fn of_this_program() -> State {
    let mut metadata = State::new();
    metadata.insert("cuda_available", false);
    metadata.insert("cuda_device_count", 0);
    for unknown in ["git_commit", "git_dirty", "numpy", "python", "torch"] {
        metadata.insert(unknown, Value::None);
    }
    metadata.insert("nnx", concat!("nnx-run ", env!("CARGO_PKG_VERSION")));
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    metadata.insert("platform", platform);
    metadata
}
