//! `nnx convert`: converts one checkpoint, or a folder of them, into another format.

mod batch;
mod one;
mod report;

use std::path::Path;

use nnx::checkpoint::{ConvertOptions, Error, ErrorKind, Share, SharedTensors};

use crate::arguments::Convert;
use crate::failure::{Failure, TARGET_EXISTS};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

pub(crate) fn run(arguments: &Convert) -> Outcome {
    let targets = [&arguments.target, &arguments.out];
    if targets
        .into_iter()
        .flatten()
        .any(|path| crate::hub::is_remote(path))
    {
        let what = "a conversion does not write to the Hub; `nnx push` publishes what it wrote";
        return Outcome::failure(&Failure::usage(what), arguments.json);
    }
    if arguments.out.is_some()
        && [Some(&arguments.source), arguments.out.as_ref()]
            .into_iter()
            .flatten()
            .any(|path| crate::remote::store_url(path).is_some())
    {
        let what = "`--out` converts a folder on the disk into another one; give URLs one by one";
        return Outcome::failure(&Failure::usage(what), arguments.json);
    }
    if arguments.out.is_some() && arguments.distributed.tag.is_some() {
        let what = "`--out` converts every checkpoint below a folder, and `--tag` one of a folder; \
                    give SOURCE and TARGET for that one";
        return Outcome::failure(&Failure::usage(what), arguments.json);
    }
    let interrupt = Interrupt::listen();
    let options = options(arguments);
    match (&arguments.target, &arguments.out) {
        (_, Some(out)) => batch::run(arguments, out, &options, &interrupt),
        (Some(target), None) => one::run(arguments, target, &options, &interrupt),
        (None, None) => Outcome::failure(
            &Failure::usage("expected a target after the source, or `--out`"),
            arguments.json,
        ),
    }
}

fn options(arguments: &Convert) -> ConvertOptions {
    let mut options = ConvertOptions::default()
        .drop_non_tensors(arguments.drop_non_tensors)
        .allow_dangerous_globals(arguments.allow_dangerous_globals)
        .allow_empty(arguments.allow_empty)
        .compact(arguments.compact)
        .overwrite(arguments.overwrite)
        .verify(!arguments.no_verify)
        .dry_run(arguments.dry_run)
        .nested(arguments.nested)
        .tied(if arguments.alias {
            SharedTensors::Aliased
        } else {
            SharedTensors::Kept
        });
    options.to = arguments.to;
    options.part = arguments.distributed.part;
    options.select.clone_from(&arguments.select);
    options.strip_prefix.clone_from(&arguments.strip_prefix);
    options.rename.clone_from(&arguments.rename);
    options.metadata.clone_from(&arguments.metadata);
    options.dtype = arguments.dtype;
    options.max_shard_size = arguments.max_shard_size;
    options.share = match arguments.worker {
        Some(worker) => Share::Worker(worker),
        None if arguments.index_only => Share::Index,
        None => Share::Whole,
    };
    options
}

/// Adds to an error the options of the command that would resolve it.
fn failure(error: Error, source: &Path) -> Failure {
    let advice = match error.kind() {
        ErrorKind::TargetExists => Some(TARGET_EXISTS.to_owned()),
        ErrorKind::NoTensors { .. } => Some(format!(
            "{}; give `--allow-empty` to write it anyway",
            error.kind()
        )),
        ErrorKind::NotHeld { paths, .. } => {
            let what = error.kind();
            let select = match paths.as_slice() {
                [] => String::new(),
                [path] => format!("`--select {path}` to convert only the values below it, or "),
                paths => {
                    let paths: Vec<String> = paths
                        .iter()
                        .map(|path| format!("`--select {path}`"))
                        .collect();
                    format!(
                        "one of {} to convert only the values below it, or ",
                        paths.join(", ")
                    )
                }
            };
            Some(format!(
                "{what}; give {select}`--drop-non-tensors` to leave them out"
            ))
        }
        ErrorKind::DangerousTarget { .. } => Some(format!(
            "{}; convert to one, or give `--allow-dangerous-globals` to write the name",
            error.kind()
        )),
        _ => None,
    };
    let failure = match advice {
        Some(what) => Failure::from(error).saying(what),
        None => Failure::from(error),
    };
    failure.in_path(source)
}
