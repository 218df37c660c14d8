//! Where the bytes of storages come from.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::make::Make;
use crate::error::{Error, Result};
use crate::torch::{InPlace, TorchObject};
use crate::{CheckpointReader, Storage};

/// Files that are kept open at a time; bytes of further ones are taken from their maps.
const MAX_OPEN_FILES: usize = 256;
/// Bytes at each end of a file by which it is known again.
const PROBE_BYTES: usize = 4 << 10;
/// Bytes that are read at a time.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// Where the bytes of each storage of the source come from.
#[derive(Debug, Default)]
pub(super) struct Origins {
    /// By the storage's identity; the storage is kept, so that the identity stays its own.
    known: HashMap<usize, (Storage, Arc<Origin>)>,
    /// By the address of the first byte of the map.
    files: BTreeMap<usize, Arc<SourceFile>>,
}

/// Where the bytes of one storage come from.
#[derive(Debug)]
pub(super) enum Origin {
    /// They stand somewhere as they are.
    InPlace(Stored),
    /// They are compressed, or in another byte order.
    Load(Encoded),
    /// They are made of those of another storage.
    Made(Make),
}

/// A storage that its file has compressed, or in another byte order.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    object: Arc<TorchObject>,
    slot: usize,
    raw: Extent,
}

impl Encoded {
    /// The bytes of the storage.
    ///
    /// # Errors
    /// When the file cannot be read, or the bytes are not what the file says of them.
    pub(super) fn load(&self, verify: bool) -> Result<Bytes> {
        self.object.decode(self.slot, self.raw.read()?, verify)
    }
}

/// Bytes that stand somewhere, and the CRC-32 that their file has for them with the name of the
/// entry that has it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) extent: Extent,
    pub(super) checksum: Option<(u32, String)>,
}

/// A run of bytes in memory or in a file.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    bytes: Bytes,
    file: Option<(Arc<SourceFile>, u64)>,
}

/// A file that is open beside its map: bytes that are read from it do not stay in this process's
/// memory.
#[derive(Debug)]
pub(super) struct SourceFile {
    file: File,
    path: PathBuf,
    len: usize,
}

impl Origins {
    /// Those of a checkpoint that was opened without its bytes.
    ///
    /// # Errors
    /// When a file is not the one any more that was mapped, or an archive contradicts itself.
    pub(super) fn of(reader: &CheckpointReader) -> Result<Self> {
        let mut origins = Self::default();
        for (path, bytes) in reader.files().iter().take(MAX_OPEN_FILES) {
            let file = SourceFile::open(path, bytes).map_err(|error| error.in_path(path))?;
            if let Some(file) = file {
                origins.files.insert(bytes.as_ptr().addr(), Arc::new(file));
            }
        }
        for object in reader.objects() {
            origins.add(object)?;
        }
        Ok(origins)
    }

    fn add(&mut self, object: &Arc<TorchObject>) -> Result<()> {
        for slot in 0..object.storage_count() {
            let storage = object.storage_at(slot)?.clone();
            // Nothing is stored of a tensor on the device `meta`.
            if storage.location() == "meta" {
                continue;
            }
            let origin = match object.in_place(slot)? {
                Some(InPlace { bytes, checksum }) => Origin::InPlace(Stored {
                    extent: self.extent(bytes),
                    checksum,
                }),
                None => Origin::Load(Encoded {
                    object: Arc::clone(object),
                    slot,
                    raw: self.extent(object.raw(slot)?),
                }),
            };
            self.insert(storage, origin);
        }
        Ok(())
    }

    /// Says where the bytes of a planned storage come from.
    pub(super) fn insert(&mut self, storage: Storage, origin: Origin) {
        self.known
            .insert(storage.identity(), (storage, Arc::new(origin)));
    }

    /// Where the bytes of a storage come from.
    ///
    /// # Errors
    /// When the storage has a length and no bytes that anyone knows of.
    pub(super) fn get(&self, storage: &Storage) -> Result<Arc<Origin>> {
        if let Some((_, origin)) = self.known.get(&storage.identity()) {
            return Ok(Arc::clone(origin));
        }
        if storage.bytes().len() != storage.byte_len() {
            return Err(Error::unsupported(
                "the bytes of a storage are part of another one, at a place where no element of \
                 its dtype begins",
            ));
        }
        Ok(Arc::new(Origin::InPlace(Stored {
            extent: self.extent(storage.bytes().clone()),
            checksum: None,
        })))
    }

