//! Checkpoints that are read or written where they are: in a store, or on the Hub.

use std::path::Path;

use nnx::checkpoint::{CheckpointReader, Folder, OpenOptions, TargetFolder};

use crate::failure::Failure;

/// The schemes of URLs of stores.
const SCHEMES: [&str; 6] = ["s3://", "gs://", "az://", "http://", "https://", "file://"];

/// A folder that is not on the disk, and the name of the file in it; without a name, the weights in
/// the folder are meant.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) folder: Box<dyn Folder>,
    pub(crate) name: Option<String>,
}

impl Remote {
    /// The checkpoint of a URL.
    ///
    /// # Errors
    /// When the URL is not valid, nothing is there, or it cannot be reached.
    pub(crate) fn in_store(url: &str) -> Result<Self, Failure> {
        store::source(url)
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Opens the checkpoint.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(&self, options: &OpenOptions) -> Result<CheckpointReader, Failure> {
        let open = || CheckpointReader::open_in(&*self.folder, self.name(), options);
        // Parts of a file have no hash: one that is not valid is asked for once more.
        Ok(open().or_else(|_| open())?)
    }
}

/// A folder to write to that is not on the disk.
#[derive(Debug)]
pub(crate) struct RemoteTarget {
    pub(crate) folder: Box<dyn TargetFolder>,
    pub(crate) name: Option<String>,
}

impl RemoteTarget {
    /// The target of a path in a store; `None` for a path on the disk. With `is_sharded`, a name
    /// without an extension is that of a folder.
    ///
    /// # Errors
    /// When the path is not valid.
    pub(crate) fn new(path: &Path, is_sharded: bool) -> Result<Option<Self>, Failure> {
        let url = store_url(path);
        url.map(|url| store::target(url, is_sharded)).transpose()
    }
}

/// The text of a path that is the URL of a store.
pub(crate) fn store_url(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let is_url = SCHEMES.iter().any(|scheme| text.starts_with(scheme));
    is_url.then_some(text)
}

#[cfg(feature = "store")]
mod store {
    use std::io::{self, Write};
    use std::sync::Arc;

    use nnx::store::StoreLocation;

    use super::{Remote, RemoteTarget};
    use crate::escape::escaped;
    use crate::failure::Failure;

    pub(super) fn source(url: &str) -> Result<Remote, Failure> {
        let print = |note: &str| {
            // If standard error cannot be written, the note is lost.
            let _ = writeln!(io::stderr(), "nnx: {}", escaped(note));
        };
        let (folder, name) = StoreLocation::source(url, Arc::new(print))?.into_parts();
        Ok(Remote { folder, name })
    }

    pub(super) fn target(url: &str, is_sharded: bool) -> Result<RemoteTarget, Failure> {
        let (folder, name) = StoreLocation::target(url, is_sharded)?.into_parts();
        Ok(RemoteTarget { folder, name })
    }
}

#[cfg(not(feature = "store"))]
mod store {
    use super::{Remote, RemoteTarget};
    use crate::failure::Failure;

    fn missing(url: &str) -> Failure {
        Failure::missing_feature(&format!("`{url}`"), "object stores", "store")
    }

    pub(super) fn source(url: &str) -> Result<Remote, Failure> {
        Err(missing(url))
    }

    pub(super) fn target(url: &str, _: bool) -> Result<RemoteTarget, Failure> {
        Err(missing(url))
    }
}
