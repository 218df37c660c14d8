//! An open checkpoint, with the names that its user knows.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use nnx::checkpoint::{CheckpointPart, CheckpointReader, OpenOptions, Tensor, TensorEntry};

use crate::failure::Failure;
use crate::remote_source::remote_source;

/// An open checkpoint. The tensors of an NNx checkpoint have the names of its state dict, whether
/// it is a pickle, which has them in a field of an object, or a safetensors file.
#[derive(Debug)]
pub(crate) struct Opened {
    reader: CheckpointReader,
    /// The prefix of every name, which is not shown.
    root: String,
    /// The path on the disk, if the checkpoint is there.
    path: Option<PathBuf>,
}

impl Opened {
    /// Opens a checkpoint where it is: on the disk, in a store or on the Hub.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(path: &Path, part: CheckpointPart) -> Result<Self, Failure> {
        match remote_source(path)? {
            Some(remote) => Ok(Self::new(remote.open(&options(part))?, None)),
            None => Self::open_local(path, part),
        }
    }

    /// [`open`](Self::open) for a file that is read as a whole: one on the Hub is
    /// downloaded into the cache, where its hash is checked.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open_whole(path: &Path, part: CheckpointPart) -> Result<Self, Failure> {
        if crate::hub::is_remote(path) {
            return Self::open_local(path, part);
        }
        Self::open(path, part)
    }

    fn open_local(path: &Path, part: CheckpointPart) -> Result<Self, Failure> {
        let path = crate::hub::local(path)?;
        let reader = CheckpointReader::open_with(&path, &options(part))?;
        Ok(Self::new(reader, Some(path.into_owned())))
    }

    fn new(reader: CheckpointReader, path: Option<PathBuf>) -> Self {
        let root = reader.default_root().prefix().to_owned();
        Self { reader, root, path }
    }

    /// The path on the disk, if the checkpoint is there.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(crate) fn reader(&self) -> &CheckpointReader {
        &self.reader
    }

    /// A name as it is shown.
    pub(crate) fn shown<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(self.root.as_str()).unwrap_or(name)
    }

    /// The tensors in the order of the file, with their names as they are shown.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&str, &TensorEntry)> {
        let tensors = self.reader.tensors().iter();
        tensors.map(|tensor| (self.shown(tensor.name()), tensor))
    }

    /// The tensor that is shown under a name.
    pub(crate) fn entry(&self, shown: &str) -> Option<&TensorEntry> {
        self.reader.entry(&self.full(shown))
    }

    /// The tensor that is shown under a name, with its bytes.
    pub(crate) fn tensor(&self, shown: &str) -> Result<Tensor, Failure> {
        Ok(self.reader.tensor(&self.full(shown))?)
    }

    fn full(&self, shown: &str) -> String {
        format!("{}{shown}", self.root)
    }
}

/// The options of reading a part. Showing and comparing execute nothing, so no name is a reason to
/// refuse a file.
fn options(part: CheckpointPart) -> OpenOptions {
    OpenOptions::default()
        .allow_dangerous_globals(true)
        .part(part)
}

/// The path of a checkpoint, or with a tag that of the save of this name in its folder. With a part
/// or a tag, the checkpoint is of several processes, which are joined on the disk: one on the Hub is
/// downloaded.
///
/// # Errors
/// When the tag is no name, or the checkpoint cannot be downloaded.
pub(crate) fn part_of<'a>(
    path: &'a Path,
    part: Option<CheckpointPart>,
    tag: Option<&str>,
) -> Result<Cow<'a, Path>, Failure> {
    let path = if part.is_some() || tag.is_some() {
        crate::hub::local(path)?
    } else {
        Cow::Borrowed(path)
    };
    let Some(tag) = tag else {
        return Ok(path);
    };
    let is_name = !tag.is_empty() && !tag.contains(['/', '\\']) && !matches!(tag, "." | "..");
    if !is_name {
        return Err(Failure::usage(
            "a tag is the name of a folder in the checkpoint",
        ));
    }
    Ok(Cow::Owned(path.join(tag)))
}

/// The name, or for a tensor that is the whole file a description.
pub(crate) fn shown_name(name: &str) -> &str {
    if name.is_empty() {
        "(the whole file)"
    } else {
        name
    }
}
