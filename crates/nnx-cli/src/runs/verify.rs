//! `nnx runs verify`: checks that the files of a run are complete and belong together.

mod checkpoint;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use nnx::run::{CheckpointStore, CheckpointTag, Error, ErrorKind, NNRun};
use serde::Serialize;

use self::checkpoint::Checked;
use super::resolve_run;
use crate::arguments::runs::One;
use crate::failure::Failure;
use crate::json;
use crate::outcome::{EXIT_ERROR, EXIT_FINDINGS, EXIT_OK, Outcome};
use crate::terminal::Page;

/// The verdict on one part of a run. The highest one counts: if something is wrong, the run is
/// wrong, even if other parts could not be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Sound,
    Unjudged,
    Wrong,
}

#[derive(Debug, Serialize)]
struct Verification {
    folder: String,
    verdict: Verdict,
    run: CheckedRun,
    metadata: Metadata,
    checkpoints: Vec<Checked>,
    /// Files with the extension of a checkpoint, but without the name of one. They were not read.
    other_files: Vec<String>,
}

/// The configuration and the history.
#[derive(Debug, Serialize)]
struct CheckedRun {
    #[serde(flatten)]
    part: Part,
    /// Warnings that are not errors, such as records of an epoch that was not finished.
    warnings: Vec<Failure>,
}

/// The metadata, which are optional.
#[derive(Debug, Serialize)]
struct Metadata {
    #[serde(flatten)]
    part: Part,
    /// Whether the file exists.
    present: bool,
}

/// The verdict on a part, and the reason if it is not sound.
#[derive(Debug, Serialize)]
struct Part {
    verdict: Verdict,
    error: Option<Failure>,
}

pub(super) fn run(arguments: &One) -> Result<Outcome, Failure> {
    let root = &arguments.runs_dir.root;
    let folder = resolve_run::folder(&arguments.id, root)?;
    let run = configuration(&folder, root);
    let store = CheckpointStore::new(&folder, root)?;
    let mut tags: BTreeSet<CheckpointTag> = store.tags()?.into_iter().collect();
    tags.extend(store.manifest_tags()?);
    tags.extend(store.state_tags()?);
    let checkpoints = tags.iter().map(|tag| Checked::new(&store, tag));
    let checkpoints: Vec<Checked> = checkpoints.collect();
    let metadata = metadata(&folder, root);
    let verdicts = checkpoints.iter().map(|checked| checked.part.verdict);
    let verdict = verdicts.fold(run.part.verdict.max(metadata.part.verdict), Ord::max);
    let verification = Verification {
        folder,
        verdict,
        run,
        metadata,
        checkpoints,
        other_files: store.other_files()?,
    };
    let text = if arguments.runs_dir.json {
        json::object(&verification)
    } else {
        text::render(&verification, &Page::for_stdout())
    };
    let status = match verdict {
        Verdict::Sound => EXIT_OK,
        Verdict::Wrong => EXIT_FINDINGS,
        Verdict::Unjudged => EXIT_ERROR,
    };
    Ok(Outcome::new(text, status))
}

/// Reads configuration and history, and computes the id.
fn configuration(folder: &str, root: &Path) -> CheckedRun {
    let run = NNRun::verify(folder, root).map_err(judged);
    let warnings = run.as_ref().map(|run| {
        let of_history = run.warnings().filter(|warning| warning.is_of_history());
        of_history.map(Failure::from).collect()
    });
    CheckedRun {
        warnings: warnings.unwrap_or_default(),
        part: Part::from_result(run.and_then(|run| check_id(&run, folder))),
    }
}

fn check_id(run: &NNRun, folder: &str) -> Result<(), (Verdict, Failure)> {
    if run.id() == folder {
        return Ok(());
    }
    let what = format!(
        "the configuration is that of the run `{}`, found it in the folder `{folder}`",
        run.id()
    );
    // The id of a newer version may depend on keys that this one does not know.
    let is_newer = match (run.full_state(), run.state()) {
        (Ok(full), Ok(known)) => full != known,
        _ => true,
    };
    let verdict = if is_newer {
        Verdict::Unjudged
    } else {
        Verdict::Wrong
    };
    Err((verdict, Failure::new("other_id", what)))
}

/// Reads the metadata. A run with metadata that cannot be read is loaded without them.
fn metadata(folder: &str, root: &Path) -> Metadata {
    let metadata = NNRun::read_metadata(folder, root);
    Metadata {
        present: !matches!(metadata, Ok(None)),
        part: Part::from_result(metadata.map(drop).map_err(judged)),
    }
}

/// An error that contradicts the format, or the other files, is a finding. An error of the
/// operating system is not.
fn judged(error: Error) -> (Verdict, Failure) {
    use nnx::checkpoint::ErrorKind as Checkpoint;
    let verdict = match error.kind() {
        ErrorKind::Unsupported { .. } | ErrorKind::LimitExceeded { .. } | ErrorKind::Io(_) => {
            Verdict::Unjudged
        }
        ErrorKind::Checkpoint(error) => match error.kind() {
            Checkpoint::Unsupported { .. }
            | Checkpoint::LimitExceeded { .. }
            | Checkpoint::Io(_) => Verdict::Unjudged,
            _ => Verdict::Wrong,
        },
        _ => Verdict::Wrong,
    };
    (verdict, error.into())
}

impl Part {
    fn from_result(result: Result<(), (Verdict, Failure)>) -> Self {
        match result {
            Ok(()) => Self {
                verdict: Verdict::Sound,
                error: None,
            },
            Err((verdict, error)) => Self {
                verdict,
                error: Some(error),
            },
        }
    }
}
