//! How a checkpoint is opened.

use std::path::Path;

use crate::error::Result;
use crate::setters::setters;
use crate::{CheckpointPart, Limits, LocalFolder, Source};

/// How a checkpoint is opened.
///
/// ```
/// use nnx_checkpoint::{Limits, OpenOptions};
///
/// let options = OpenOptions::default().limits(Limits::default().max_depth(100));
/// assert!(options.memory_map && !options.allow_dangerous_globals);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Bounds on work and memory. Default: [`Limits::default`].
    pub limits: Limits,
    /// Whether a file that names what runs code when Python calls it (`os.system`, `eval`) is read
    /// all the same instead of being refused. Reading executes nothing either way, and
    /// [`CheckpointReader::globals`](crate::CheckpointReader::globals) tells what is named.
    ///
    /// `getattr` and `functools.partial`, by which Python pickles members of enumerations, methods
    /// and layers, refuse no file by themselves; their arguments are judged. Default: `false`,
    /// because a checkpoint has no use for the other names, and its values may be handed on to
    /// Python.
    pub allow_dangerous_globals: bool,
    /// Whether the checksum of a storage in a PyTorch file is compared when a tensor of it is first
    /// asked for. A checksum of zero means that none was computed. Default: `true`.
    pub verify: bool,
    /// Whether files are mapped into memory (see [`Source::open`](crate::Source::open)) instead of
    /// being read whole. Default: `true`.
    pub memory_map: bool,
    /// Whether a safetensors file's metadata is asked for tensors under a second name: `save_model`
    /// of the format's own library stores tied tensors once, and notes each other name with the
    /// name that it kept. Where both names have a dot in them, as names within a model have, such a
    /// name is listed with the tensor of the kept one. Default: `true`.
    pub restore_aliases: bool,
    /// Whether a checkpoint of several processes is opened as the nested state that it was in
    /// Python, not as a dict of names. The names of its tensors are the same either way. Default:
    /// `false`.
    pub nested: bool,
    /// The part of a checkpoint of several processes that is read, if it has a model and an
    /// optimizer. Default: [`CheckpointPart::All`].
    pub part: CheckpointPart,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            allow_dangerous_globals: false,
            verify: true,
            memory_map: true,
            restore_aliases: true,
            nested: false,
            part: CheckpointPart::All,
        }
    }
}

impl OpenOptions {
    setters! {
        limits(limits: Limits) = limits;
        allow_dangerous_globals(allow: bool) = allow;
        verify(verify: bool) = verify;
        memory_map(map: bool) = map;
        restore_aliases(restore: bool) = restore;
        nested(nested: bool) = nested;
        part(part: CheckpointPart) = part;
    }

    /// A folder on the disk, whose files are opened as the options say.
    pub(crate) fn folder(&self, path: &Path) -> LocalFolder {
        LocalFolder::new(path, self.memory_map)
    }

    /// The bytes of a file.
    pub(crate) fn source(&self, path: &Path) -> Result<Source> {
        if self.memory_map {
            Source::open(path)
        } else {
            Source::read(path)
        }
    }
}
