//! The runs of NNx on disk: history, checkpoints and training state, shared with Python.
//!
//! This crate reads all of a run that Python trained, and Python reads, verifies and resumes a run
//! that was saved here. Processes of both can work on one run at the same time.
//!
//! | to | use |
//! |---|---|
//! | read, save and find runs | [`NNRun`], [`RunSummary`], [`RunWarning`] |
//! | keep a long history in a journal, and iterate over it | [`HistoryJournal`], [`journal`] |
//! | read the history by epochs | [`NNRun::epochs`], [`EpochMetrics`] |
//! | read, save and verify the checkpoints of a run | [`CheckpointStore`], [`CheckpointTag`] |
//! | see which files belong together | [`Manifest`], [`CheckpointStore::digests`], [`TrainingStateFile`] |
//! | inspect or make a training state | [`TrainingState`], [`OptimizerState`] |
//! | read and write YAML and CSV texts | [`yaml`], [`history`] |
//!
//! Nothing in a file is executed, a damaged file causes an error and not a panic, and [`limits`] bound
//! the memory that a file can make this crate use. Reading never creates a file or a folder.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test reports by panicking")
)]

mod best_metric;
mod best_run;
mod epochs;
mod error;
pub mod history;
mod ids;
pub mod journal;
mod layout;
mod lease;
pub mod limits;
mod lock;
mod manifest;
mod metadata;
mod pointer;
mod records;
mod run;
mod save;
mod stage;
mod store;
mod summary;
mod tag;
mod training_state;
mod warning;
pub mod yaml;

pub use best_metric::{BestMetric, ComparableMetric, comparable_metric, is_unavailable};
pub use epochs::EpochMetrics;
pub use error::{Error, ErrorKind, Result};
pub use journal::HistoryJournal;
pub use lease::RunLease;
pub use manifest::Manifest;
pub use metadata::program_metadata;
pub use run::NNRun;
pub use run::builder::NNRunBuilder;
pub use store::CheckpointStore;
pub use store::states::{TrainingStateFile, TrainingStateRole};
pub use store::step::SaveStep;
pub use summary::RunSummary;
pub use tag::CheckpointTag;
pub use training_state::TrainingState;
pub use training_state::counters::Counters;
pub use training_state::data::Data;
pub use training_state::optimizer::algorithm::{Algorithm, Optimizer};
pub use training_state::optimizer::settings::GroupSettings;
pub use training_state::optimizer::{OptimizerGroup, OptimizerParameter, OptimizerState};
pub use training_state::rng::{GeneratorState, RngState};
pub use warning::RunWarning;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
