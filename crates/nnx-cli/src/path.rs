//! Paths as text.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Serialize, Serializer};

/// A path for JSON: its text and, if the path is not UTF-8, its bytes in hex, because the text then
/// contains replacement characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PathText {
    #[serde(rename = "path")]
    pub(crate) text: String,
    #[serde(rename = "path_hex", skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

impl PathText {
    pub(crate) fn new(path: &Path) -> Self {
        let text = path.to_string_lossy().into_owned();
        let hex = path.to_str().is_none().then(|| {
            let mut hex = String::new();
            for byte in path.as_os_str().as_encoded_bytes() {
                // Writing to a `String` cannot fail.
                let _ = write!(hex, "{byte:02x}");
            }
            hex
        });
        Self { text, hex }
    }
}

/// Only the text of a path, as a JSON string.
pub(crate) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
