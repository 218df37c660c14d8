//! Converts every checkpoint below a folder.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nnx::checkpoint::{
    ConvertOptions, Format, SNIFF_BYTES, TargetFormat, WeightsName, WeightsPart, shards_of, sniff,
};
use serde::Serialize;

use super::one::{self, Stop};
use super::report;
use crate::arguments::Convert;
use crate::failure::Failure;
use crate::interrupt::{Interrupt, STATUS};
use crate::json;
use crate::outcome::{EXIT_ERROR, EXIT_OK, Outcome};
use crate::path::PathText;
use crate::size;

/// The end of the name of an index.
const INDEX: &str = ".index.json";

/// A checkpoint below the folder, and its result.
struct Job {
    source: PathBuf,
    target: PathBuf,
}

/// The contents of the folder.
#[derive(Default)]
struct FolderContents {
    sources: Vec<PathBuf>,
    failed: Vec<FailedConversion>,
    /// Files that are not checkpoints, neither by their contents nor by their names.
    skipped: Vec<PathBuf>,
}

#[derive(Serialize)]
struct BatchReport {
    converted: Vec<report::ConvertReport>,
    failed: Vec<FailedConversion>,
    skipped: Vec<PathText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Serialize)]
struct FailedConversion {
    source: PathText,
    error: Failure,
}

impl FailedConversion {
    fn new(source: &Path, error: Failure) -> Self {
        Self {
            source: PathText::new(source),
            error,
        }
    }
}

pub(super) fn run(
    arguments: &Convert,
    out: &Path,
    options: &ConvertOptions,
    interrupt: &Interrupt,
) -> Outcome {
    let found = match find(&arguments.source, out) {
        Ok(found) => found,
        Err(failure) => return Outcome::failure(&failure, arguments.json),
    };
    let mut summary = BatchReport {
        converted: Vec::new(),
        failed: found.failed,
        skipped: found
            .skipped
            .iter()
            .map(|path| PathText::new(path))
            .collect(),
        error: None,
    };
    let jobs = jobs(
        found.sources,
        &arguments.source,
        out,
        options,
        &mut summary.failed,
    );
    let mut text = String::new();
    for job in &jobs {
        match one::convert(&job.source, &job.target, options, interrupt) {
            Ok(done) => {
                text.push_str(&report::text(&job.source, &done, options));
                summary
                    .converted
                    .push(report::ConvertReport::new(&job.source, &done, options));
            }
            Err(Stop::Failed(error)) => summary
                .failed
                .push(FailedConversion::new(&job.source, error)),
            Err(Stop::Interrupted(_)) => {
                summary.error = Some(Failure::new(
                    "interrupted",
                    format!(
                        "stopped; {} of {} were converted",
                        summary.converted.len(),
                        jobs.len()
                    ),
                ));
                break;
            }
        }
    }
    if !summary.skipped.is_empty() {
        text.push_str(&format!(
            "skipped {}: not checkpoints by contents or name\n",
            size::count(summary.skipped.len(), "file")
        ));
    }
    let status = match (&summary.error, summary.failed.is_empty()) {
        (Some(_), _) => STATUS,
        (None, false) => EXIT_ERROR,
        (None, true) => EXIT_OK,
    };
    let output = if arguments.json {
        json::object(&summary)
    } else {
        text
    };
    let mut outcome = Outcome::new(output, status);
    let failed = summary.failed.iter().map(|failed| &failed.error);
    for error in failed.chain(&summary.error) {
        outcome = outcome.with_error(&error.message());
    }
    outcome
}

/// The contents of a folder that is converted into another folder.
fn find(folder: &Path, out: &Path) -> Result<FolderContents, Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage("`--out` needs a folder as source"));
    }
    if inside(out, folder) {
        return Err(Failure::usage(
            "the folder of `--out` is within the source, so its files would be sources too",
        ));
    }
    let mut found = FolderContents::default();
    found.collect(folder);
    if found.sources.is_empty() && found.failed.is_empty() {
        return Err(
            Failure::new("not_a_checkpoint", "the folder contains no checkpoint").in_path(folder),
        );
    }
    Ok(found)
}

