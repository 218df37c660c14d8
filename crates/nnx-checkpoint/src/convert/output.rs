//! Writing the files of a plan.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use super::options::ConvertOptions;
use super::plan::{Container, FilePlan, Piece};
use super::report::Progress;
use crate::error::{Error, ErrorKind, Result};
use crate::source::{ByteRange, CHUNK_BYTES};
use crate::target_folder::PendingFile;
use crate::tensor::{StoragePart, StoredRange};
use crate::torch;
use crate::zip::ZipWriter;

/// Ranges from this size on are moved by the kernel.
const LARGE_BYTES: u64 = 1 << 20;
/// Bytes that the kernel is asked to move at a time, so that progress is told and a stop is heard.
const MOVED_BYTES: u64 = 32 << 20;
/// Bytes from this number on are handed to the operating system as they are.
const DIRECT_BYTES: usize = 128 << 10;
/// Made chunks that wait to be written.
const WAITING_CHUNKS: usize = 4;

/// A piece in a file that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) position: u64,
    pub(super) len: u64,
    /// The CRC-32 of the bytes that were read, or the one that the source states of them; none when
    /// nobody asked.
    pub(super) crc: Option<u32>,
}

/// Counts bytes, and passes on a wish to stop.
pub(super) struct Meter<'a> {
    pub(super) progress: Progress,
    pub(super) tell: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl Meter<'_> {
    /// # Errors
    /// [`ErrorKind::Interrupted`] when the caller wants to stop.
    pub(super) fn advance(&mut self, bytes: u64) -> Result<()> {
        self.progress.done = self.progress.done.saturating_add(bytes);
        match (self.tell)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::new(ErrorKind::Interrupted)),
        }
    }
}

/// Writes a file beside its target and says where the pieces are.
///
/// # Errors
/// When a piece cannot be read, does not have its checksum, or the disk refuses.
pub(super) fn write(
    plan: &FilePlan,
    source: &Path,
    file: &mut dyn PendingFile,
    options: &ConvertOptions,
    meter: &mut Meter<'_>,
) -> Result<Vec<Written>> {
    let is_read_again = options.verify && file.read_back()?.is_some();
    thread::scope(|scope| {
        let (sender, made) = mpsc::sync_channel(WAITING_CHUNKS);
        scope.spawn(move || produce(plan, source, &sender));
        let mut output = Output {
            file,
            source,
            buffer: Vec::with_capacity(CHUNK_BYTES),
            position: 0,
            made,
            written: Vec::new(),
            // A zip archive states a checksum whether anyone compares it or not.
            checksums: options.verify || matches!(plan.container, Container::Torch { .. }),
            is_read_again,
            meter,
        };
        match &plan.container {
            Container::SafeTensors { header } => {
                output.write_all(header)?;
                for piece in &plan.pieces {
                    output.piece(piece)?;
                }
            }
            Container::Torch { root, program } => {
                let mut zip = ZipWriter::new(&mut output, root);
                let storages = plan.pieces.iter().map(|piece| (piece.len(), piece));
                torch::write_records(&mut zip, program, storages, |output, piece| {
                    output.piece(piece)
                })?;
                zip.finish()?;
            }
        }
        output.flush()?;
        Ok(output.written)
    })
}

/// A part of a piece that no file has as it is.
enum Made {
    Bytes(Vec<u8>),
    /// The part is in a file as it is.
    Stored(StoredRange),
}

/// Computes, inflates and gathers what no file has as it is, in the order of the plan.
fn produce(plan: &FilePlan, source: &Path, to: &SyncSender<Result<Made>>) {
    for piece in &plan.pieces {
        match piece.storage.verbatim() {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            // The writer may get no error where it asks, and must not take the bytes of a later piece.
            Err(error) => {
                let _ = to.send(Err(error.in_tensor(&piece.label).in_path(source)));
                return;
            }
        }
        let made = piece.storage.parts(&mut |part| {
            let made = match part {
                StoragePart::Bytes(bytes) => Made::Bytes(bytes.to_vec()),
                StoragePart::Stored(stored) => Made::Stored(stored.clone()),
            };
            // The writer has gone where it does not take the part: it has its own error to tell.
            to.send(Ok(made))
                .map_err(|_| Error::new(ErrorKind::Interrupted))
        });
        if let Err(error) = made {
            let _ = to.send(Err(error.in_tensor(&piece.label).in_path(source)));
            return;
        }
    }
}

struct Output<'a, 'b> {
    file: &'a mut dyn PendingFile,
    source: &'a Path,
    /// Bytes that were written and not yet handed to the operating system.
    buffer: Vec<u8>,
    position: u64,
    made: Receiver<Result<Made>>,
    written: Vec<Written>,
    checksums: bool,
    /// Whether the target is read again, and its bytes are compared with the checksums.
    is_read_again: bool,
    meter: &'a mut Meter<'b>,
}

