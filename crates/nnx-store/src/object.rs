//! An object that is read by range.

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use nnx_checkpoint::{ByteRange, CachedRange, RangeRead, Result};
use object_store::path::Path as Key;
use object_store::{
    Error as StoreError, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt,
};

use crate::error::{changed, failed, from_store};
use crate::runtime;

/// Bytes of the first request, which tells the object's size as well.
const FIRST_BYTES: u64 = 64 << 10;
/// The most bytes that are downloaded whole from a server that serves no ranges.
const MAX_WHOLE_BYTES: u64 = 256 << 20;

/// An object, with its size and its ETag when it was opened.
pub(crate) struct Object {
    client: Arc<dyn ObjectStore>,
    key: Key,
    meta: ObjectMeta,
}

/// An open object.
pub(crate) struct Opened {
    pub(crate) bytes: ByteRange,
    /// A note for the user.
    pub(crate) note: Option<String>,
}

/// Opens an object with one request, for its first bytes.
///
/// # Errors
/// When there is no such object, it cannot be read, or the server serves no ranges and the object
/// is large.
pub(crate) fn open(client: &Arc<dyn ObjectStore>, key: &Key) -> Result<Opened> {
    let first = GetOptions {
        range: Some(GetRange::Bounded(0..FIRST_BYTES)),
        ..GetOptions::default()
    };
    match get(client, key, first)? {
        Ok((meta, bytes)) => {
            if bytes.len() as u64 != meta.size.min(FIRST_BYTES) {
                return Err(short(meta.size.min(FIRST_BYTES), bytes.len() as u64));
            }
            let object = Object {
                client: Arc::clone(client),
                key: key.clone(),
                meta,
            };
            let note = object.meta.e_tag.is_none().then(|| {
                format!(
                    "the server gives `{key}` no ETag; if the file changes while it is read, this \
                     may not be noticed"
                )
            });
            let cached = CachedRange::new(Arc::new(object)).with_start(&bytes);
            Ok(Opened {
                bytes: ByteRange::new(Arc::new(cached)),
                note,
            })
        }
        Err(StoreError::NotSupported { .. }) => whole(client, key),
        Err(error @ StoreError::NotFound { .. }) => Err(from_store(&error)),
        // No range of an object without bytes can be asked for.
        Err(error) => match head(client, key)? {
            Ok(meta) if meta.size == 0 => Ok(Opened {
                bytes: Bytes::new().into(),
                note: None,
            }),
            _ => Err(from_store(&error)),
        },
    }
}

/// Downloads an object whole: its server serves no ranges.
fn whole(client: &Arc<dyn ObjectStore>, key: &Key) -> Result<Opened> {
    let refused = |size: u64| {
        failed(format!(
            "the server serves no ranges, and the file of {size} bytes is larger than the \
             {MAX_WHOLE_BYTES} bytes that are downloaded whole; download it, and open the copy"
        ))
    };
    let meta = head(client, key)?.map_err(|error| from_store(&error))?;
    if meta.size > MAX_WHOLE_BYTES {
        return Err(refused(meta.size));
    }
    let (client, at) = (Arc::clone(client), key.clone());
    let bytes = runtime::wait(async move {
        let found = client.get(&at).await?;
        // The header gives the size as it is now; the body is not read beyond it.
        if found.meta.size > MAX_WHOLE_BYTES {
            return Ok(Err(found.meta.size));
        }
        body(found).await.map(Ok)
    })?
    .map_err(|error| from_store(&error))?
    .map_err(refused)?;
    let note = format!(
        "the server serves no ranges; all {} bytes of `{key}` were downloaded",
        bytes.len()
    );
    Ok(Opened {
        bytes: bytes.into(),
        note: Some(note),
    })
}

/// The size and the version of an object.
///
/// # Errors
/// When no request can be sent; the inner error is the store's.
pub(crate) fn head(
    client: &Arc<dyn ObjectStore>,
    key: &Key,
) -> Result<Result<ObjectMeta, StoreError>> {
    let (client, key) = (Arc::clone(client), key.clone());
    runtime::wait(async move { client.head(&key).await })
}

/// The bytes of a request, and the metadata of the object when it was answered.
fn get(
    client: &Arc<dyn ObjectStore>,
    key: &Key,
    options: GetOptions,
) -> Result<Result<(ObjectMeta, Bytes), StoreError>> {
    let (client, key) = (Arc::clone(client), key.clone());
    runtime::wait(async move {
        let found: GetResult = client.get_opts(&key, options).await?;
        let meta = found.meta.clone();
        Ok((meta, body(found).await?))
    })
}

/// The body of an answer, which is not read beyond the range that its header states.
async fn body(found: GetResult) -> Result<Bytes, StoreError> {
    let expected = found.range.end.saturating_sub(found.range.start);
    let mut pieces = found.into_stream();
    let mut bytes = BytesMut::new();
    while let Some(piece) = pieces.try_next().await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > expected {
            return Err(StoreError::Generic {
                store: "store",
                source: format!("expected {expected} bytes, and the server sent more").into(),
            });
        }
    }
    Ok(bytes.freeze())
}

#[cold]
fn short(expected: u64, found: u64) -> nnx_checkpoint::Error {
    failed(format!(
        "expected {expected} bytes of the object, and the server sent {found}"
    ))
}

impl Object {
    /// Whether an answer is of the object that was opened.
    fn is_same(&self, meta: &ObjectMeta) -> bool {
        let is_same_version = match (&self.meta.e_tag, &meta.e_tag) {
            (Some(before), Some(now)) => before == now,
            (None, None) => self.meta.last_modified == meta.last_modified,
            _ => false,
        };
        is_same_version && self.meta.size == meta.size
    }
}

impl RangeRead for Object {
    fn byte_len(&self) -> u64 {
        self.meta.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let end = offset.saturating_add(into.len() as u64);
        // A weak tag matches nothing, by the rules of HTTP; the answer is compared instead.
        let strong = self
            .meta
            .e_tag
            .as_ref()
            .filter(|tag| !tag.starts_with("W/"));
        let options = GetOptions {
            range: Some(GetRange::Bounded(offset..end)),
            if_match: strong.cloned(),
            ..GetOptions::default()
        };
        let (meta, bytes) = match get(&self.client, &self.key, options)? {
            Ok(found) => found,
            // A shorter object than the one that was opened may have no such range.
            Err(error) => {
                return Err(match head(&self.client, &self.key)? {
                    Ok(now) if !self.is_same(&now) => changed(),
                    _ => from_store(&error),
                });
            }
        };
        if !self.is_same(&meta) {
            return Err(changed());
        }
        if bytes.len() != into.len() {
            return Err(short(into.len() as u64, bytes.len() as u64));
        }
        into.copy_from_slice(&bytes);
        Ok(())
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("key", &self.key)
            .field("size", &self.meta.size)
            .finish_non_exhaustive()
    }
}