/// The targets of the sources. Sources with the same target fail.
fn jobs(
    sources: Vec<PathBuf>,
    folder: &Path,
    out: &Path,
    options: &ConvertOptions,
    failed: &mut Vec<FailedConversion>,
) -> Vec<Job> {
    let format = options.to.unwrap_or(TargetFormat::SafeTensors);
    let mut by_target: IndexMap<PathBuf, Vec<PathBuf>> = IndexMap::new();
    for source in sources {
        let relative = source.strip_prefix(folder).unwrap_or(&source);
        let target = out.join(target_name(relative, format));
        by_target.entry(target).or_default().push(source);
    }
    let mut jobs = Vec::new();
    for (target, sources) in by_target {
        match <[PathBuf; 1]>::try_from(sources) {
            Ok([source]) => jobs.push(Job { source, target }),
            Err(sources) => {
                for source in sources {
                    let error = Failure::new(
                        "name_collision",
                        format!(
                            "another file has the same target `{}`; convert them one by one",
                            target.display()
                        ),
                    );
                    failed.push(FailedConversion::new(&source, error.in_path(&source)));
                }
            }
        }
    }
    jobs
}

/// The target of a source, below the folder of the targets. A standard name becomes the standard
/// name of the other format, by which loaders find it; another name gets another extension. The
/// files that an index names become one file.
fn target_name(source: &Path, format: TargetFormat) -> PathBuf {
    let extension = match format {
        TargetFormat::Torch => "pt",
        _ => "safetensors",
    };
    let name = source.file_name().unwrap_or_default();
    match name.to_str().and_then(WeightsName::parse) {
        Some(name) => {
            let name = match name.part() {
                WeightsPart::Index => name.whole(),
                _ => name,
            };
            source.with_file_name(name.with_format(format).to_string())
        }
        None => match source.to_string_lossy().strip_suffix(INDEX) {
            Some(name) => Path::new(name).with_extension(extension),
            None => source.with_extension(extension),
        },
    }
}

/// Whether a file has the name of an index.
fn is_index(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    WeightsName::is_index(&name)
}

/// Whether a path is in a folder, as far as both exist.
fn inside(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    path.ancestors()
        .find_map(|path| path.canonicalize().ok())
        .is_some_and(|path| path.starts_with(&folder))
}

impl FolderContents {
    /// Finds the checkpoints below a folder, in the order of their names. The shards that an index
    /// names are not listed as separate checkpoints. Links to files are followed, links to folders
    /// are not.
    fn collect(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let error = Failure::new("io", error.to_string()).in_path(folder);
                self.failed.push(FailedConversion::new(folder, error));
                return;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut shards = HashSet::new();
        let mut files = Vec::new();
        for entry in &entries {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.collect(&path);
            } else if path.is_dir() {
                self.skipped.push(path);
            } else {
                // The conversion reports the errors of an index.
                if is_index(&path) {
                    shards.extend(shards_of(&path).unwrap_or_default());
                }
                files.push(path);
            }
        }
        files.retain(|path| !shards.contains(path));
        for path in files {
            if is_index(&path) || is_meant(&path) {
                self.sources.push(path);
                continue;
            }
            match is_checkpoint(&path) {
                Ok(true) => self.sources.push(path),
                Ok(false) => self.skipped.push(path),
                Err(error) => {
                    let error = Failure::new("io", error.to_string()).in_path(&path);
                    self.failed.push(FailedConversion::new(&path, error));
                }
            }
        }
    }
}

/// Whether a file has the name of a checkpoint. If its contents are something else, such as a
/// pointer that Git LFS left, that is an error to report.
fn is_meant(path: &Path) -> bool {
    TargetFormat::from_extension(path).is_some()
}

/// Whether a file begins as a checkpoint does.
fn is_checkpoint(path: &Path) -> io::Result<bool> {
    if !fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut prefix = Vec::new();
    let file = File::open(path)?;
    file.take(SNIFF_BYTES as u64).read_to_end(&mut prefix)?;
    Ok(matches!(
        sniff(&prefix),
        Some(
            Format::TorchZip
                | Format::TorchLegacy
                | Format::Tar
                | Format::Pickle
                | Format::SafeTensors
        )
    ))
}
