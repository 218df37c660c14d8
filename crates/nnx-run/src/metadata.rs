//! `metadata.yaml`: the record that a run keeps of the program that trained it.

use nnx_params::{State, Value};

use crate::error::{Error, Result};
use crate::layout::{RunFolder, read_text};
use crate::limits::MAX_YAML_BYTES;
use crate::yaml::from_yaml;

/// The metadata of a run; `None` where there is no such file.
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

/// The metadata of this program: the keys that Python writes, with null for those that only Python
/// has. A training adds its own keys.
pub fn program_metadata() -> State {
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
