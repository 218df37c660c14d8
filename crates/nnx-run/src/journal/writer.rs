//! Writing a journal during a training.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use nnx_params::NNIterationDataPoint;

use super::index;
use super::manifest::{self, JournalManifest};
use super::rows;
use super::spec::HistoryJournal;
use super::stats::EpochStats;
use super::sync::{append, flush};
use super::text::{chained, chunk_name, record_line, sha256, sorted_line};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::RunFolder;
use crate::stage::{Durability, flush_folder, replace, replace_text};

/// Writes the journal of one training, with the same bytes as Python. The files of an epoch are
/// flushed to the disk before the manifest that counts them.
///
/// In each epoch, [`append`](Self::append) its records, call [`end_epoch`](Self::end_epoch) and
/// [`publish`](Self::publish), then save the run and its checkpoint `last`. The checkpoint commits the
/// epoch: if the process stops before it is saved, readers leave the epoch out. A call that failed may
/// be repeated.
///
/// ```
/// # use nnx_params::{Activations, Checkpoints, NNModelParams, NNParams, NNTrainParams, NetParams, Nets};
/// use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint};
/// use nnx_run::journal::{JournalWriter, Lineage, iter_history};
/// use nnx_run::{HistoryJournal, NNRun};
///
/// # let net = NNParams::builder(4, 3).activation(Activations::Relu).dropout_prob(0.1).build()?;
/// # let train = NNTrainParams::builder(8).build()?;
/// # let run = NNRun::new(NNModelParams::builder(Nets::FeedFwd).build()?, NetParams::from(net), train)?;
/// # let root = tempfile::tempdir()?;
/// let mut journal = JournalWriter::create(run.id(), &root, HistoryJournal::builder().retention(2).build()?)?;
/// for epoch in 0..3 {
///     let edp = NNEvaluationDataPoint::builder().loss(0.5).build()?;
///     journal.append(NNIterationDataPoint::new(0.01, epoch, epoch, 0, edp))?;
///     journal.end_epoch()?;
///     journal.publish()?;
/// }
/// let run = run.with_history(journal.folder().to_owned());
/// run.save(&root)?;
///
/// let run = NNRun::load(run.id(), &root)?;
/// assert_eq!((run.idps().len(), run.epochs().len()), (2, 3));
/// assert_eq!(iter_history(run.id(), &root, Lineage::Excluded)?.count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JournalWriter {
    folder: PathBuf,
    spec: HistoryJournal,
    /// The next manifest.
    manifest: JournalManifest,
    /// The records that are not in a chunk yet, each with its line.
    pending: VecDeque<(NNIterationDataPoint, Vec<u8>)>,
    stats: EpochStats,
    /// The number of chunks that are flushed to the disk.
    flushed: u64,
    /// Whether the folder was created since the last flush.
    is_new: bool,
    /// The text of the published manifest.
    published: Option<String>,
    /// The text of the manifest before that.
    previous: Option<String>,
}

impl JournalWriter {
    /// A writer for the run of that id, which must not have a journal. Nothing is created before the
    /// first chunk.
    ///
    /// A training must [reserve](crate::NNRun::reserve) the run first, so that no other process writes
    /// it.
    ///
    /// # Errors
    /// [`ErrorKind::RunExists`] when the run has a folder `history` that is not empty; when the id
    /// could lead out of the folder of runs.
    pub fn create(id: &str, root: impl AsRef<Path>, spec: HistoryJournal) -> Result<Self> {
        let folder = RunFolder::new(id, root.as_ref())?;
        let history = folder.history();
        if fs::read_dir(&history).is_ok_and(|mut entries| entries.next().is_some()) {
            let id = folder.id;
            return Err(Error::new(ErrorKind::RunExists { id }).in_path(&history));
        }
        Ok(Self::in_folder(history, spec))
    }

    pub(super) fn in_folder(folder: PathBuf, spec: HistoryJournal) -> Self {
        Self {
            folder,
            spec,
            manifest: JournalManifest::empty(spec.retention() as u64),
            pending: VecDeque::new(),
            stats: EpochStats::new(),
            flushed: 0,
            is_new: false,
            published: None,
            previous: None,
        }
    }

    /// The folder of the journal, for [`NNRun::with_history`](crate::NNRun::with_history).
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the journal is kept.
    pub fn spec(&self) -> &HistoryJournal {
        &self.spec
    }

    /// Adds a record. A full chunk is written when the next record is added.
    ///
    /// # Errors
    /// When writing fails.
    pub fn append(&mut self, record: NNIterationDataPoint) -> Result<()> {
        // Not before: the last record may still be replaced.
        if self.pending.len() >= self.spec.chunk() {
            self.write_chunk()?;
        }
        self.stats.add(&record);
        let line = record_line(&record);
        self.pending.push_back((record, line));
        Ok(())
    }

