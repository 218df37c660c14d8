//! The runs of NNx on disk: history, checkpoints and training state, shared with Python.
//!
//! A run that Python trained opens here with all of it, and Python opens, checks and goes on from a
//! run that was saved here. Processes of both may work on one run at a time.
//!
//! | to | use |
//! |---|---|
//! | open, save and find runs | [`NNRun`], [`RunSummary`], [`RunWarning`] |
//! | keep a long history in a journal, and go over it | [`HistoryJournal`], [`journal`] |
//! | read the history by epochs | [`NNRun::epochs`], [`EpochMetrics`] |
//! | open, save and check the checkpoints of a run | [`CheckpointStore`], [`CheckpointTag`] |
//! | see which files belong together | [`Manifest`], [`CheckpointStore::digests`], [`TrainingStateFile`] |
//! | look into a training state, or make one | [`TrainingState`], [`OptimizerState`] |
//! | read and write the texts alone | [`yaml`], [`history`] |
//!
//! Nothing in a file is executed, nothing panics on a damaged one, and what a file may ask for is
//! bounded ([`limits`]). Reading creates nothing: a run, a tag or a file that is not there is told
//! so and left so.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test reports by panicking")
)]

mod best;
mod error;
pub mod history;
pub mod journal;
mod layout;
pub mod limits;
mod lock;
mod manifest;
mod run;
mod stage;
mod store;
mod summary;
mod tag;
mod training_state;
pub mod yaml;

pub use best::BestMetric;
pub use error::{Error, ErrorKind, Result};
pub use journal::HistoryJournal;
pub use manifest::Manifest;
pub use run::{EpochMetrics, NNRun, RunLease, RunWarning};
pub use store::{CheckpointStore, SaveStep, TrainingStateFile, TrainingStateRole};
pub use summary::RunSummary;
pub use tag::CheckpointTag;
pub use training_state::{
    Algorithm, Counters, Data, GeneratorState, Optimizer, OptimizerGroup, OptimizerParameter,
    OptimizerState, RngState, TrainingState,
};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
