//! The checkpoints of a run, with the digests of their files.

use nnx::run::{BestMetric, CheckpointStore, CheckpointTag};
use serde::Serialize;

use crate::escape::escaped;
use crate::failure::Failure;
use crate::json::JsonCount;
use crate::runs::metrics::number;
use crate::runs::monitor::{BestPart, best_text};
use crate::size;
use crate::table::{Side, Table};

#[derive(Debug, Serialize)]
pub(super) struct CheckpointPart {
    tag: String,
    /// The number of saves; `None` without a manifest.
    generation: Option<i64>,
    training_state: bool,
    #[serde(flatten)]
    content: CheckpointContent,
    files: Vec<FilePart>,
}

/// The contents of the checkpoint, or the reason why it cannot be read. Its files are listed in
/// both cases.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum CheckpointContent {
    Read {
        epoch: JsonCount,
        best: Option<BestPart>,
        #[serde(skip)]
        shown: Option<BestMetric>,
    },
    Failed {
        error: Failure,
    },
}

#[derive(Debug, Serialize)]
struct FilePart {
    name: String,
    bytes: u64,
    sha256: String,
}

pub(super) fn all(store: &CheckpointStore) -> Result<Vec<CheckpointPart>, Failure> {
    store.tags()?.iter().map(|tag| part(store, tag)).collect()
}

fn part(store: &CheckpointStore, tag: &CheckpointTag) -> Result<CheckpointPart, Failure> {
    let content = match store.load(tag) {
        Ok(Some(checkpoint)) => {
            let best = BestMetric::from_record(&checkpoint.idp);
            CheckpointContent::Read {
                epoch: JsonCount(checkpoint.idp.epoch_idx().as_f64()),
                best: best.as_ref().map(BestPart::new),
                shown: best,
            }
        }
        Ok(None) => CheckpointContent::Failed {
            error: Failure::new("not_found", "the checkpoint vanished while it was read"),
        },
        Err(error) => CheckpointContent::Failed {
            error: error.into(),
        },
    };
    // `nnx runs verify` reports the errors of a manifest.
    let manifest = store.resume_point(tag).ok().flatten();
    let generation = manifest.and_then(|manifest| manifest.generation());
    let folder = store.path(tag);
    let folder = folder.parent();
    let files: Vec<FilePart> = store
        .digests(tag)?
        .into_iter()
        .map(|(name, sha256)| {
            let path = folder.map(|folder| folder.join(&name));
            let bytes = path.and_then(|path| path.metadata().ok());
            FilePart {
                bytes: bytes.map_or(0, |metadata| metadata.len()),
                name,
                sha256,
            }
        })
        .collect();
    Ok(CheckpointPart {
        tag: tag.to_string(),
        generation: generation.and_then(|generation| generation.try_into().ok()),
        training_state: files.iter().any(|file| file.name.contains(".pt.opt")),
        content,
        files,
    })
}

/// The checkpoints by their tags.
pub(super) fn table(checkpoints: &[CheckpointPart]) -> Table {
    let mut table = Table::new(&[
        ("Checkpoint", Side::Left),
        ("Epoch", Side::Right),
        ("Metric", Side::Left),
        ("Save", Side::Right),
        ("Training state", Side::Left),
    ]);
    for checkpoint in checkpoints {
        let (epoch, metric) = match &checkpoint.content {
            CheckpointContent::Read { epoch, shown, .. } => {
                let metric = shown.as_ref().map(best_text);
                (number(epoch.0), metric.unwrap_or_default())
            }
            CheckpointContent::Failed { .. } => (String::new(), String::new()),
        };
        let generation = checkpoint.generation.map(|number| number.to_string());
        let state = if checkpoint.training_state {
            "yes"
        } else {
            "no"
        };
        table.push([
            checkpoint.tag.clone(),
            epoch,
            metric,
            generation.unwrap_or_default(),
            state.to_owned(),
        ]);
        if let CheckpointContent::Failed { error } = &checkpoint.content {
            table.below(format!("not valid: {}", escaped(&error.message())));
        }
    }
    table
}

/// Their files with the digests.
pub(super) fn files_table(checkpoints: &[CheckpointPart]) -> Table {
    let mut table = Table::new(&[
        ("File", Side::Left),
        ("Size", Side::Right),
        ("SHA-256", Side::Left),
    ]);
    for file in checkpoints.iter().flat_map(|checkpoint| &checkpoint.files) {
        table.push([
            file.name.clone(),
            size::bytes(file.bytes),
            file.sha256.clone(),
        ]);
    }
    table
}
