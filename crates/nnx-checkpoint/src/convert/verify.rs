//! Reading again what was written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::output::{Meter, Written};
use super::plan::{Expected, FilePlan};
use crate::error::{Error, Result};
use crate::source::ByteRange;
use crate::{CheckpointReader, Limits, OpenOptions};

/// Threads that read, one a core up to this.
const MAX_THREADS: usize = 4;

/// Opens a file that was written, and compares its tensors with the plan and its bytes with the
/// checksums of the bytes that were read, or those that the source states of them.
///
/// # Errors
/// When they differ: the disk or the memory is at fault, or the source is damaged.
pub(super) fn verify(
    plan: &FilePlan,
    source: &Path,
    bytes: &ByteRange,
    written: &[Written],
    limits: &Limits,
    meter: &mut Meter<'_>,
) -> Result<()> {
    if !has_expected(plan, bytes, limits)? {
        return Err(Error::malformed(
            "the tensors of the file that was written are not those that were meant",
        ));
    }
    compare(plan, source, bytes, written, meter)
}

/// Whether a file has the tensors of the plan, by their names, dtypes and shapes.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn has_expected(plan: &FilePlan, bytes: &ByteRange, limits: &Limits) -> Result<bool> {
    let options = OpenOptions::default()
        .limits(*limits)
        .restore_aliases(false)
        .allow_dangerous_globals(true);
    let reader = CheckpointReader::from_byte_range(bytes, &options)?;
    let found = reader.tensors().iter().map(|entry| Expected {
        name: entry.name().to_owned(),
        dtype: entry.dtype(),
        shape: entry.shape().to_vec(),
    });
    Ok(found.eq(plan.expected.iter().cloned()))
}

/// Compares every piece with its checksum, on as many threads as there are cores.
fn compare(
    plan: &FilePlan,
    source: &Path,
    whole: &ByteRange,
    written: &[Written],
    meter: &mut Meter<'_>,
) -> Result<()> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let check = |index: usize, written: &Written| -> Result<()> {
        let Some(crc) = written.crc else {
            return Ok(());
        };
        let piece = whole
            .slice(written.position, written.len)
            .map_err(|_| Error::malformed("the file that was written is too short"))?;
        let found = piece.crc32()?;
        if found == crc {
            return Ok(());
        }
        let Some(piece) = plan.pieces.get(index) else {
            return Ok(());
        };
        // The checksum may be one that the source states, and the source what is damaged.
        let read = piece.storage.chunks(&mut |_| Ok(()));
        read.map_err(|error| error.in_tensor(&piece.label).in_path(source))?;
        Err(Error::malformed(format!(
            "wrote bytes with the checksum {crc:#010x} and read {found:#010x} back"
        ))
        .in_tensor(&piece.label)
        .at(written.position))
    };
    let work = |done: &mut dyn FnMut(u64) -> Result<()>| -> Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(written) = written.get(index) else {
                return Ok(());
            };
            if stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            let outcome = check(index, written).and_then(|()| done(written.len));
            if outcome.is_err() {
                stopped.store(true, Ordering::Relaxed);
                return outcome;
            }
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut bytes = 0u64;
                    work(&mut |len| {
                        bytes = bytes.saturating_add(len);
                        Ok(())
                    })
                    .map(|()| bytes)
                })
            })
            .collect();
        let mut outcome = work(&mut |len| meter.advance(len));
        for other in others {
            let joined = match other.join() {
                Ok(joined) => joined,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            outcome = match (outcome, joined) {
                (Ok(()), Ok(bytes)) => meter.advance(bytes),
                (Ok(()), Err(error)) | (Err(error), _) => Err(error),
            };
        }
        outcome
    })
}
