//! Conversion of one kind of checkpoint into another.

mod comparison;
mod job;
mod options;
mod output;
mod plan;
mod report;
mod selection;
mod share;
mod target;
mod verify;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use self::job::Job;
pub use self::options::{ConvertOptions, SharedTensors};
use self::output::Meter;
use self::plan::{FilePlan, Plan};
pub use self::report::{Conversion, Progress};
pub use self::share::{Share, Worker};
use self::target::Target;
use crate::error::{Error, Result};
use crate::source::Folder;
use crate::target_folder::TargetFolder;
use crate::{CheckpointPart, CheckpointReader, Format, LocalFolder, OpenOptions, TargetFormat};

/// Converts a checkpoint: a file of any format, or a folder, into a safetensors file or the file that
/// `torch.save` writes.
///
/// - Names, dtypes, shapes and bytes stay as they are unless an option says otherwise.
///   Values for which the target has no place are an error that lists them, never left out in silence.
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
    let (source, target) = (source.as_ref(), target.as_ref());
    let (reader, opened) = open_part(source, options)?;
    let opened = opened.file_name().unwrap_or_default().to_string_lossy();
    let source = Source {
        reader,
        opened: opened.into_owned(),
        path: source.to_path_buf(),
    };
    let in_target = |error: Error| error.in_path(target);
    let is_sharded = options.max_shard_size.is_some();
    let (folder, name) = LocalFolder::for_target(target, is_sharded).map_err(in_target)?;
    let target = Target::new(&folder, name.as_deref(), &source.opened, options);
    let target = target.map_err(in_target)?;
    run(source, &target, options, progress)
}