    /// Replaces the last record, normally by the same one with the epoch's validation.
    ///
    /// # Errors
    /// When no record was appended since the last epoch ended.
    pub fn replace_last(&mut self, record: NNIterationDataPoint) -> Result<()> {
        let line = record_line(&record);
        let last = self.pending.back_mut().ok_or_else(|| {
            Error::malformed("expected a record of the epoch to replace, found none")
        })?;
        *last = (record, line);
        Ok(())
    }

    /// Writes the remaining records and the epoch's row, and flushes all files to the disk. Does
    /// nothing if no record was added since the last call.
    ///
    /// # Errors
    /// When writing fails.
    pub fn end_epoch(&mut self) -> Result<()> {
        self.write_epoch()?;
        if self.flushed < self.manifest.chunks {
            self.flush()?;
        }
        Ok(())
    }

    /// [`end_epoch`](Self::end_epoch) without the flush.
    pub(super) fn write_epoch(&mut self) -> Result<()> {
        let Some((last, _)) = self.pending.back() else {
            return Ok(());
        };
        let line = sorted_line(&self.stats.row(last));
        // The row first: if a chunk cannot be written, the last record is still pending, and the call
        // can be repeated. The row is overwritten then, because bytes after those that the manifest
        // counts do not count.
        self.make_folder()?;
        append(&rows::path(&self.folder), self.manifest.epochs_bytes, &line)?;
        while !self.pending.is_empty() {
            self.write_chunk()?;
        }
        let manifest = &mut self.manifest;
        manifest.epochs = manifest.epochs.saturating_add(1);
        manifest.epochs_bytes = manifest.epochs_bytes.saturating_add(line.len() as u64);
        Ok(())
    }

    /// Flushes the files that were written since the last call.
    pub(super) fn flush(&mut self) -> Result<()> {
        for number in self.flushed..self.manifest.chunks {
            flush(&self.folder.join(chunk_name(number)))?;
        }
        if self.manifest.chunks > 0 {
            flush(&index::path(&self.folder))?;
            flush(&rows::path(&self.folder))?;
        }
        flush_folder(&self.folder);
        if let Some(run) = self.folder.parent().filter(|_| self.is_new) {
            flush_folder(run);
            self.is_new = false;
        }
        self.flushed = self.manifest.chunks;
        Ok(())
    }

    /// Publishes the manifest: from now on readers see what was written, up to the epoch of the
    /// checkpoint `last`.
    ///
    /// # Errors
    /// When writing fails.
    pub fn publish(&mut self) -> Result<()> {
        self.make_folder()?;
        let text = self.manifest.text(&self.spec);
        replace_text(&manifest::path(&self.folder), &text)?;
        flush_folder(&self.folder);
        self.previous = self.published.replace(text);
        Ok(())
    }

    /// Publishes the previous manifest again, after the checkpoint of an epoch could not be written. If
    /// there was none, this publishes the manifest of an empty journal.
    ///
    /// # Errors
    /// When writing fails.
    pub fn rollback(&mut self) -> Result<()> {
        self.make_folder()?;
        let empty = || JournalManifest::empty(0).text(&self.spec);
        let text = self.previous.clone().unwrap_or_else(empty);
        replace_text(&manifest::path(&self.folder), &text)
    }

    /// The next manifest.
    pub(super) fn manifest(&self) -> &JournalManifest {
        &self.manifest
    }

    pub(super) fn make_folder(&mut self) -> Result<()> {
        if !self.folder.is_dir() {
            fs::create_dir_all(&self.folder)
                .map_err(|error| Error::from(error).in_path(&self.folder))?;
            self.is_new = true;
        }
        Ok(())
    }

    /// Writes the first pending records as a chunk.
    fn write_chunk(&mut self) -> Result<()> {
        self.make_folder()?;
        let length = self.pending.len().min(self.spec.chunk());
        let records = || self.pending.iter().take(length);
        let lines: Vec<&[u8]> = records().map(|(_, line)| line.as_slice()).collect();
        let bytes = lines.concat();
        let (Some((first, _)), Some((last, _))) = (records().next(), records().next_back()) else {
            return Ok(());
        };
        let number = self.manifest.chunks;
        let path = self.folder.join(chunk_name(number));
        replace(&path, Durability::None, |out| Ok(out.write_all(&bytes)?))?;
        let entry = index::entry(number, length, first, last, sha256(&bytes));
        let line = sorted_line(&entry);
        append(&index::path(&self.folder), self.manifest.index_bytes, &line)?;
        let manifest = &mut self.manifest;
        manifest.index_chain = chained(&manifest.index_chain, &line);
        manifest.index_bytes = manifest.index_bytes.saturating_add(line.len() as u64);
        manifest.records = manifest.records.saturating_add(length as u64);
        manifest.chunks = number.saturating_add(1);
        self.pending.drain(..length);
        Ok(())
    }
}
