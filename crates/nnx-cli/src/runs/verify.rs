//! `nnx runs verify`: whether the files of a run are whole and belong together.

use std::collections::BTreeSet;
use std::path::Path;

use nnx::run::{CheckpointStore, CheckpointTag, Error, ErrorKind, NNRun};
use serde::Serialize;

use super::found;
use crate::arguments::runs::One;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;
use crate::outcome::{FAILED, FINE, FOUND, Outcome};
use crate::table::{Side, Table};
use crate::terminal::{BOLD, GREEN, Page, RED, YELLOW};

/// What was found of one part of a run; the highest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Sound,
    Wrong,
    Unjudged,
}

#[derive(Debug, Serialize)]
struct Verification {
    folder: String,
    verdict: Verdict,
    run: Part,
    checkpoints: Vec<Checked>,
}

/// The configuration and the history.
#[derive(Debug, Serialize)]
struct Part {
    verdict: Verdict,
    error: Option<Failure>,
}

#[derive(Debug, Serialize)]
struct Checked {
    tag: String,
    #[serde(flatten)]
    part: Part,
    /// Whether a manifest vouches for the bytes of the files.
    manifest: bool,
    generation: Option<i64>,
    /// The files whose digests were compared.
    files: Vec<String>,
}

pub(super) fn run(arguments: &One) -> Result<Outcome, Failure> {
    let root = &arguments.place.root;
    let folder = found::folder(&arguments.id, root)?;
    let run = Part::of(configuration(&folder, root));
    let store = CheckpointStore::new(&folder, root)?;
    let mut tags: BTreeSet<CheckpointTag> = store.tags()?.into_iter().collect();
    tags.extend(store.manifest_tags()?);
    let checkpoints: Vec<Checked> = tags.iter().map(|tag| checkpoint(&store, tag)).collect();
    let verdicts = checkpoints.iter().map(|checked| checked.part.verdict);
    let verdict = verdicts.fold(run.verdict, Ord::max);
    let verification = Verification {
        folder,
        verdict,
        run,
        checkpoints,
    };
    let text = match arguments.place.json {
        true => json::object(&verification),
        false => text(&verification, &Page::of_stdout()),
    };
    let status = match verdict {
        Verdict::Sound => FINE,
        Verdict::Wrong => FOUND,
        Verdict::Unjudged => FAILED,
    };
    Ok(Outcome::new(text, status))
}

/// Reads configuration and history, and computes the id.
fn configuration(folder: &str, root: &Path) -> Result<(), (Verdict, Failure)> {
    let run = NNRun::verify(folder, root).map_err(judged)?;
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
    let verdict = match is_newer {
        true => Verdict::Unjudged,
        false => Verdict::Wrong,
    };
    Err((verdict, Failure::new("other_id", what)))
}

fn checkpoint(store: &CheckpointStore, tag: &CheckpointTag) -> Checked {
    let manifest = store.verify(tag);
    // A manifest that is there is told of, also where it is wrong.
    let has_manifest = !matches!(manifest, Ok(None));
    let (manifest, wrong) = match manifest {
        Ok(manifest) => (manifest, None),
        Err(error) => (None, Some(error)),
    };
    let read = || match store.load_with_training_state(tag)? {
        (Some(_), _) => Ok(None),
        (None, _) => Ok(Some(Failure::new(
            "not_found",
            "the checkpoint is not there",
        ))),
    };
    let result = match wrong {
        Some(error) => Err(judged(error)),
        None => match read() {
            Ok(None) => Ok(()),
            Ok(Some(failure)) => Err((Verdict::Wrong, failure)),
            Err(error) => Err(judged(error)),
        },
    };
    let files = manifest.iter().flat_map(|manifest| manifest.files());
    let files = files.map(|(name, _)| name.to_owned()).collect();
    let generation = manifest.as_ref().and_then(|manifest| manifest.generation());
    Checked {
        tag: tag.to_string(),
        part: Part::of(result),
        manifest: has_manifest,
        generation: generation.and_then(|generation| generation.try_into().ok()),
        files,
    }
}

/// An error that contradicts the format, or the other files, is a finding; one that kept us from
/// looking is none.
fn judged(error: Error) -> (Verdict, Failure) {
    use nnx::checkpoint::ErrorKind as Checkpoint;
    let verdict = match error.kind() {
        ErrorKind::Unsupported { .. } | ErrorKind::Limit { .. } | ErrorKind::Io(_) => {
            Verdict::Unjudged
        }
        ErrorKind::Checkpoint(error) => match error.kind() {
            Checkpoint::Unsupported { .. } | Checkpoint::Limit { .. } | Checkpoint::Io(_) => {
                Verdict::Unjudged
            }
            _ => Verdict::Wrong,
        },
        _ => Verdict::Wrong,
    };
    (verdict, error.into())
}

impl Part {
    fn of(result: Result<(), (Verdict, Failure)>) -> Self {
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

fn text(verification: &Verification, page: &Page) -> String {
    let mut table = Table::new(&[
        ("Part", Side::Left),
        ("Verdict", Side::Left),
        ("Save", Side::Right),
        ("Checked", Side::Left),
    ]);
    let mut add = |name: String, part: &Part, save: String, checked: &str| {
        let checked = match part.error {
            Some(_) => "",
            None => checked,
        };
        table.push([
            name,
            word(part.verdict).to_owned(),
            save,
            checked.to_owned(),
        ]);
        if let Some(error) = &part.error {
            let style = match part.verdict {
                Verdict::Unjudged => YELLOW,
                _ => RED,
            };
            table.below(page.paint(style, &escaped(&error.message())));
        }
    };
    add(
        "run".to_owned(),
        &verification.run,
        String::new(),
        "configuration, id and history",
    );
    for checkpoint in &verification.checkpoints {
        let generation = checkpoint.generation.map(|number| number.to_string());
        let checked = match checkpoint.files.len() {
            0 => "read; no manifest to compare its bytes with".to_owned(),
            1 => "digest of 1 file".to_owned(),
            more => format!("digests of {more} files"),
        };
        add(
            format!("checkpoint {}", checkpoint.tag),
            &checkpoint.part,
            generation.unwrap_or_default(),
            &checked,
        );
    }
    let style = match verification.verdict {
        Verdict::Sound => GREEN,
        Verdict::Wrong => RED,
        Verdict::Unjudged => YELLOW,
    };
    format!(
        "{}: {}\n\n{}",
        page.paint(BOLD, &escaped(&verification.folder)),
        page.paint(style, word(verification.verdict)),
        table.render(page)
    )
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Sound => "sound",
        Verdict::Wrong => "wrong",
        Verdict::Unjudged => "unjudged",
    }
}