    /// The bytes, in their file where they lie in the map of one.
    fn extent(&self, bytes: Bytes) -> Extent {
        let address = bytes.as_ptr().addr();
        let file = self
            .files
            .range(..=address)
            .next_back()
            .and_then(|(start, file)| {
                let offset = address.checked_sub(*start)?;
                let is_inside = offset.checked_add(bytes.len())? <= file.len;
                is_inside.then(|| (Arc::clone(file), offset as u64))
            });
        Extent { bytes, file }
    }
}

impl SourceFile {
    /// Opens a file once more; none where files are not read at an offset.
    ///
    /// # Errors
    /// When it is not the one any more that the bytes are of.
    fn open(path: &Path, bytes: &Bytes) -> Result<Option<Self>> {
        if !cfg!(unix) || bytes.is_empty() {
            return Ok(None);
        }
        let file = Self {
            file: File::open(path)?,
            path: path.to_path_buf(),
            len: bytes.len(),
        };
        let probe = PROBE_BYTES.min(bytes.len());
        let mut is_same = file.file.metadata()?.len() == bytes.len() as u64;
        let mut found = vec![0; probe];
        for start in [0, bytes.len().saturating_sub(probe)] {
            is_same = is_same
                && file.read_at(start as u64, &mut found).is_ok()
                && bytes.get(start..start.saturating_add(probe)) == Some(&found);
        }
        if is_same {
            Ok(Some(file))
        } else {
            Err(Error::unsupported("the file changed while it was read"))
        }
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        use std::os::unix::fs::FileExt;
        self.file
            .read_exact_at(into, offset)
            .map_err(|error| Error::from(error).in_path(&self.path))
    }

    #[cfg(not(unix))]
    fn read_at(&self, _offset: u64, _into: &mut [u8]) -> Result<()> {
        Err(Error::unsupported("files are read through their maps here"))
    }
}

impl Extent {
    /// All bytes of an open file, of which these are the map.
    pub(super) fn in_open_file(file: File, path: &Path, bytes: Bytes) -> Self {
        let file = cfg!(unix).then(|| {
            let file = SourceFile {
                file,
                path: path.to_path_buf(),
                len: bytes.len(),
            };
            (Arc::new(file), 0)
        });
        Self { bytes, file }
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Some of the bytes; none when they are not all there.
    pub(super) fn part(&self, start: usize, len: usize) -> Option<Self> {
        let end = start.checked_add(len)?;
        if end > self.len() {
            return None;
        }
        Some(Self {
            bytes: self.bytes.slice(start..end),
            file: self
                .file
                .as_ref()
                .map(|(file, offset)| (Arc::clone(file), offset.saturating_add(start as u64))),
        })
    }

    /// The open file that the bytes are in, and where they begin.
    pub(super) fn in_file(&self) -> Option<(&File, u64)> {
        let (file, offset) = self.file.as_ref()?;
        Some((&file.file, *offset))
    }

    /// Reads the bytes piece by piece, each into the same memory.
    ///
    /// # Errors
    /// When the file cannot be read, or `each` fails.
    pub(super) fn chunks(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Some((file, offset)) = &self.file else {
            return self.bytes.chunks(CHUNK_BYTES).try_for_each(each);
        };
        let mut chunk = vec![0; CHUNK_BYTES.min(self.len())];
        let mut at = *offset;
        let mut left = self.len();
        while left > 0 {
            let now = left.min(CHUNK_BYTES);
            let chunk = chunk.get_mut(..now).unwrap_or_default();
            file.read_at(at, chunk)?;
            each(chunk)?;
            at = at.saturating_add(now as u64);
            left = left.saturating_sub(now);
        }
        Ok(())
    }

    /// All bytes: where they are in memory already, those.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn read(&self) -> Result<Bytes> {
        let Some((file, offset)) = &self.file else {
            return Ok(self.bytes.clone());
        };
        let mut all = Vec::new();
        all.try_reserve_exact(self.len())
            .map_err(|_| Error::unsupported(format!("no memory for {} bytes", self.len())))?;
        all.resize(self.len(), 0);
        file.read_at(*offset, &mut all)?;
        Ok(all.into())
    }

    /// The CRC-32 of the bytes.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn crc32(&self) -> Result<u32> {
        let mut hasher = crc32fast::Hasher::new();
        self.chunks(&mut |chunk| {
            hasher.update(chunk);
            Ok(())
        })?;
        Ok(hasher.finalize())
    }
}

impl Stored {
    /// Compares the bytes with the checksum that their file has for them.
    ///
    /// # Errors
    /// When they differ.
    pub(super) fn verify(&self, found: u32) -> Result<()> {
        match &self.checksum {
            Some((stated, entry)) if *stated != found => Err(Error::malformed(format!(
                "expected a content with the checksum {stated:#010x}, found {found:#010x}"
            ))
            .in_entry(entry)),
            _ => Ok(()),
        }
    }
}
