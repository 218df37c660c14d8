//! One conversion.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;

use nnx::checkpoint::{
    Conversion, ConvertOptions, ErrorKind, LocalFolder, convert_between, convert_with,
};

use super::{failure, report};
use crate::arguments::{Convert, Distributed};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, STATUS};
use crate::opened::part_of;
use crate::outcome::Outcome;
use crate::progress::{Progress, Unit};
use crate::remote::{Remote, RemoteTarget};
use crate::remote_source::remote_source;

pub(super) fn run(
    arguments: &Convert,
    target: &Path,
    options: &ConvertOptions,
    interrupt: &Interrupt,
) -> Outcome {
    let Distributed { part, tag } = &arguments.distributed;
    let source = match part_of(&arguments.source, *part, tag.as_deref()) {
        Ok(source) => source,
        Err(failure) => return Outcome::failure(&failure, arguments.json),
    };
    match convert(&source, target, options, interrupt) {
        Ok(done) if arguments.json => {
            Outcome::success(report::json(&arguments.source, &done, options))
        }
        Ok(done) => Outcome::success(report::text(&arguments.source, &done, options)),
        Err(Stop::Interrupted(failure)) => {
            Outcome::failure(&failure, arguments.json).with_status(STATUS)
        }
        Err(Stop::Failed(failure)) => Outcome::failure(&failure, arguments.json),
    }
}

/// The reason why there is no result.
pub(super) enum Stop {
    Interrupted(Failure),
    Failed(Failure),
}

/// Converts, with a bar if it takes long.
pub(super) fn convert(
    source: &Path,
    target: &Path,
    options: &ConvertOptions,
    interrupt: &Interrupt,
) -> Result<Conversion, Stop> {
    let bar: RefCell<Option<(Progress, u64)>> = RefCell::new(None);
    let outcome = Ends::new(source, target, options)
        .map_err(Stop::Failed)?
        .convert(options, &mut |progress| {
            let mut bar = bar.borrow_mut();
            let (bar, advanced) = bar.get_or_insert_with(|| {
                (Progress::new(progress.total, Unit::Bytes, "converting"), 0)
            });
            bar.advance(progress.done.saturating_sub(*advanced));
            *advanced = progress.done;
            if interrupt.is_heard() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    outcome.map_err(|error| {
        let is_interrupted = matches!(error.kind(), ErrorKind::Interrupted);
        let failure = failure(error, source);
        if is_interrupted {
            Stop::Interrupted(failure)
        } else {
            Stop::Failed(failure)
        }
    })
}

/// Where a conversion reads from and writes to.
enum Ends<'a> {
    /// Both are on the disk.
    Disk(Cow<'a, Path>, &'a Path),
    /// One of them is not.
    Remote(Remote, RemoteTarget),
}

impl<'a> Ends<'a> {
    fn new(source: &'a Path, target: &'a Path, options: &ConvertOptions) -> Result<Self, Failure> {
        let is_sharded = options.max_shard_size.is_some();
        let remote_target = RemoteTarget::new(target, is_sharded)?;
        match (remote_source(source)?, remote_target) {
            (None, None) => Ok(Self::Disk(crate::hub::local(source)?, target)),
            (Some(remote), Some(target)) => Ok(Self::Remote(remote, target)),
            (Some(remote), None) => {
                let (folder, name) = LocalFolder::for_target(target, is_sharded)?;
                let folder = Box::new(folder);
                Ok(Self::Remote(remote, RemoteTarget { folder, name }))
            }
            (None, Some(target)) => {
                let path = crate::hub::local(source)?;
                let (folder, name) = LocalFolder::for_path(&path, path.is_dir())?;
                let folder = Box::new(folder);
                Ok(Self::Remote(Remote::new(folder, name), target))
            }
        }
    }

    fn convert(
        &self,
        options: &ConvertOptions,
        progress: &mut dyn FnMut(nnx::checkpoint::Progress) -> ControlFlow<()>,
    ) -> nnx::checkpoint::Result<Conversion> {
        match self {
            Self::Disk(source, target) => convert_with(source, target, options, progress),
            Self::Remote(source, target) => convert_between(
                (&*source.folder, source.name()),
                (&*target.folder, target.name.as_deref()),
                options,
                progress,
            ),
        }
    }
}
