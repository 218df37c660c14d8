//! Conversion of one kind of checkpoint into another.

mod options;
mod output;
mod plan;
mod report;
mod selection;
mod target;
mod verify;

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use self::options::{ConvertOptions, SharedTensors};
use self::output::Meter;
use self::plan::{FilePlan, Plan};
pub use self::report::{Conversion, Progress};
use self::target::Target;
use crate::error::{Error, Result};
use crate::save::{NewFile, save_atomic};
use crate::{CheckpointReader, Format, OpenOptions, TargetFormat};

/// Converts a checkpoint: a file of any format, or a folder, into a safetensors file or what
/// `torch.save` writes.
///
/// - Names, dtypes, shapes and bytes stay as they are unless an option says otherwise.
///   What the target has no place for is an error that lists it, never left out in silence.
/// - A PyTorch file that becomes one keeps its structure, and bytes that need no change.
///   An NNx checkpoint becomes an NNx checkpoint.
///   Anything else becomes a plain dict of names and tensors, which in a safetensors file comes with
///   the metadata `format: pt`, as loaders of the transformers family want it.
/// - Memory does not grow with the file: bytes are moved by the kernel, or pass in pieces.
///   A tensor that is gathered or inflated is in memory as a whole, and up to three are at a time.
/// - The target is whole or as it was: files are written beside it, flushed, read again and
///   compared ([`ConvertOptions::verify`]), then renamed.
///   Of several files the index is removed first and comes back last, so that a process that is
///   killed in between leaves a folder without an index rather than with a wrong one.
/// - The target may be the source, if [`ConvertOptions::overwrite`] is set.
///
/// ```no_run
/// use nnx_checkpoint::{ConvertOptions, convert};
///
/// # fn main() -> nnx_checkpoint::Result<()> {
/// let options = ConvertOptions::default().select("state_dict").strip_prefix("state_dict.");
/// let done = convert("epoch=3.ckpt", "model.safetensors", &options)?;
/// println!("{} tensors, {} bytes", done.tensors, done.tensor_bytes);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - As [`CheckpointReader::open_with`] has them for the source, which is read whatever it names.
/// - [`ErrorKind::NotHeld`](crate::ErrorKind::NotHeld) when the target has no place for values.
/// - [`ErrorKind::DangerousTarget`](crate::ErrorKind::DangerousTarget) when a PyTorch file would
///   name what runs code, unless [`ConvertOptions::allow_dangerous_globals`] is set.
/// - [`ErrorKind::NoTensors`](crate::ErrorKind::NoTensors) when the target would hold no tensor, or
///   empty ones alone, unless [`ConvertOptions::allow_empty`] is set.
/// - [`ErrorKind::TargetExists`](crate::ErrorKind::TargetExists) when a file is there already.
/// - [`ErrorKind::NameCollision`](crate::ErrorKind::NameCollision) when two names become one.
/// - [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when a tensor has no place in the
///   target, there is no such cast, or an option matches nothing.
/// - [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) when bytes do not match their checksum,
///   before or after they were written.
pub fn convert(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &ConvertOptions,
) -> Result<Conversion> {
    convert_with(source, target, options, &mut |_| ControlFlow::Continue(()))
}

