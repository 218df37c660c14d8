//! Many conversions: every checkpoint below a folder.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use nnx::checkpoint::{ConvertOptions, Format, SNIFF_BYTES, TargetFormat, sniff};
use serde::Serialize;

use super::interrupt::{Interrupt, STATUS};
use super::one::{self, Stop};
use super::report;
use crate::arguments::Convert;
use crate::failure::Failure;
use crate::json;
use crate::outcome::{FAILED, FINE, Outcome};
use crate::path::PathText;

/// What the name of an index ends with.
const INDEX: &str = ".index.json";

/// A checkpoint below the folder, and what becomes of it.
struct Job {
    source: PathBuf,
    target: PathBuf,
}

#[derive(Serialize)]
struct Summary {
    converted: Vec<report::Report>,
    failed: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    source: PathText,
    error: Failure,
}

pub(super) fn run(
    arguments: &Convert,
    out: &Path,
    options: &ConvertOptions,
    interrupt: &Interrupt,
) -> Outcome {
    let jobs = match jobs(&arguments.source, out, options) {
        Ok(jobs) => jobs,
        Err(failure) => return Outcome::failure(&failure, arguments.json),
    };
    let mut summary = Summary {
        converted: Vec::new(),
        failed: Vec::new(),
    };
    let mut text = String::new();
    let mut status = FINE;
    for job in &jobs {
        match one::convert(&job.source, &job.target, options, interrupt) {
            Ok(done) => {
                text.push_str(&report::text(&job.source, &done, options));
                summary
                    .converted
                    .push(report::Report::new(&job.source, &done, options));
            }
            Err(Stop::Failed(error)) => {
                status = FAILED;
                summary.failed.push(Failed {
                    source: PathText::new(&job.source),
                    error,
                });
            }
            Err(Stop::Interrupted(failure)) => {
                return Outcome::failure(&failure, arguments.json).with_status(STATUS);
            }
        }
    }
    let mut outcome = Outcome::new(
        if arguments.json {
            json::object(&summary)
        } else {
            text
        },
        status,
    );
    for failed in &summary.failed {
        outcome = outcome.with_error(&failed.error.message());
    }
    outcome
}

/// The checkpoints below a folder, each with its target.
fn jobs(folder: &Path, out: &Path, options: &ConvertOptions) -> Result<Vec<Job>, Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage("`--out` goes with a folder as source"));
    }
    if inside(out, folder) {
        return Err(Failure::usage(
            "the folder of `--out` lies within the source, where its files would be sources too",
        ));
    }
    let format = options.to.unwrap_or(TargetFormat::SafeTensors);
    let extension = match format {
        TargetFormat::Torch => "pt",
        _ => "safetensors",
    };
    let mut sources = Vec::new();
    collect(folder, &mut sources)?;
    if sources.is_empty() {
        return Err(Failure::new(
            "not_a_checkpoint",
            "there is no checkpoint below the folder",
        )
        .in_path(folder));
    }
    let mut taken: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut jobs = Vec::new();
    for source in sources {
        let relative = source.strip_prefix(folder).unwrap_or(&source);
        let name = relative.to_string_lossy();
        let target = match name.strip_suffix(INDEX) {
            Some(name) => out.join(name).with_extension(extension),
            None => out.join(relative).with_extension(extension),
        };
        if let Some(other) = taken.insert(target.clone(), source.clone()) {
            return Err(Failure::new(
                "name_collision",
                format!(
                    "`{}` and `{}` would both become `{}`; convert one of them by itself",
                    other.display(),
                    source.display(),
                    target.display()
                ),
            ));
        }
        jobs.push(Job { source, target });
    }
    Ok(jobs)
}

/// Whether a path lies in a folder, as far as they exist.
fn inside(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    path.ancestors()
        .find_map(|path| path.canonicalize().ok())
        .is_some_and(|path| path.starts_with(&folder))
}

/// Finds the checkpoints below a folder, in the order of their names. The shards that an index
/// names are no checkpoints of their own. Links are not followed.
fn collect(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new("io", error.to_string()).in_path(folder);
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut shards = Vec::new();
    let mut found = Vec::new();
    for entry in &entries {
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        if kind.is_dir() {
            collect(&path, sources)?;
        } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(INDEX) {
            if let Some(names) = shards_of(&path) {
                shards.extend(names.iter().map(|name| folder.join(name)));
                found.push(path);
            }
        } else if kind.is_file() && is_checkpoint(&path) {
            found.push(path);
        }
    }
    found.retain(|path| !shards.contains(path));
    sources.extend(found);
    Ok(())
}

/// The names of the files that an index names.
fn shards_of(index: &Path) -> Option<Vec<String>> {
    let index: serde_json::Value = serde_json::from_slice(&fs::read(index).ok()?).ok()?;
    let map = index.get("weight_map")?.as_object()?;
    let mut names: Vec<String> = map
        .values()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    names.sort();
    names.dedup();
    Some(names)
}

/// Whether a file begins as a checkpoint does.
fn is_checkpoint(path: &Path) -> bool {
    let mut prefix = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(SNIFF_BYTES as u64).read_to_end(&mut prefix));
    read.is_ok()
        && matches!(
            sniff(&prefix),
            Some(
                Format::TorchZip
                    | Format::TorchLegacy
                    | Format::Tar
                    | Format::Pickle
                    | Format::SafeTensors
            )
        )
}
