//! Writing a journal while a training goes on.

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
use crate::run::NNRun;
use crate::stage::{Durability, flush_folder, replace, replace_text};

/// Writes the journal of one training: the same bytes as Python's, all of an epoch flushed to the disk
/// before the manifest that counts them.
///
/// Each epoch, [`append`](Self::append) its records, [`end_epoch`](Self::end_epoch),
/// [`publish`](Self::publish), then save the run and its checkpoint `last`, which commits the epoch:
/// where the process stops before, readers leave the epoch out. A failed call may be repeated.
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
/// let mut journal = JournalWriter::create(&run, &root, HistoryJournal::new(2)?)?;
/// for epoch in 0..3 {
///     let edp = NNEvaluationDataPoint::builder().loss(0.5).build()?;
///     journal.append(NNIterationDataPoint::new(0.01, epoch, epoch, 0, edp))?;
///     journal.end_epoch()?;
///     journal.publish()?;
/// }
/// run.with_history(journal.folder().to_owned()).save(&root)?;
///
/// # let id = std::fs::read_dir(root.path().join("runs"))?.filter_map(|it| it.ok()?.file_name().into_string().ok()).find(|it| it.len() == 32).unwrap();
/// let run = NNRun::load(&id, &root)?;
/// assert_eq!((run.idps().len(), run.epochs().len()), (2, 3));
/// assert_eq!(iter_history(&id, &root, Lineage::Excluded)?.count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JournalWriter {
    folder: PathBuf,
    spec: HistoryJournal,
    /// What the next manifest says.
    manifest: JournalManifest,
    /// The records that wait for their chunk, each with its line.
    pending: VecDeque<(NNIterationDataPoint, Vec<u8>)>,
    stats: EpochStats,
    /// Chunks that are flushed to the disk.
    flushed: u64,
    /// Whether the folder was made since the last flush.
    is_new: bool,
    published: Option<String>,
    previous: Option<String>,
}

impl JournalWriter {
    /// A writer for a run that has no journal yet. Nothing is created before the first chunk.
    ///
    /// Whoever trains [reserves](NNRun::reserve) the run before, so that nobody else writes it.
    ///
    /// # Errors
    /// [`ErrorKind::RunExists`] when the run has a folder `history` that is not empty.
    pub fn create(run: &NNRun, root: impl AsRef<Path>, spec: HistoryJournal) -> Result<Self> {
        let folder = RunFolder::new(run.id(), root.as_ref())?;
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

    /// The folder of the journal, for [`NNRun::with_history`].
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the journal is kept.
    pub fn spec(&self) -> &HistoryJournal {
        &self.spec
    }

    /// Takes a record; a chunk is written once it is full and a record follows it.
    ///
    /// # Errors
    /// When writing fails.
    pub fn append(&mut self, record: NNIterationDataPoint) -> Result<()> {
        // The last record may be replaced until another one follows.
        if self.pending.len() >= self.spec.chunk() {
            self.write_chunk()?;
        }
        self.stats.add(&record);
        let line = record_line(&record);
        self.pending.push_back((record, line));
        Ok(())
    }

    /// Puts another record in the place of the last one: the same with the epoch's validation.
    ///
    /// # Errors
    /// When no record was appended since the last epoch ended.
    pub fn replace_last(&mut self, record: NNIterationDataPoint) -> Result<()> {
        let line = record_line(&record);
        let last = self.pending.back_mut().ok_or_else(|| {
            Error::malformed("expected a record of the epoch to be replaced, found none")
        })?;
        *last = (record, line);
        Ok(())
    }

    /// Writes what waits, and the epoch's row, and flushes all files to the disk. Without a record
    /// since the last call it does nothing.
    ///
    /// # Errors
    /// When writing fails.
    pub fn end_epoch(&mut self) -> Result<()> {
        self.write_epoch()?;
        match self.flushed < self.manifest.chunks {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// [`end_epoch`](Self::end_epoch) without the flush.
    pub(super) fn write_epoch(&mut self) -> Result<()> {
        let Some((last, _)) = self.pending.back() else {
            return Ok(());
        };
        let line = sorted_line(&self.stats.row(last));
        // The row first: what stands behind the manifest's bytes does not count, and a call that
        // fails below leaves the last record waiting, so that it can be repeated.
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

    /// Flushes what was written since the last time.
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

    /// Puts the manifest into its place: from now on readers see what was written, up to the epoch
    /// of the checkpoint `last`.
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

    /// Publishes the manifest before the last one again, for an epoch whose checkpoint could not be
    /// written; that of an empty journal where it was the first.
    ///
    /// # Errors
    /// When writing fails.
    pub fn rollback(&mut self) -> Result<()> {
        self.make_folder()?;
        let empty = || JournalManifest::empty(0).text(&self.spec);
        let text = self.previous.clone().unwrap_or_else(empty);
        replace_text(&manifest::path(&self.folder), &text)
    }

    /// What the next manifest says.
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

    /// Writes the first records that wait as a chunk.
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
