//! The objects of a store whose keys begin with the same text, as a folder.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nnx_checkpoint::{
    ByteRange, Error, ErrorKind, Folder, FolderEntries, PendingFile, Result, TargetFolder,
};
use object_store::path::Path as Key;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt};

use crate::client::{Purpose, client};
use crate::error::{failed, from_store};
use crate::last_opened::LastOpened;
use crate::object;
use crate::runtime;
use crate::upload::Upload;
use crate::url::{Scheme, StoreUrl, key};

/// The objects below a prefix of a bucket, or the files below a URL of an HTTP server.
///
/// Reading is by range; writing is an upload that is completed at its end, so that nobody sees an
/// object that is half-written. Requests block the thread; the runtime that they run on is inside.
///
/// ```
/// use std::sync::Arc;
///
/// use nnx_checkpoint::{Folder, TargetFolder};
/// use nnx_store::StoreFolder;
/// use nnx_store::object_store::memory::InMemory;
///
/// let folder = StoreFolder::from_client(Arc::new(InMemory::new()), "memory://", "models");
/// let mut file = folder.create("a.txt", 5)?;
/// file.write_all(b"bytes")?;
/// file.sync()?;
/// assert!(!folder.has_file("a.txt")?);
/// file.complete(false)?;
/// assert_eq!(folder.open("a.txt")?.bytes()?, "bytes");
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
#[derive(Debug)]
pub struct StoreFolder {
    client: Arc<dyn ObjectStore>,
    /// The client of uploads, for which a server may be silent for longer.
    uploads: Arc<dyn ObjectStore>,
    scheme: Scheme,
    root: String,
    prefix: String,
    /// The entries, where the folder is known to stay as it is.
    listed: Option<FolderEntries>,
    last: LastOpened,
    note: Note,
}

impl StoreFolder {
    /// The folder of a URL: `s3://bucket/prefix`, with the client that the environment describes.
    /// Nothing is requested.
    ///
    /// # Errors
    /// When the URL is not one of a store, or the environment has settings that cannot be used.
    pub fn from_url(url: &str) -> Result<Self> {
        let url = StoreUrl::parse(url)?;
        let prefix = url.key.trim_end_matches('/').to_owned();
        Self::new(&url, &prefix)
    }

    pub(crate) fn new(url: &StoreUrl, prefix: &str) -> Result<Self> {
        let client = |purpose| client(url.scheme, &url.root, purpose);
        Ok(Self {
            client: client(Purpose::Reads)?,
            uploads: client(Purpose::Uploads)?,
            scheme: url.scheme,
            root: url.root.clone(),
            prefix: prefix.to_owned(),
            listed: None,
            last: LastOpened::default(),
            note: Note::default(),
        })
    }

    /// The objects below a prefix of any store; `root` comes before their keys in messages.
    pub fn from_client(client: Arc<dyn ObjectStore>, root: &str, prefix: &str) -> Self {
        Self {
            uploads: Arc::clone(&client),
            client,
            scheme: Scheme::S3,
            root: root.to_owned(),
            prefix: prefix.to_owned(),
            listed: None,
            last: LastOpened::default(),
            note: Note::default(),
        }
    }

    /// The same folder, below which another one is.
    pub(crate) fn below(&self, name: &str) -> Self {
        Self {
            client: Arc::clone(&self.client),
            uploads: Arc::clone(&self.uploads),
            scheme: self.scheme,
            root: self.root.clone(),
            prefix: self.full(name),
            listed: None,
            last: LastOpened::default(),
            note: self.note.clone(),
        }
    }

    /// The folder as it is now: it is listed once, and which files are there is not asked again. A
    /// server that cannot list is asked each time.
    ///
    /// # Errors
    /// When the store refuses.
    pub(crate) fn listed(mut self) -> Result<Self> {
        if self.scheme != Scheme::Http {
            self.listed = Some(self.entries()?);
        }
        Ok(self)
    }

    /// Whether the folder was listed and has nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        let entries = self.listed.as_ref();
        entries.is_some_and(|entries| entries.files.is_empty() && entries.folders.is_empty())
    }

    /// Sets the receiver of notes for the user about files that are opened, such as that a server
    /// sent one whole.
    #[must_use]
    pub fn on_note(self, receive: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self {
            note: Note(Some(receive)),
            ..self
        }
    }

    fn full(&self, name: &str) -> String {
        match (self.prefix.as_str(), name) {
            ("", name) => name.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, name) => format!("{prefix}/{name}"),
        }
    }

    fn key(&self, name: &str) -> Result<Key> {
        key(self.scheme, &self.full(name))
    }
}

impl Folder for StoreFolder {
    fn entries(&self) -> Result<FolderEntries> {
        if let Some(listed) = &self.listed {
            return Ok(listed.clone());
        }
        if self.scheme == Scheme::Http {
            return Err(failed(
                "an HTTP server cannot list a folder; give the URL of the file, or of the index of \
                 its shards",
            ));
        }
        let (client, prefix) = (Arc::clone(&self.client), self.key("")?);
        let found = runtime::wait(async move { client.list_with_delimiter(Some(&prefix)).await })?
            .map_err(|error| from_store(&error))?;
        let name = |key: &Key| key.filename().map(str::to_owned);
        Ok(FolderEntries {
            files: found
                .objects
                .iter()
                .filter_map(|object| name(&object.location))
                .collect(),
            folders: found.common_prefixes.iter().filter_map(name).collect(),
        })
    }

    fn open(&self, name: &str) -> Result<ByteRange> {
        if let Some(bytes) = self.last.get(name) {
            return Ok(bytes);
        }
        let changes = self.last.changes();
        let opened = object::open(&self.client, &self.key(name)?)?;
        if let (Some(note), Some(receive)) = (opened.note, &self.note.0) {
            receive(&note);
        }
        self.last.set(name, &opened.bytes, changes);
        Ok(opened.bytes)
    }

    fn has_file(&self, name: &str) -> Result<bool> {
        if let Some(listed) = &self.listed
            && !name.contains('/')
        {
            return Ok(listed.files.iter().any(|file| file == name));
        }
        match object::head(&self.client, &self.key(name)?)? {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(from_store(&error)),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        let root = self.root.trim_end_matches('/');
        PathBuf::from(format!("{root}/{}", self.full(name)))
    }
}

impl TargetFolder for StoreFolder {
    fn create(&self, name: &str, byte_len: u64) -> Result<Box<dyn PendingFile>> {
        if self.scheme == Scheme::Http {
            return Err(failed(
                "an HTTP server is read and not written to; give a bucket or a path as target",
            ));
        }
        let (client, key) = (Arc::clone(&self.uploads), self.key(name)?);
        let upload = Upload::new(client, key, byte_len, self.last.clone())?;
        Ok(Box::new(upload))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let (client, key) = (Arc::clone(&self.client), self.key(name)?);
        let removed = runtime::wait(async move { client.delete(&key).await })?;
        self.last.forget();
        match removed {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(from_store(&error).in_path(&self.path(name))),
        }
    }
}

/// A receiver of notes.
type Receive = dyn Fn(&str) + Send + Sync;

/// The receiver of notes for the user.
#[derive(Clone, Default)]
struct Note(Option<Arc<Receive>>);

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Note").field(&self.0.is_some()).finish()
    }
}

/// Whether an error says that there is no such object.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound)
}