impl Output<'_, '_> {
    /// Writes a piece and returns its checksum, or 0 where none is needed.
    fn piece(&mut self, piece: &Piece) -> Result<u32> {
        let position = self.position;
        let in_source = |error: Error| error.in_path(self.source);
        let crc = match piece.storage.stored().map_err(in_source)? {
            Some(stored) => self.copy(&stored)?,
            None => self.take_made(piece)?,
        };
        let len = self.position.saturating_sub(position);
        if len != piece.len() {
            return Err(Error::malformed(format!(
                "expected {} bytes of `{}`, got {len}",
                piece.len(),
                piece.label
            )));
        }
        self.written.push(Written { position, len, crc });
        Ok(crc.unwrap_or_default())
    }

    /// Copies bytes that a file has as they are, and returns their checksum where one is needed. It is
    /// compared with the one that the file states, at the latest when the target is read again.
    fn copy(&mut self, stored: &StoredRange) -> Result<Option<u32>> {
        let range = &stored.range;
        let crc = if range.byte_len() < LARGE_BYTES {
            let mut hasher = crc32fast::Hasher::new();
            range.chunks(&mut |chunk| {
                hasher.update(chunk);
                Ok(self.write_all(chunk)?)
            })?;
            self.meter.advance(range.byte_len())?;
            hasher.finalize()
        } else {
            self.flush()?;
            if range.in_file().is_none() || self.file.file().is_none() {
                self.pass(range)?
            } else if !self.checksums {
                self.transfer(range)?;
                return Ok(None);
            } else if let (Some(crc), true) = (stored.checksum(), self.is_read_again) {
                self.transfer(range)?;
                return Ok(Some(crc));
            } else {
                self.transfer_and_read(range)?
            }
        };
        let compared = stored.compare(crc);
        compared.map_err(|error| error.in_path(self.source))?;
        Ok(Some(crc))
    }

    /// Moves bytes, while another thread reads them for their checksum.
    fn transfer_and_read(&mut self, range: &ByteRange) -> Result<u32> {
        thread::scope(|scope| {
            let crc = scope.spawn(|| range.crc32());
            self.transfer(range)?;
            match crc.join() {
                Ok(crc) => crc,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Reads bytes once, writes them, and gives their checksum.
    fn pass(&mut self, range: &ByteRange) -> Result<u32> {
        let mut hasher = crc32fast::Hasher::new();
        range.chunks(&mut |chunk| {
            hasher.update(chunk);
            self.file.write_all(chunk)?;
            self.moved(chunk.len() as u64)
        })?;
        Ok(hasher.finalize())
    }

    /// Moves bytes from one file to another without a copy of them in this process, where the system
    /// can.
    fn transfer(&mut self, range: &ByteRange) -> Result<()> {
        let (Some((source, start)), Some(mut target)) = (range.in_file(), self.file.file()) else {
            return self.pass(range).map(|_| ());
        };
        let mut source = source;
        source.seek(SeekFrom::Start(start))?;
        let mut left = range.byte_len();
        while left > 0 {
            let now = left.min(MOVED_BYTES);
            // Between files this is `copy_file_range`, which shares blocks where it can.
            let moved = io::copy(&mut source.take(now), &mut target)?;
            if moved == 0 {
                let error = Error::malformed("the file became shorter while it was read");
                return Err(error.in_path(self.source));
            }
            self.position = self.position.saturating_add(moved);
            self.meter.advance(moved)?;
            left = left.saturating_sub(moved);
        }
        Ok(())
    }

    fn moved(&mut self, bytes: u64) -> Result<()> {
        self.position = self.position.saturating_add(bytes);
        self.meter.advance(bytes)
    }

    /// Writes what was made of a piece, and returns its checksum where one is needed.
    fn take_made(&mut self, piece: &Piece) -> Result<Option<u32>> {
        let mut whole = self.checksums.then(crc32fast::Hasher::new);
        let mut left = piece.len();
        while left > 0 {
            let made = self
                .made
                .recv()
                .map_err(|_| Error::unsupported("the thread that makes bytes has stopped"))??;
            let len = match made {
                Made::Bytes(bytes) => {
                    if let Some(whole) = &mut whole {
                        whole.update(&bytes);
                    }
                    self.write_all(&bytes)?;
                    self.meter.advance(bytes.len() as u64)?;
                    bytes.len() as u64
                }
                Made::Stored(stored) => {
                    let len = stored.range.byte_len();
                    let crc = self.copy(&stored);
                    let crc = crc.map_err(|error| error.in_tensor(&piece.label))?;
                    if let (Some(whole), Some(crc)) = (&mut whole, crc) {
                        whole.combine(&crc32fast::Hasher::new_with_initial_len(crc, len));
                    }
                    len
                }
            };
            left = left.saturating_sub(len);
        }
        Ok(whole.map(crc32fast::Hasher::finalize))
    }
}

impl Write for Output<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len().saturating_add(bytes.len()) > CHUNK_BYTES {
            self.flush()?;
        }
        if bytes.len() >= DIRECT_BYTES {
            self.flush()?;
            self.file.write_all(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.position = self.position.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
