//! Where a conversion writes to.

use std::path::{Path, PathBuf};

use super::options::ConvertOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::target_folder::TargetFolder;
use crate::weights_name::split_shard;
use crate::{TargetFormat, WeightsName};

/// The format that is written, and its path.
#[derive(Clone, Debug)]
pub(super) struct Target<'a> {
    pub(super) format: TargetFormat,
    pub(super) folder: &'a dyn TargetFolder,
    /// The name of a single file, of which those of shards and index are made.
    name: String,
}

/// A file in the folder of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TargetFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl<'a> Target<'a> {
    /// The target of that name in a folder or, without a name, the file of the standard name, which
    /// keeps stem and variant of the standard name that the `source` has.
    ///
    /// # Errors
    /// When neither the options nor the extension tell the format.
    pub(super) fn new(
        folder: &'a dyn TargetFolder,
        name: Option<&str>,
        source: &str,
        options: &ConvertOptions,
    ) -> Result<Self> {
        let Some(name) = name else {
            let format = options.to.unwrap_or(TargetFormat::SafeTensors);
            let name = standard_name(source, format).to_string();
            return Ok(Self {
                format,
                folder,
                name,
            });
        };
        let by_extension = TargetFormat::from_extension(Path::new(name));
        let format = options.to.or(by_extension).ok_or_else(|| {
            Error::unsupported(
                "the target's name does not tell what to write: end it with `.safetensors` or \
                 `.pt`, or state the format",
            )
        })?;
        Ok(Self {
            format,
            folder,
            name: name.to_owned(),
        })
    }

    /// The one file.
    pub(super) fn single(&self) -> TargetFile {
        self.file(&self.name)
    }

    /// The name of a shard, counted from 0, as `huggingface_hub` gives it.
    pub(super) fn shard_name(&self, index: usize, count: usize) -> String {
        let (stem, extension) = self.parts();
        let number = index.saturating_add(1);
        format!("{stem}-{number:05}-of-{count:05}{extension}")
    }

    /// The index of the shards.
    pub(super) fn index(&self) -> TargetFile {
        match WeightsName::parse(&self.name) {
            Some(name) => self.file(&name.index().to_string()),
            None => self.file(&format!("{}.index.json", self.name)),
        }
    }

    /// A file of that name beside the others.
    pub(super) fn file(&self, name: &str) -> TargetFile {
        TargetFile {
            name: name.to_owned(),
            path: self.folder.path(name),
        }
    }

    /// The names of the files that an earlier conversion to the same target may have left.
    ///
    /// # Errors
    /// When the folder cannot be listed: old shards beside a new index would not be found.
    pub(super) fn earlier(&self) -> Result<Vec<String>> {
        let (stem, extension) = self.parts();
        let is_earlier = |name: &String| {
            if *name == self.name {
                return true;
            }
            let shard = name.strip_suffix(extension).and_then(split_shard);
            shard.is_some_and(|(before, _)| before == stem)
        };
        let mut files = self.folder.entries()?.files;
        files.retain(is_earlier);
        files.sort();
        Ok(files)
    }

    /// Refuses files that are there already.
    ///
    /// # Errors
    /// When one is and may not be replaced.
    pub(super) fn check_free<'b>(
        &self,
        files: impl Iterator<Item = &'b TargetFile>,
        overwrite: bool,
    ) -> Result<()> {
        if overwrite {
            return Ok(());
        }
        for file in files {
            if self.folder.exists(&file.name)? {
                return Err(Error::new(ErrorKind::TargetExists).in_path(&file.path));
            }
        }
        Ok(())
    }

    fn parts(&self) -> (&str, &str) {
        match self.name.rfind('.') {
            Some(dot) => self.name.split_at(dot),
            None => (&self.name, ""),
        }
    }
}

/// The name by which loaders find weights in a folder.
fn standard_name(source: &str, format: TargetFormat) -> WeightsName {
    let name = source.rsplit('/').next().unwrap_or(source);
    match WeightsName::parse(name) {
        Some(name) => name.whole().with_format(format),
        None => WeightsName::standard(format),
    }
}
