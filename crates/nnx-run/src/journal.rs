//! The history journal of NNx 0.4.1: the folder `runs/<id>/history`, in which each record is
//! written once, so that a long training neither holds nor rewrites all of them.
//!
//! | file | holds |
//! |---|---|
//! | `chunk-<number>.jsonl` | up to `chunk_size` records, one a line; never changed |
//! | `index.jsonl` | one line a chunk: its records, iterations, epochs and sha-256 |
//! | `epochs.jsonl` | one line an epoch: what a chart shows of it |
//! | `journal.json` | how much of the others counts; replaced in one step |
//!
//! A run whose training keeps a journal is opened, saved and listed as any other:
//! [`NNRun::load`](crate::NNRun::load) gives the last records, [`iter_history`] all of them.
//! The rules are those of the module `nnx.history`.

mod chunk;
mod export;
mod file;
mod history;
mod index;
mod lineage;
mod manifest;
mod migrate;
mod reader;
mod records;
mod rows;
mod spec;
mod stats;
mod sync;
mod text;
mod writer;

pub use export::export_history_csv;
pub use history::{History, Lineage, iter_history};
pub use migrate::migrate_history;
pub use spec::HistoryJournal;
pub use writer::JournalWriter;

pub(crate) use reader::JournalReader;
pub(crate) use rows::rows;
