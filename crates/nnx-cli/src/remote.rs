//! Checkpoints that are read or written where they are: in a store, or on the Hub.

use std::borrow::Cow;
use std::path::Path;

use nnx::checkpoint::{CheckpointReader, Error, ErrorKind, Folder, OpenOptions, TargetFolder};

use crate::failure::Failure;

/// The schemes of `nnx::store`, for a build without it.
#[cfg(any(test, not(feature = "store")))]
const SCHEMES: [&str; 6] = ["s3://", "gs://", "az://", "http://", "https://", "file://"];
/// The scheme of URLs of files on the disk.
const FILE: &str = "file://";

/// A folder that is not on the disk, and the name of the file in it; without a name, the weights in
/// the folder are meant.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) folder: Box<dyn Folder>,
    pub(crate) name: Option<String>,
    /// Whether bytes that are not a checkpoint are requested a second time.
    retries: bool,
}

impl Remote {
    /// A file in a folder of the Hub, or without a name the folder's weights. Nothing checks the
    /// parts of a file there, so they may be damaged on the way.
    #[cfg(feature = "hub")]
    pub(crate) fn on_hub(folder: impl Folder + 'static, name: Option<&str>) -> Self {
        Self {
            folder: Box::new(folder),
            name: name.map(str::to_owned),
            retries: true,
        }
    }

    /// A file in a folder, or without a name the folder's weights.
    pub(crate) fn new(folder: Box<dyn Folder>, name: Option<String>) -> Self {
        Self {
            folder,
            name,
            retries: false,
        }
    }

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
        match open() {
            Err(error) if self.retries && is_of_bytes(&error) => Ok(open()?),
            opened => Ok(opened?),
        }
    }
}

/// Whether damaged bytes can be the reason of an error, which they are not if they did not arrive.
fn is_of_bytes(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::Io(_) | ErrorKind::NotFound)
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

/// The text of a path that is the URL of a store, or of a file.
pub(crate) fn store_url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| store::is_url(text))
}

/// The text of a path that is the URL of a store, and not of a file on the disk.
pub(crate) fn remote_url(path: &Path) -> Option<&str> {
    store_url(path).filter(|url| !url.starts_with(FILE))
}

/// The path of a `file://` URL; any other path is returned as it is.
///
/// # Errors
/// When the URL is not valid, or this build has no feature `store`.
pub(crate) fn file_url_path(path: &Path) -> Result<Cow<'_, Path>, Failure> {
    match store_url(path).filter(|url| url.starts_with(FILE)) {
        Some(url) => store::file_url_path(url).map(Cow::Owned),
        None => Ok(Cow::Borrowed(path)),
    }
}

#[cfg(feature = "store")]
mod store {
    use std::io::{self, Write};
    use std::path::PathBuf;
    use std::sync::Arc;

    use nnx::store::StoreLocation;
    pub(super) use nnx::store::is_store_url as is_url;

    use super::{Remote, RemoteTarget};
    use crate::escape::escaped;
    use crate::failure::Failure;

    pub(super) fn source(url: &str) -> Result<Remote, Failure> {
        let print = |note: &str| {
            // If standard error cannot be written, the note is lost.
            let _ = writeln!(io::stderr(), "nnx: {}", escaped(note));
        };
        let (folder, name) = StoreLocation::source(url, Arc::new(print))?.into_parts();
        Ok(Remote::new(folder, name))
    }

    pub(super) fn file_url_path(url: &str) -> Result<PathBuf, Failure> {
        Ok(nnx::store::file_url_path(url)?.unwrap_or_else(|| PathBuf::from(url)))
    }

    pub(super) fn target(url: &str, is_sharded: bool) -> Result<RemoteTarget, Failure> {
        let (folder, name) = StoreLocation::target(url, is_sharded)?.into_parts();
        Ok(RemoteTarget { folder, name })
    }
}

#[cfg(not(feature = "store"))]
mod store {
    use std::path::PathBuf;

    use super::{Remote, RemoteTarget};
    use crate::failure::Failure;

    pub(super) fn is_url(text: &str) -> bool {
        super::SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    fn missing(url: &str) -> Failure {
        Failure::missing_feature(&format!("`{url}`"), "object stores", "store")
    }

    pub(super) fn source(url: &str) -> Result<Remote, Failure> {
        Err(missing(url))
    }

    pub(super) fn file_url_path(url: &str) -> Result<PathBuf, Failure> {
        Err(missing(url))
    }

    pub(super) fn target(url: &str, _: bool) -> Result<RemoteTarget, Failure> {
        Err(missing(url))
    }
}

#[cfg(all(test, feature = "store"))]
mod tests {
    use nnx::store::StoreFolder;

    use super::{SCHEMES, store};

    #[test]
    fn a_build_without_stores_knows_their_schemes() {
        assert!(SCHEMES.into_iter().all(store::is_url));
        // The error lists all schemes that there are.
        let error = StoreFolder::from_url("model.pt").expect_err("no URL");
        let text = error.to_string();
        let told: Vec<&str> = text
            .split([' ', ','])
            .filter(|word| word.contains("://"))
            .collect();
        assert_eq!(told, SCHEMES);
    }
}
