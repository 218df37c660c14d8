//! The two formats that are written.

use std::path::Path;

/// The format that a conversion writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TargetFormat {
    /// A safetensors file.
    SafeTensors,
    /// The format of `torch.save`.
    Torch,
}

impl TargetFormat {
    /// The names that `--to` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::SafeTensors => "safetensors",
            Self::Torch => "torch",
        }
    }

    /// The format of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::SafeTensors, Self::Torch]
            .into_iter()
            .find(|format| format.name() == name)
    }

    /// The format of files with that extension, by custom.
    pub fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "safetensors" => Some(Self::SafeTensors),
            "pt" | "pth" | "bin" | "ckpt" | "pkl" | "th" | "tar" => Some(Self::Torch),
            _ => None,
        }
    }
}