/// [`convert_with`], from a file in a folder to a file in another one, wherever they are: on the
/// disk, in a bucket, on the Hub. Without a name, the source is the weights in its folder, and the
/// target is the file of the standard name.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use nnx_checkpoint::{ConvertOptions, LocalFolder, convert_between};
/// # let folder = tempfile::tempdir()?;
/// # let tensor = nnx_checkpoint::Tensor::from_bytes(nnx_checkpoint::Dtype::UInt8, &[2], vec![1, 2])?;
/// # let mut file = std::fs::File::create(folder.path().join("a.safetensors"))?;
/// # nnx_checkpoint::safetensors::write(&mut file, &[("w", &tensor)], None)?;
///
/// let folder = LocalFolder::new(folder.path(), true);
/// let done = convert_between(
///     (&folder, Some("a.safetensors")),
///     (&folder, Some("b.pt")),
///     &ConvertOptions::default(),
///     &mut |_| ControlFlow::Continue(()),
/// )?;
/// assert_eq!(done.tensors, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`convert_with`], and those of the folders.
pub fn convert_between(
    (source, name): (&dyn Folder, Option<&str>),
    (target, target_name): (&dyn TargetFolder, Option<&str>),
    options: &ConvertOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Conversion> {
    let (reader, opened) = CheckpointReader::open_named(source, name, &open_options(options))?;
    let source = Source {
        reader,
        opened,
        path: source.path(name.unwrap_or_default()),
    };
    let target = Target::new(target, target_name, &source.opened, options)
        .map_err(|error| error.in_path(&target.path(target_name.unwrap_or_default())))?;
    run(source, &target, options, progress)
}

/// How the source of a conversion is opened.
fn open_options(options: &ConvertOptions) -> OpenOptions {
    OpenOptions::default()
        .limits(options.limits)
        .verify(options.verify)
        .allow_dangerous_globals(true)
        .nested(options.nested)
        .part(options.part.unwrap_or_default())
}

/// The source of a conversion, open.
struct Source {
    reader: CheckpointReader,
    /// The name of the file that was opened.
    opened: String,
    /// The path by which errors call it.
    path: PathBuf,
}

fn run(
    source: Source,
    target: &Target<'_>,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Conversion> {
    let Source { reader, path, .. } = source;
    let in_source = |error: Error| error.in_path(&path);
    options.share.check(options.max_shard_size)?;
    let plan = plan::plan(&reader, target, options).map_err(in_source)?;
    if !options.allow_empty {
        plan.check_elements(&reader).map_err(in_source)?;
    }
    let conversion = plan
        .report(&reader, target, options.share)
        .map_err(in_source)?;
    let mut job = Job {
        plan: &plan,
        target,
        source: &path,
        options,
        meter: Meter {
            progress: Progress {
                done: 0,
                total: plan.work(options),
            },
            tell: progress,
        },
    };
    job.check_free()?;
    plan.check_sources().map_err(in_source)?;
    // The storages of the plan know where their bytes are; the names and the graph can go.
    drop(reader);
    if options.dry_run {
        if options.share == Share::Index {
            job.check_shards()?;
        }
        return Ok(conversion);
    }
    match options.share {
        Share::Whole => job.write_all()?,
        Share::Worker(_) => job.write_shards()?,
        Share::Index => job.write_index()?,
    }
    Ok(conversion)
}

/// Opens the part of the source that is wanted: of a checkpoint of several processes that has a model
/// and an optimizer the model, unless the options say otherwise.
fn open_part(source: &Path, options: &ConvertOptions) -> Result<(CheckpointReader, PathBuf)> {
    let open = open_options(options);
    let (reader, opened) = CheckpointReader::open_located(source, &open)?;
    let is_distributed = reader.format().is_distributed();
    if options.part.is_some() && !is_distributed {
        return Err(Error::unsupported(
            "a part is taken of a checkpoint of several processes, and the source is none; select \
             its values by their names",
        )
        .in_path(source));
    }
    let names = || {
        let tensors = reader.tensors().iter().map(|entry| entry.name());
        tensors.chain(reader.non_tensors().iter().map(|entry| entry.path()))
    };
    let model = CheckpointPart::Model;
    let left = names().filter(|name| !model.has(name)).count();
    let has_both = left > 0 && names().any(|name| model.has(name));
    if options.part.is_some() || !is_distributed || !has_both {
        return Ok((reader, opened));
    }
    let (mut reader, opened) = CheckpointReader::open_located(source, &open.part(model))?;
    reader.note(format!(
        "the model is converted, and not the {left} values of the optimizer"
    ));
    Ok((reader, opened))
}

impl Plan {
    /// The files that are written by a share of the work.
    fn share(&self, share: Share) -> impl Iterator<Item = &FilePlan> {
        let files = self.files.iter().enumerate();
        files.filter_map(move |(at, file)| share.takes(at).then_some(file))
    }

    /// Checks the sources of the tensors before anything is written: the parts of a tensor that
    /// several processes saved must be there, and match the description in the checkpoint.
    fn check_sources(&self) -> Result<()> {
        let pieces = self.files.iter().flat_map(|file| &file.pieces);
        let mut pieces = pieces.map(|piece| {
            let checked = piece.storage.check_source();
            checked.map_err(|error| error.in_tensor(&piece.label))
        });
        pieces.try_for_each(|checked| checked)
    }

    /// Bytes that will be moved.
    fn work(&self, options: &ConvertOptions) -> u64 {
        let bytes = self.share(options.share).map(FilePlan::tensor_bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        bytes.saturating_mul(if options.verify { 2 } else { 1 })
    }

    fn report(
        &self,
        reader: &CheckpointReader,
        target: &Target<'_>,
        share: Share,
    ) -> Result<Conversion> {
        let is_sharded = self.index.is_some();
        let mut files: Vec<(PathBuf, u64)> = self
            .share(share)
            .map(|file| Ok((file.target.path.clone(), file.file_len()?)))
            .collect::<Result<_>>()?;
        let index = self.index.as_ref().filter(|_| share.has_index());
        files.extend(index.map(|(file, text)| (file.path.clone(), text.len() as u64)));
        let notes = reader.notes().iter().chain(&self.notes).cloned();
        Ok(Conversion {
            source: reader.format(),
            target: match (target.format, is_sharded) {
                (TargetFormat::SafeTensors, false) => Format::SafeTensors,
                (TargetFormat::SafeTensors, true) => Format::ShardedSafeTensors,
                (TargetFormat::Torch, false) => Format::TorchZip,
                (TargetFormat::Torch, true) => Format::ShardedTorch,
            },
            files,
            tensors: self.share(share).map(|file| file.expected.len()).sum(),
            tensor_bytes: self
                .share(share)
                .fold(0, |sum, file| sum.saturating_add(file.tensor_bytes())),
            cast: self.cast,
            dropped: self.dropped.clone(),
            dropped_metadata: self.dropped_metadata.clone(),
            notes: notes.chain(share.note(self.files.len())).collect(),
        })
    }
}

impl FilePlan {
    /// Bytes of the tensors in the file.
    fn tensor_bytes(&self) -> u64 {
        let pieces = self.pieces.iter().map(plan::Piece::len);
        pieces.fold(0, u64::saturating_add)
    }
}
