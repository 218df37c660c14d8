//! The runs that contribute to a history, and the epochs that each contributes.

use std::collections::HashSet;
use std::path::Path;

use nnx_params::python_text::repr;
use nnx_params::{Checkpoints, State, Value};

use super::lineage::Lineage;
use super::reader::JournalReader;
use crate::error::{Error, Result, shown};
use crate::layout::{BEST, RunFolder, read_text};
use crate::limits::MAX_YAML_BYTES;
use crate::metadata;
use crate::records::{committed_epoch, csv_records, is_committed};
use crate::store::CheckpointStore;
use crate::tag::CheckpointTag;
use crate::yaml::from_yaml;

/// How a training started, as `metadata.yaml` records it.
const MODES: [&str; 3] = ["fresh", "stateful", "weights_only"];

/// The records that one run contributes.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) folder: RunFolder,
    /// The last epoch that counts; `None` if all epochs count.
    pub(super) committed: Option<f64>,
    /// The first epoch that another run contributes.
    pub(super) until: Option<f64>,
}

/// The run and the checkpoint that a run resumed.
struct Parent {
    id: String,
    checkpoint: String,
    /// The epoch of that checkpoint at that time, if it was recorded.
    epoch: Option<f64>,
}

/// The runs that contribute, the earliest last, and warnings about unknown origins.
pub(super) fn plan(id: &str, root: &Path, lineage: Lineage) -> Result<(Vec<Segment>, Vec<String>)> {
    let folder = RunFolder::new(id, root)?;
    if !folder.path.is_dir() {
        return Err(folder.missing());
    }
    let committed = committed_epoch(&folder, root)?;
    let mut next = Some(Segment {
        folder,
        committed,
        until: None,
    });
    let (mut segments, mut warnings, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    while let Some(segment) = next.take() {
        seen.insert(segment.folder.id.clone());
        if lineage == Lineage::Included
            && let Some(parent) = parent_of(&segment.folder)?
            && !seen.contains(&parent.id)
        {
            match before(&segment, parent, root)? {
                (parent, None) => next = parent,
                (parent, Some(warning)) => {
                    next = parent;
                    warnings.push(warning);
                }
            }
        }
        segments.push(segment);
    }
    Ok((segments, warnings))
}

/// The run that a run resumed.
fn parent_of(folder: &RunFolder) -> Result<Option<Parent>> {
    // NNx treats metadata that it cannot read as absent.
    let metadata = metadata::read(folder).ok().flatten().unwrap_or_default();
    if let Some(status) = status(&metadata) {
        return Ok(status
            .filter(|parent| parent.is_resumed)
            .map(|it| it.parent));
    }
    let path = folder.run_yaml();
    let text = read_text(&path, "bytes of YAML", MAX_YAML_BYTES)?;
    let text = text.ok_or_else(|| folder.missing())?;
    let Value::Map(run) = from_yaml(&text).map_err(|error| error.in_path(&path))? else {
        return Err(Error::malformed("expected a mapping, found another value").in_path(&path));
    };
    let sections = ["trainer", "train"].map(|key| run.get(key).and_then(Value::as_map));
    let found = sections.into_iter().flatten().find_map(|section| {
        let id = section.get("parent_run_id").filter(|id| !id.is_none())?;
        Some(Parent {
            id: text_of(id),
            checkpoint: checkpoint_of(section.get("parent_checkpoint")),
            epoch: None,
        })
    });
    Ok(found)
}

struct ResumeStatus {
    parent: Parent,
    is_resumed: bool,
}

/// How a training started, as the metadata record it. The outer `None` means that it is not recorded
/// in the expected form, the inner one that it names no run.
fn status(metadata: &State) -> Option<Option<ResumeStatus>> {
    let status = metadata.get("resume")?.as_map()?;
    let mode = status.get("mode")?.as_str()?;
    let epoch = match status.get("source_epoch") {
        None | Some(Value::None) => None,
        Some(Value::Int(epoch)) if *epoch >= 0 => Some(*epoch as f64),
        Some(_) => return None,
    };
    let is_list = |key| match status.get(key) {
        Some(Value::Bool(true)) => false,
        Some(Value::Int(int)) => *int == 0,
        Some(Value::Float(float)) => *float == 0.0,
        _ => true,
    };
    if !MODES.contains(&mode) || !is_list("restored_components") || !is_list("fresh_components") {
        return None;
    }
    let id = status.get("source_run_id").filter(|id| !id.is_none());
    Some(id.map(|id| ResumeStatus {
        parent: Parent {
            id: text_of(id),
            checkpoint: checkpoint_of(status.get("source_checkpoint")),
            epoch,
        },
        is_resumed: mode != "fresh",
    }))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        other => repr(other),
    }
}