/// [`convert`], telling how far it is. `progress` can stop it: the target is as it was then, and
/// nothing is left beside it.
///
/// # Errors
/// As for [`convert`], and [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) when it was
/// stopped.
pub fn convert_with(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Conversion> {
    let open = OpenOptions::default()
        .limits(options.limits)
        .verify(options.verify)
        .allow_dangerous_globals(true);
    let (reader, opened) = CheckpointReader::open_located(source.as_ref(), &open)?;
    let in_source = |error: Error| error.in_path(source.as_ref());
    let in_target = |error: Error| error.in_path(target.as_ref());
    let target = Target::new(target.as_ref(), &opened, options).map_err(in_target)?;
    let plan = plan::plan(&reader, &target, options).map_err(in_source)?;
    if !options.allow_empty {
        plan.check_elements(&reader).map_err(in_source)?;
    }
    // A reader takes the index before the single file, and one of the two is of something else then.
    let (index, single) = (target.index(), target.single());
    target.check_free(plan.paths().chain([&index, &single]), options.overwrite)?;
    let conversion = plan.report(&reader, &target).map_err(in_source)?;
    // The storages of the plan know where their bytes are; the names and the graph can go.
    drop(reader);
    if options.dry_run {
        return Ok(conversion);
    }
    let mut meter = Meter {
        progress: Progress {
            done: 0,
            total: plan.work(options.verify),
        },
        tell: progress,
    };
    let mut written = Vec::new();
    for file in &plan.files {
        written.push(write(file, source.as_ref(), options, &mut meter)?);
    }
    put_in_place(&plan, &target, written, options)?;
    Ok(conversion)
}

/// Writes one file beside its target.
fn write(
    plan: &FilePlan,
    source: &Path,
    options: &ConvertOptions,
    meter: &mut Meter<'_>,
) -> Result<(NewFile, PathBuf)> {
    let in_target = |error: Error| error.in_path(&plan.path);
    let file = NewFile::beside(&plan.path).map_err(in_target)?;
    let written = output::write(plan, source, &file, options, meter).map_err(in_target)?;
    if options.verify {
        verify::verify(plan, &file, &written, &options.limits, meter).map_err(in_target)?;
    }
    file.sync().map_err(in_target)?;
    Ok((file, plan.path.clone()))
}

/// Renames what was written, and removes what an earlier conversion left of the same target: an old
/// index would lead readers to old shards.
fn put_in_place(
    plan: &Plan,
    target: &Target,
    written: Vec<(NewFile, PathBuf)>,
    options: &ConvertOptions,
) -> Result<()> {
    if !options.overwrite {
        for (file, path) in written {
            file.become_target().map_err(|error| error.in_path(&path))?;
        }
        return write_index(plan);
    }
    let was_sharded = target.index().symlink_metadata().is_ok();
    let earlier = if was_sharded || plan.index.is_some() {
        target.earlier()
    } else {
        Vec::new()
    };
    remove(&target.index())?;
    let mut kept = HashSet::new();
    for (file, path) in written {
        file.replace_target()
            .map_err(|error| error.in_path(&path))?;
        kept.insert(path);
    }
    write_index(plan)?;
    for path in earlier.iter().filter(|path| !kept.contains(*path)) {
        remove(path)?;
    }
    Ok(())
}

fn write_index(plan: &Plan) -> Result<()> {
    match &plan.index {
        Some((path, text)) => save_atomic(path, |w| Ok(w.write_all(text.as_bytes())?)),
        None => Ok(()),
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::from(error).in_path(path))
        }
        _ => Ok(()),
    }
}

impl Plan {
    /// Every file that will be there.
    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let files = self.files.iter().map(|file| &file.path);
        files.chain(self.index.as_ref().map(|(path, _)| path))
    }

    /// Bytes that will be moved.
    fn work(&self, verify: bool) -> u64 {
        self.tensor_bytes()
            .saturating_mul(if verify { 2 } else { 1 })
    }

    fn tensor_bytes(&self) -> u64 {
        let pieces = self.files.iter().flat_map(|file| &file.pieces);
        pieces.fold(0, |sum, piece| sum.saturating_add(piece.len()))
    }

    fn report(&self, reader: &CheckpointReader, target: &Target) -> Result<Conversion> {
        let is_sharded = self.index.is_some();
        let mut files: Vec<(PathBuf, u64)> = self
            .files
            .iter()
            .map(|file| Ok((file.path.clone(), file.file_len()?)))
            .collect::<Result<_>>()?;
        files.extend(
            self.index
                .as_ref()
                .map(|(path, text)| (path.clone(), text.len() as u64)),
        );
        Ok(Conversion {
            source: reader.format(),
            target: match (target.format, is_sharded) {
                (TargetFormat::SafeTensors, false) => Format::SafeTensors,
                (TargetFormat::SafeTensors, true) => Format::ShardedSafeTensors,
                (TargetFormat::Torch, false) => Format::TorchZip,
                (TargetFormat::Torch, true) => Format::ShardedTorch,
            },
            files,
            tensors: self.files.iter().map(|file| file.expected.len()).sum(),
            tensor_bytes: self.tensor_bytes(),
            cast: self.cast,
            dropped: self.dropped.clone(),
            dropped_metadata: self.dropped_metadata.clone(),
            notes: reader.notes().iter().chain(&self.notes).cloned().collect(),
        })
    }
}
