//! A folder that files can be written to, each whole or not at all.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::save::NewFile;
use crate::source::{ByteRange, Folder, Source};
use crate::{LocalFolder, TargetFormat};

/// A [`Folder`] that a conversion can write to: on the disk ([`LocalFolder`]), or in a bucket.
pub trait TargetFolder: Folder {
    /// Whether anything of that name is there, be it a file or not.
    ///
    /// # Errors
    /// When that cannot be told.
    fn exists(&self, name: &str) -> Result<bool> {
        self.has_file(name)
    }

    /// Begins a file of `byte_len` bytes, which becomes visible when it is
    /// [completed](PendingFile::complete).
    ///
    /// # Errors
    /// When no file can be written there.
    fn create(&self, name: &str, byte_len: u64) -> Result<Box<dyn PendingFile>>;

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove(&self, name: &str) -> Result<()>;
}

/// A file that is being written. Nobody sees it before it is [completed](Self::complete), and
/// nothing of it stays when it is dropped before that.
pub trait PendingFile: Write + fmt::Debug {
    /// The open file, where there is one: the system can copy from one file to another without a
    /// look at the bytes.
    fn file(&self) -> Option<&File> {
        None
    }

    /// The bytes that were written, as they are stored; `None` where they cannot be read before the
    /// file is completed.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_back(&self) -> Result<Option<ByteRange>> {
        Ok(None)
    }

    /// Waits until every byte is stored. After this, [`complete`](Self::complete) is quick.
    ///
    /// # Errors
    /// When a byte cannot be stored.
    fn sync(&mut self) -> Result<()>;

    /// Makes the file visible under its name, in one step. It replaces the file that is there, or
    /// without `replace` refuses to.
    ///
    /// # Errors
    /// [`ErrorKind::TargetExists`](crate::ErrorKind::TargetExists) when there is a file that may not
    /// be replaced, and when the file cannot be put there.
    fn complete(self: Box<Self>, replace: bool) -> Result<()>;
}

impl LocalFolder {
    /// The folder of a target, and the name of the file in it. A path is that of a folder, without a
    /// name, if a folder is there, or if it has no extension of a checkpoint and either ends with a
    /// separator or several files are written (`is_sharded`).
    ///
    /// # Errors
    /// When the path has no name, or one that is not UTF-8.
    pub fn for_target(path: &Path, is_sharded: bool) -> Result<(Self, Option<String>)> {
        let has_extension = TargetFormat::from_extension(path).is_some();
        let separator = std::path::MAIN_SEPARATOR;
        let ends = path.as_os_str().to_string_lossy().ends_with(separator);
        if path.is_dir() || (!has_extension && (ends || is_sharded)) {
            return Ok((Self::new(path, true), None));
        }
        let name = path
            .file_name()
            .ok_or_else(|| Error::unsupported("the target has no name"))?;
        let name = name.to_str().ok_or_else(|| {
            Error::unsupported("the target's name is not UTF-8; give it another one")
        })?;
        let folder = Self::new(path.parent().unwrap_or(Path::new("")), true);
        Ok((folder, Some(name.to_owned())))
    }
}

impl TargetFolder for LocalFolder {
    fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.path(name).symlink_metadata().is_ok())
    }

    fn create(&self, name: &str, _: u64) -> Result<Box<dyn PendingFile>> {
        Ok(Box::new(NewFile::beside(&self.path(name))?))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::from(error).in_path(&path))
            }
            _ => Ok(()),
        }
    }
}

impl PendingFile for NewFile {
    fn file(&self) -> Option<&File> {
        Some(Self::file(self))
    }

    fn read_back(&self) -> Result<Option<ByteRange>> {
        Source::from_file(Self::file(self).try_clone()?).map(|source| Some(source.into()))
    }

    fn sync(&mut self) -> Result<()> {
        Self::sync(self)
    }

    fn complete(self: Box<Self>, replace: bool) -> Result<()> {
        if replace {
            self.replace_target()
        } else {
            self.become_target()
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::file(self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