fn checkpoint_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::None) => "last".to_owned(),
        Some(Value::Str(text)) if text.is_empty() => "last".to_owned(),
        Some(value) => text_of(value),
    }
}

/// The records that the parent of a run contributes, if any, and a warning about unknown origins.
fn before(
    child: &Segment,
    parent: Parent,
    root: &Path,
) -> Result<(Option<Segment>, Option<String>)> {
    let id = &child.folder.id;
    let starts = |why: String| (None, Some(format!("{why}; the lineage starts at run {id}")));
    let name = shown(&parent.id);
    if parent.id == BEST {
        return Ok(starts(format!(
            "run {id} resumed the pointer `runs/best`, which may name another run now"
        )));
    }
    let folder = RunFolder::new(&parent.id, root)?;
    if !folder.run_yaml().is_file() {
        return Ok(starts(format!(
            "run {id} resumed run {name}, which no longer exists"
        )));
    }
    // Without a checkpoint `last` nothing says which records count; the child resumed from one that
    // did, so all up to the child's first epoch are taken.
    let committed = committed_epoch(&folder, root).unwrap_or(Some(-1.0));
    let is_lost = committed == Some(-1.0);
    let committed = committed.filter(|_| !is_lost);
    let checkpoint_epoch = || {
        if is_lost {
            return None;
        }
        epoch_of(&folder, &parent.checkpoint, root, committed)
    };
    let resumed = parent.epoch.or_else(checkpoint_epoch);
    let first = first_epoch(child)?;
    let warning = match (resumed, first) {
        (Some(_), _) => None,
        (None, Some(first)) => Some(format!(
            "the checkpoint that run {id} resumed, or the checkpoint `last` of run {name}, cannot be \
             read; the lineage has the records of run {name} before epoch {first}, the first one of \
             run {id}"
        )),
        (None, None) => {
            return Ok(starts(format!(
                "the epoch of run {name} that run {id} resumed is unknown: the checkpoint cannot be \
                 read, and run {id} has no record"
            )));
        }
    };
    let bounds = [resumed.map(|epoch| epoch + 1.0), first, child.until];
    let until = bounds.into_iter().flatten().reduce(f64::min);
    let segment = Segment {
        folder,
        committed,
        until,
    };
    Ok((Some(segment), warning))
}

/// The epoch of a checkpoint that a run can resume, if it can be read.
fn epoch_of(
    folder: &RunFolder,
    checkpoint: &str,
    root: &Path,
    committed: Option<f64>,
) -> Option<f64> {
    if let Some(committed) = committed.filter(|_| checkpoint == "last") {
        return (committed >= 0.0).then_some(committed);
    }
    let is_named = || {
        let (name, epoch) = checkpoint.rsplit_once("_e")?;
        let is_number = !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit());
        (!name.is_empty() && is_number).then_some(())
    };
    if checkpoint.parse::<Checkpoints>().is_err() {
        is_named()?;
    }
    let tag: CheckpointTag = checkpoint.parse().ok()?;
    let store = CheckpointStore::new(&folder.id, root).ok()?;
    let checkpoint = store.load(&tag).ok()??;
    Some(checkpoint.idp.epoch_idx().as_f64())
}

/// The epoch of the first record of a run, if it counts.
fn first_epoch(segment: &Segment) -> Result<Option<f64>> {
    let (folder, committed) = (&segment.folder, segment.committed);
    if folder.has_journal() {
        return Ok(JournalReader::open(&folder.history())?.first_epoch(committed));
    }
    let records = csv_records(folder).unwrap_or_default();
    let first = records.first();
    let first = first.filter(|record| is_committed(record, committed));
    Ok(first.map(|record| record.epoch_idx().as_f64()))
}
