//! Where a conversion writes to.

use std::path::{Path, PathBuf};

use super::options::ConvertOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::weights_name::split_shard;
use crate::{TargetFormat, WeightsName};

/// What is written, and where.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) format: TargetFormat,
    folder: PathBuf,
    /// The name of a single file, of which those of shards and index are made.
    name: String,
}

impl Target {
    /// The target of that path: a file, or in a folder the file of the standard name, which keeps
    /// stem and variant of the standard name that the `source` has.
    ///
    /// # Errors
    /// When neither the options nor the extension tell the format, or the name is not one.
    pub(super) fn new(path: &Path, source: &Path, options: &ConvertOptions) -> Result<Self> {
        let by_extension = TargetFormat::from_extension(path);
        let is_folder = ends_with_separator(path) || options.max_shard_size.is_some();
        if path.is_dir() || (by_extension.is_none() && is_folder) {
            let format = options.to.unwrap_or(TargetFormat::SafeTensors);
            return Ok(Self {
                format,
                folder: path.to_path_buf(),
                name: standard_name(source, format).to_string(),
            });
        }
        let format = options.to.or(by_extension).ok_or_else(|| {
            Error::unsupported(
                "the target's name does not tell what to write: end it with `.safetensors` or \
                 `.pt`, or state the format",
            )
        })?;
        let name = path
            .file_name()
            .ok_or_else(|| Error::unsupported("the target has no name"))?;
        let name = name.to_str().map(str::to_owned).ok_or_else(|| {
            Error::unsupported("the target's name is not UTF-8; give it another one")
        })?;
        Ok(Self {
            format,
            folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
            name,
        })
    }

    /// The one file.
    pub(super) fn single(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The name of a shard, counted from 0, as `huggingface_hub` gives it.
    pub(super) fn shard_name(&self, index: usize, count: usize) -> String {
        let (stem, extension) = self.parts();
        let number = index.saturating_add(1);
        format!("{stem}-{number:05}-of-{count:05}{extension}")
    }

    /// The index of the shards.
    pub(super) fn index(&self) -> PathBuf {
        self.folder.join(match WeightsName::parse(&self.name) {
            Some(name) => name.index().to_string(),
            None => format!("{}.index.json", self.name),
        })
    }

    /// A file of that name beside the others.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Files that an earlier conversion to the same target may have left.
    pub(super) fn earlier(&self) -> Vec<PathBuf> {
        let (stem, extension) = self.parts();
        let is_earlier = |name: &str| {
            if name == self.name {
                return true;
            }
            let shard = name.strip_suffix(extension).and_then(split_shard);
            shard.is_some_and(|(before, _)| before == stem)
        };
        let folder = if self.folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.folder
        };
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Vec::new();
        };
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(is_earlier))
            .map(|entry| self.folder.join(entry.file_name()))
            .collect();
        files.sort();
        files
    }

    /// Refuses files that are there already.
    ///
    /// # Errors
    /// When one is and may not be replaced.
    pub(super) fn check_free<'a>(
        &self,
        mut files: impl Iterator<Item = &'a PathBuf>,
        overwrite: bool,
    ) -> Result<()> {
        if overwrite {
            return Ok(());
        }
        match files.find(|file| file.symlink_metadata().is_ok()) {
            Some(file) => Err(Error::new(ErrorKind::TargetExists).in_path(file)),
            None => Ok(()),
        }
    }

    fn parts(&self) -> (&str, &str) {
        match self.name.rfind('.') {
            Some(dot) => self.name.split_at(dot),
            None => (&self.name, ""),
        }
    }
}

/// The name by which loaders find weights in a folder.
fn standard_name(source: &Path, format: TargetFormat) -> WeightsName {
    let name = source.file_name().and_then(|name| name.to_str());
    match name.and_then(WeightsName::parse) {
        Some(name) => name.whole().with_format(format),
        None => WeightsName::standard(format),
    }
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str()
        .to_string_lossy()
        .ends_with(std::path::MAIN_SEPARATOR)
}
