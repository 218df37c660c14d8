//! An object that is being uploaded.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

use nnx_checkpoint::{Error, ErrorKind, PendingFile, Result};
use object_store::path::Path as Key;
use object_store::{
    Error as StoreError, MultipartUpload, ObjectStore, PutMode, PutOptions, PutPayload,
};

use crate::error::{failed, from_store};
use crate::last_opened::LastOpened;
use crate::object::head;
use crate::runtime::{self, Pending};

/// The least bytes of a part; stores take no smaller ones than 5 MiB, but for the last.
const PART_BYTES: u64 = 8 << 20;
/// The most parts that every store takes.
const MAX_PARTS: u64 = 10_000;
/// The most bytes of an object that every store takes.
const MAX_BYTES: u64 = 5 << 40;
/// Parts that are under way at a time.
const IN_FLIGHT: usize = 4;

/// An object whose bytes arrive one after the other. A small one is sent when it is completed; of
/// another one, parts are sent while it is written, and the store makes the object of them when it
/// is completed.
#[derive(Debug)]
pub(crate) struct Upload {
    client: Arc<dyn ObjectStore>,
    key: Key,
    part_len: usize,
    expected: u64,
    written: u64,
    buffer: Vec<u8>,
    parts: Option<Box<dyn MultipartUpload>>,
    in_flight: VecDeque<Pending<Result<(), StoreError>>>,
    last: LastOpened,
}

impl Upload {
    /// Nothing is requested. `last` becomes empty when the object is completed.
    ///
    /// # Errors
    /// When the object is larger than stores take.
    pub(crate) fn new(
        client: Arc<dyn ObjectStore>,
        key: Key,
        byte_len: u64,
        last: LastOpened,
    ) -> Result<Self> {
        if byte_len > MAX_BYTES {
            return Err(failed(format!(
                "expected an object of at most {MAX_BYTES} bytes, found {byte_len} for `{key}`; \
                 write several smaller ones"
            )));
        }
        let part_len = PART_BYTES.max(byte_len.div_ceil(MAX_PARTS));
        Ok(Self {
            client,
            key,
            part_len: usize::try_from(part_len).unwrap_or(usize::MAX),
            expected: byte_len,
            written: 0,
            buffer: Vec::new(),
            parts: None,
            in_flight: VecDeque::new(),
            last,
        })
    }

    /// Sends the buffer as a part.
    fn send(&mut self) -> Result<()> {
        if self.in_flight.len() >= IN_FLIGHT {
            self.wait_for_one()?;
        }
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => {
                let (client, key) = (Arc::clone(&self.client), self.key.clone());
                let begun = runtime::wait(async move {
                    client.put_multipart_opts(&key, Default::default()).await
                })?;
                none.insert(begun.map_err(|error| from_store(&error))?)
            }
        };
        let part = std::mem::take(&mut self.buffer);
        let sent = runtime::start(parts.put_part(PutPayload::from(part)))?;
        self.in_flight.push_back(sent);
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<()> {
        match self.in_flight.pop_front() {
            Some(part) => part.wait()?.map_err(|error| from_store(&error)),
            None => Ok(()),
        }
    }

    /// Sends an object that is one part.
    fn put(&mut self, replace: bool) -> Result<()> {
        let (client, key) = (Arc::clone(&self.client), self.key.clone());
        let bytes = PutPayload::from(std::mem::take(&mut self.buffer));
        let mode = if replace {
            PutMode::Overwrite
        } else {
            PutMode::Create
        };
        let options = PutOptions::from(mode);
        let put = runtime::wait(async move { client.put_opts(&key, bytes, options).await })?;
        match put {
            Ok(_) => Ok(()),
            Err(StoreError::AlreadyExists { .. }) if !replace => Err(taken()),
            Err(error) => Err(from_store(&error)),
        }
    }

    /// Makes the object of its parts.
    fn join(&mut self, mut parts: Box<dyn MultipartUpload>) -> Result<()> {
        let completed = runtime::wait(async move {
            let completed = parts.complete().await;
            if completed.is_err() {
                // It stays invisible if it cannot be aborted.
                let _ = parts.abort().await;
            }
            completed
        })?;
        completed.map_err(|error| from_store(&error))?;
        let found = head(&self.client, &self.key)?.map_err(|error| from_store(&error))?;
        if found.size == self.written {
            return Ok(());
        }
        Err(failed(format!(
            "expected an object of {} bytes in the store, found {}; another process may have \
             written it at the same time",
            self.written, found.size
        )))
    }

    fn abort(&mut self) {
        while let Some(part) = self.in_flight.pop_front() {
            let _ = part.wait();
        }
        if let Some(mut parts) = self.parts.take() {
            // The parts of an upload that cannot be aborted stay invisible.
            let _ = runtime::wait(async move { parts.abort().await });
        }
    }
}

#[cold]
fn taken() -> Error {
    ErrorKind::TargetExists.into()
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The buffer is sent when more is to come, so that a small object is never a part.
        if self.buffer.len() == self.part_len {
            self.send().map_err(io::Error::other)?;
        }
        if self.buffer.capacity() == 0 {
            let left = self.expected.saturating_sub(self.written);
            let left = usize::try_from(left).unwrap_or(self.part_len);
            let wanted = left.min(self.part_len);
            self.buffer.try_reserve_exact(wanted).map_err(|_| {
                let what =
                    format!("no memory for {wanted} bytes of an upload; write smaller shards");
                io::Error::new(io::ErrorKind::OutOfMemory, what)
            })?;
        }
        let room = self.part_len.saturating_sub(self.buffer.len());
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.buffer.extend_from_slice(taken);
        self.written = self.written.saturating_add(taken.len() as u64);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PendingFile for Upload {
    fn sync(&mut self) -> Result<()> {
        if self.parts.is_some() && !self.buffer.is_empty() {
            self.send()?;
        }
        while !self.in_flight.is_empty() {
            self.wait_for_one()?;
        }
        if self.written == self.expected {
            return Ok(());
        }
        Err(failed(format!(
            "expected {} bytes for the object, and {} were written",
            self.expected, self.written
        )))
    }

    fn complete(mut self: Box<Self>, replace: bool) -> Result<()> {
        self.sync()?;
        if !replace {
            match head(&self.client, &self.key)? {
                Err(StoreError::NotFound { .. }) => {}
                Ok(_) => return Err(taken()),
                Err(error) => return Err(from_store(&error)),
            }
        }
        let completed = match self.parts.take() {
            Some(parts) => self.join(parts),
            None => self.put(replace),
        };
        // An upload that failed may be complete in the store.
        self.last.forget();
        completed
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.abort();
    }
}
