//! Checking a checkpoint without a target.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::{DistributedFault, Error, ErrorKind, Result};
use crate::{CheckpointReader, Folder, Format, OpenOptions, Storage};

/// The most faults that are reported.
const MAX_FAULTS: usize = 100;

/// The result of a check of a checkpoint.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verification {
    /// The format.
    pub format: Format,
    /// How many tensors there are.
    pub tensors: usize,
    /// How many bytes of them were read.
    pub bytes: u64,
    /// Notes for the user that are no faults.
    pub notes: Vec<String>,
    /// The faults, at most the first hundred; empty for a sound checkpoint.
    pub faults: Vec<Error>,
}

impl Verification {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Checks a checkpoint, a file or a folder, without writing: it must open, every byte of every
/// tensor must be there, and have the checksum that its file states. Of a checkpoint of several
/// processes also every part, its shape and its dtype. Nothing is kept in memory.
///
/// ```no_run
/// # fn main() -> nnx_checkpoint::Result<()> {
/// let found = nnx_checkpoint::verify("checkpoint", &Default::default())?;
/// for fault in &found.faults {
///     println!("{fault}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As for [`CheckpointReader::open_with`]; [`is_fault`] tells whether such an error says that the
/// checkpoint is wrong, or that it could not be judged.
pub fn verify(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Verification> {
    verify_with(path, options, &mut |_, _| ControlFlow::Continue(()))
}

/// [`verify`], telling how many bytes were read, and of how many. `progress` can stop it.
///
/// # Errors
/// As for [`verify`], and [`ErrorKind::Interrupted`] when it was stopped.
pub fn verify_with(
    path: impl AsRef<Path>,
    options: &OpenOptions,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Verification> {
    let path = path.as_ref();
    verify_reader(&CheckpointReader::open_with(path, options)?, path, progress)
}

/// [`verify_with`] for a file in a folder, wherever that is, or without a name the folder itself: as
/// [`CheckpointReader::open_in`] opens them.
///
/// # Errors
/// As for [`verify_with`], and those of the folder.
pub fn verify_in(
    folder: &dyn Folder,
    name: Option<&str>,
    options: &OpenOptions,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Verification> {
    let reader = CheckpointReader::open_in(folder, name, options)?;
    verify_reader(&reader, &folder.path(name.unwrap_or_default()), progress)
}

/// Checks an open checkpoint; an error is of the path.
fn verify_reader(
    reader: &CheckpointReader,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Verification> {
    let mut found = Verification {
        format: reader.format(),
        tensors: reader.tensors().len(),
        bytes: 0,
        notes: reader.notes().to_vec(),
        faults: Vec::new(),
    };
    let mut storages = Vec::new();
    let mut fault = |error: Error| -> Result<bool> {
        if !is_fault(&error) {
            return Err(error.in_path(path));
        }
        found.faults.push(error.in_path(path));
        Ok(found.faults.len() >= MAX_FAULTS)
    };
    let mut seen = HashSet::new();
    for entry in reader.tensors() {
        match entry.unread_tensor() {
            Ok(tensor) => {
                if seen.insert(tensor.storage().identity()) {
                    storages.push((entry.name().to_owned(), tensor.storage().clone()));
                }
            }
            // Sparse tensors and the like have no bytes of their own, only their parts have.
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported { .. }) => {}
            Err(error) => {
                if fault(error)? {
                    return Ok(found);
                }
            }
        }
    }
    if let Some(object) = reader.object() {
        for index in 0..object.storage_count() {
            let storage = object.storage_at(index)?;
            if seen.insert(storage.identity()) {
                storages.push((String::new(), storage.clone()));
            }
        }
    }
    let lens = storages
        .iter()
        .map(|(_, storage)| storage.byte_len() as u64);
    let total = lens.fold(0, u64::saturating_add);
    let mut read = 0u64;
    for (name, storage) in &storages {
        if let Err(error) = read_all(storage, &mut read, total, progress) {
            let error = match name.as_str() {
                "" => error,
                name => error.in_tensor(name),
            };
            if fault(error)? {
                break;
            }
        }
    }
    found.bytes = read;
    Ok(found)
}

/// Reads a storage piece by piece; the last one of them compares the checksum.
fn read_all(
    storage: &Storage,
    read: &mut u64,
    total: u64,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<()> {
    storage.chunks(&mut |piece| {
        *read = read.saturating_add(piece.len() as u64);
        match progress(*read, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::new(ErrorKind::Interrupted)),
        }
    })
}

/// Whether an error says that a checkpoint is wrong: damaged, incomplete, contradictory or hostile.
/// Any other one says that it could not be judged: it is not there, is of a kind that is not read,
/// or is larger than the limits allow.
pub fn is_fault(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Empty
        | ErrorKind::Malformed { .. }
        | ErrorKind::MissingShard { .. }
        | ErrorKind::MissingShards { .. }
        | ErrorKind::NameCollision { .. }
        | ErrorKind::PathTraversal { .. }
        | ErrorKind::UnsafeGlobal { .. } => true,
        ErrorKind::Distributed { fault, .. } => !matches!(
            fault,
            DistributedFault::ChooseFolder
                | DistributedFault::NoLatest
                | DistributedFault::FsdpFlatParameters
                | DistributedFault::NotJoined
                | DistributedFault::Offloaded
                | DistributedFault::PartialPlacement
                | DistributedFault::TensorParallel
                | DistributedFault::UnsupportedTransform
        ),
        _ => false,
    }
}
