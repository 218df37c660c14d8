//! The history journal of NNx 0.4.1: the folder `runs/<id>/history`, to which each record is written
//! once, so that a long training does not keep all records in memory or rewrite them.
//!
//! | file | holds |
//! |---|---|
//! | `chunk-<number>.jsonl` | up to `chunk_size` records, one per line; never changed |
//! | `index.jsonl` | one line per chunk: its records, iterations, epochs and sha-256 |
//! | `epochs.jsonl` | one line per epoch: the metrics that a chart shows |
//! | `journal.json` | the manifest: how much of the other files counts; replaced in one step |
//!
//! A run with a journal is opened, saved and listed like any other run:
//! [`NNRun::load`](crate::NNRun::load) gives its last records, [`iter_history`] gives all.
//! The rules are those of Python's module `nnx.history`.

mod chunk;
mod export;
mod file;
mod history;
mod index;
mod lineage;
mod manifest;
mod migrate;
pub(crate) mod reader;
mod records;
mod rows;
mod segments;
mod spec;
mod stats;
mod sync;
mod text;
mod writer;

pub use export::export_history_csv;
pub use history::{History, iter_history};
pub use lineage::Lineage;
pub use migrate::migrate_history;
pub use spec::{HistoryJournal, HistoryJournalBuilder};
pub use writer::JournalWriter;
