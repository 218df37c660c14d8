//! From `idps.csv` to a journal.

use std::fs;
use std::path::Path;

use nnx_params::NNIterationDataPoint;

use super::manifest::JournalManifest;
use super::reader::JournalReader;
use super::spec::HistoryJournal;
use super::text::record_line;
use super::writer::JournalWriter;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{BEST, RunFolder, runs_folder};
use crate::lock::FileLock;
use crate::records::{committed_epoch, csv_records, is_committed};

/// Moves the history of a run from its `idps.csv` into a journal. The run's id stays.
///
/// The journal is written, read back and published before the file is removed. If a migration was
/// stopped, the next one starts again; if its journal was published already and has the records of
/// the file, the next one removes the file.
///
/// Readers leave out records after the epoch of the checkpoint `last`. With `discard_uncommitted`
/// such records are dropped; without it they are an error.
///
/// # Errors
/// - [`ErrorKind::NoSuchRun`] when there is no `run.yaml`; nothing is created.
/// - [`ErrorKind::Migration`] when the run keeps a journal already, has no `idps.csv`, is being
///   trained, has records that would be dropped, or is given as `best` instead of by its id.
/// - When the file cannot be read, or writing fails; the file is kept then.
pub fn migrate_history(
    id: &str,
    root: impl AsRef<Path>,
    spec: HistoryJournal,
    discard_uncommitted: bool,
) -> Result<()> {
    let root = root.as_ref();
    let folder = RunFolder::new(id, root)?;
    let refused = |what: String| Error::new(ErrorKind::Migration { what }).in_path(&folder.path);
    if id == BEST {
        return Err(refused(
            "expected the id of a run, found `best`, the pointer to the best run".to_owned(),
        ));
    }
    if !folder.run_yaml().is_file() {
        return Err(folder.missing());
    }
    let leases = runs_folder(root).join(".leases");
    fs::create_dir_all(&leases).map_err(|error| Error::from(error).in_path(&leases))?;
    let lease = leases.join(format!("{id}.lock"));
    let lease =
        FileLock::try_exclusive(&lease).map_err(|error| Error::from(error).in_path(&lease))?;
    let Some(_lease) = lease else {
        return Err(refused(format!(
            "run {id} is being trained; migrate its history after the training"
        )));
    };
    let lock = folder.run_lock();
    let _lock = FileLock::exclusive(&lock).map_err(|error| Error::from(error).in_path(&lock))?;
    migrate(&folder, root, spec, discard_uncommitted)
}

fn migrate(folder: &RunFolder, root: &Path, spec: HistoryJournal, discard: bool) -> Result<()> {
    let (id, csv, history) = (&folder.id, folder.idps_csv(), folder.history());
    let refused = |what: String| Error::new(ErrorKind::Migration { what }).in_path(&folder.path);
    if !csv.is_file() {
        return Err(refused(if folder.has_journal() {
            format!("run {id} keeps its history in a journal already")
        } else {
            format!("run {id} has no `idps.csv` to migrate")
        }));
    }
    let mut records = csv_records(folder)?;
    let all = records.len();
    let committed = committed_epoch(folder, root)?;
    records.retain(|record| is_committed(record, committed));
    let beyond = all.saturating_sub(records.len());
    if beyond > 0 && !discard {
        return Err(refused(format!(
            "the history of run {id} has {beyond} records after the epoch of the checkpoint `last`; \
             readers leave them out, but a migration would delete them; discard them explicitly to \
             migrate the others"
        )));
    }
    if folder.has_journal() {
        // An earlier migration was stopped after it had published the journal.
        if !reads_back(JournalReader::open(&history)?, &records)? {
            return Err(refused(format!(
                "run {id} has a history journal and an `idps.csv` that differ; remove one of them"
            )));
        }
        return remove(&csv);
    }
    if fs::symlink_metadata(&history).is_ok() {
        // An earlier migration was stopped before it published the journal.
        fs::remove_dir_all(&history).map_err(|error| Error::from(error).in_path(&history))?;
    }
    let mut writer = JournalWriter::in_folder(history.clone(), spec);
    let written = write(&mut writer, &records).inspect_err(|_| {
        let _ = fs::remove_dir_all(&history);
    });
    written?;
    writer.publish()?;
    remove(&csv)
}

/// Writes the records and reads them back.
fn write(writer: &mut JournalWriter, records: &[NNIterationDataPoint]) -> Result<()> {
    writer.make_folder()?;
    for (position, record) in records.iter().enumerate() {
        writer.append(record.clone())?;
        let next = records.get(position.saturating_add(1));
        let is_last =
            next.is_none_or(|next| next.epoch_idx().as_f64() != record.epoch_idx().as_f64());
        if is_last {
            writer.write_epoch()?;
        }
    }
    writer.flush()?;
    let manifest: JournalManifest = writer.manifest().clone();
    let journal = JournalReader::with_manifest(writer.folder(), manifest)?;
    if reads_back(journal, records)? {
        return Ok(());
    }
    let what = "the migrated journal does not read back as the `idps.csv` that it was made from";
    Err(Error::history_corruption(what).in_path(writer.folder()))
}

/// Whether a journal has exactly these records. They are compared by their lines, because NaN equals
/// NaN in a text.
fn reads_back(journal: JournalReader, records: &[NNIterationDataPoint]) -> Result<bool> {
    let mut expected = records.iter();
    for found in journal.records(None) {
        let found = record_line(&found?);
        let is_same = expected
            .next()
            .is_some_and(|record| record_line(record) == found);
        if !is_same {
            return Ok(false);
        }
    }
    Ok(expected.next().is_none())
}

fn remove(csv: &Path) -> Result<()> {
    fs::remove_file(csv).map_err(|error| Error::from(error).in_path(csv))
}
