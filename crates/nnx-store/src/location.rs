//! A checkpoint by its URL.

use std::path::Path;
use std::sync::Arc;

use nnx_checkpoint::{
    CheckpointReader, Folder, LocalFolder, OpenOptions, Result, TargetFolder, TargetFormat,
};

use crate::folder::{StoreFolder, is_missing};
use crate::url::{Scheme, StoreUrl};

/// A folder and the file in it that a URL names; no file where the URL is that of a folder.
#[derive(Debug)]
pub struct StoreLocation {
    folder: Box<dyn TargetFolder>,
    name: Option<String>,
}

impl StoreLocation {
    /// The checkpoint that a URL names. An object of that key is opened, or else the weights in the
    /// folder of that name. `note` receives what the user should know about files that are opened,
    /// such as that a server sent one whole.
    ///
    /// # Errors
    /// When the URL is not one of a store, the environment has settings that cannot be used, or the
    /// store cannot be asked.
    pub fn source(url: &str, note: Arc<dyn Fn(&str) + Send + Sync>) -> Result<Self> {
        let parsed = StoreUrl::parse(url)?;
        if parsed.scheme == Scheme::File {
            let path = Path::new(&parsed.key);
            let (folder, name) = LocalFolder::for_path(path, path.is_dir())?;
            let folder = Box::new(folder);
            return Ok(Self { folder, name });
        }
        let (prefix, name) = parsed.split();
        let folder = StoreFolder::new(&parsed, prefix)?.on_note(note);
        let at_url = |error: nnx_checkpoint::Error| error.in_path(Path::new(url));
        let Some(name) = name else {
            return Ok(Self {
                folder: Box::new(folder.listed().map_err(at_url)?),
                name: None,
            });
        };
        match folder.open(name) {
            Ok(_) => {}
            Err(error) if is_missing(&error) && parsed.scheme != Scheme::Http => {
                let below = folder.below(name).listed().map_err(at_url)?;
                if below.is_empty() {
                    return Err(at_url(error));
                }
                return Ok(Self {
                    folder: Box::new(below),
                    name: None,
                });
            }
            Err(error) => return Err(at_url(error)),
        }
        Ok(Self {
            folder: Box::new(folder),
            name: Some(name.to_owned()),
        })
    }

    /// The target that a URL names: a file or, where it ends with `/` or shards are written and no
    /// extension says otherwise (`is_sharded`), a folder. Nothing is requested.
    ///
    /// # Errors
    /// When the URL is not one of a store, or the environment has settings that cannot be used.
    pub fn target(url: &str, is_sharded: bool) -> Result<Self> {
        let parsed = StoreUrl::parse(url)?;
        if parsed.scheme == Scheme::File {
            let (folder, name) = LocalFolder::for_target(Path::new(&parsed.key), is_sharded)?;
            let folder = Box::new(folder);
            return Ok(Self { folder, name });
        }
        let has_extension = TargetFormat::from_extension(Path::new(&parsed.key)).is_some();
        let is_folder = parsed.key.ends_with('/') || (!has_extension && is_sharded);
        let (prefix, name) = parsed.split();
        let folder = StoreFolder::new(&parsed, prefix)?;
        let (folder, name) = match name {
            Some(name) if is_folder => (folder.below(name), None),
            name => (folder, name.map(str::to_owned)),
        };
        Ok(Self {
            folder: Box::new(folder),
            name,
        })
    }

    /// The folder, and the name of the file in it.
    pub fn into_parts(self) -> (Box<dyn TargetFolder>, Option<String>) {
        (self.folder, self.name)
    }

    /// The folder.
    pub fn folder(&self) -> &dyn TargetFolder {
        &*self.folder
    }

    /// The name of the file in the folder.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Opens the checkpoint. A tensor's bytes are requested when they are asked for.
    ///
    /// # Errors
    /// As for [`CheckpointReader::open_with`], and those of the store.
    pub fn open(&self, options: &OpenOptions) -> Result<CheckpointReader> {
        CheckpointReader::open_in(self.folder(), self.name(), options)
    }
}
