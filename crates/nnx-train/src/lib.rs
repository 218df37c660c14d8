//! Training as NNx does it, on [candle](candle_core): the same orders, masks, rates and updates as
//! PyTorch's, in runs that both languages resume.
//!
//! | to | use |
//! |---|---|
//! | train a model | [`Training`], [`Trained`] |
//! | train a model of your own | [`Model`] |
//! | go on from a checkpoint | [`Training`] with `resume_from_run_id` in its parameters, [`ResumeStatus`] |
//! | see and end a training | [`Callback`], [`EarlyStopping`], [`LRMonitor`], [`ModelCheckpoint`], [`Progress`] |
//! | keep a state with the checkpoints | [`Component`] |
//! | train with a loss of your own | [`Objective`], [`LossTerm`], [`SupervisedObjective`], [`CausalLMTask`] |
//! | declare a metric of your own | [`register_metric`], [`Metric`], [`MetricAccumulator`], [`MetricBatch`] |
//! | take the steps yourself | [`TrainStep`], [`EvalStep`], [`default_train_step`], [`MoeStep`] |
//! | name what an optimizer updates, and hold its gradients | [`Parameter`], [`Gradients`] |
//! | update parameters | [`Optimizer`], [`ParameterGroup`], [`clip_grad_norm`] |
//! | change learning rates | [`Scheduler`], [`Horizon`], [`Plateau`] |
//! | give batches of rows in random order | [`DataLoader`] over a [`Dataset`], [`Split`] |
//! | read samples from files and folders | [`DataFile`], [`CsvTable`], [`SampleOptions`] |
//! | have samples in memory | [`TensorDataset`], [`PixelDataset`], [`TokenWindows`], [`GraphDataset`] |
//! | give batches of your own | [`Loader`], [`Pass`] |

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test reports by panicking")
)]

mod before_resume;
mod callback;
mod clip;
mod commit;
mod component;
mod component_registry;
mod context;
mod data;
mod early_stopping;
mod epoch_summary;
mod epochs;
mod error;
mod eval_step;
mod gradients;
mod history;
mod live;
mod lm_task;
mod loader;
mod loss_term;
mod lr_monitor;
mod metric;
mod metric_inputs;
mod metric_registry;
mod metric_set;
mod model;
mod model_checkpoint;
mod moe_step;
mod monitor;
mod named_optimizer;
mod objective;
mod objective_step;
mod optimizer;
mod parameter;
mod phase_tag;
mod precision;
mod preflight;
mod progress;
mod resume;
mod resume_source;
mod resume_status;
mod rng_streams;
mod scheduler;
mod scheduler_clock;
mod session;
mod settings;
mod supervised_objective;
mod train_step;
mod trained;
mod training;
mod update_engine;
mod update_event;

pub use callback::{Callback, EachEpoch};
pub use clip::{clip_grad_norm, vector_norm};
pub use component::{Component, ComponentSpec, ComponentVersion};
pub use context::Context;
pub use data::csv_header::{Header, HeaderNote};
pub use data::csv_table::CsvTable;
pub use data::data_file::DataFile;
pub use data::dataset::Dataset;
pub use data::graph::GraphDataset;
pub use data::loader::{DataLoader, DataLoaderBuilder};
pub use data::pixels::PixelDataset;
pub use data::sample_options::SampleOptions;
pub use data::samples::Samples;
pub use data::split::{Split, random_split};
pub use data::subset::Subset;
pub use data::tensors::TensorDataset;
pub use data::tokens::TokenWindows;
pub use early_stopping::{EarlyStopping, RecordField};
pub use error::{Error, ErrorKind, Result};
pub use eval_step::{EvalContext, EvalStep};
pub use gradients::Gradients;
pub use lm_task::{Alignment, CausalLMEval, CausalLMObjective, CausalLMTask};
pub use loader::{Loader, Pass};
pub use loss_term::LossTerm;
pub use lr_monitor::LRMonitor;
pub use metric::register_metric;
pub use metric_registry::{Metric, MetricAccumulator, MetricBatch, MetricInput};
pub use model::Model;
pub use model_checkpoint::ModelCheckpoint;
pub use moe_step::MoeStep;
pub use monitor::MonitorTracker;
pub use named_optimizer::{NamedOptimizer, Optimizers};
pub use objective::{NonFinite, Objective, ObjectiveContext, ObjectiveResult};
pub use optimizer::Optimizer;
pub use optimizer::group::ParameterGroup;
pub use parameter::Parameter;
pub use phase_tag::phase_tag;
pub use progress::Progress;
pub use resume_status::{ResumeStatus, StartMode};
pub use scheduler::Scheduler;
pub use scheduler::horizon::Horizon;
pub use scheduler::plateau::Plateau;
pub use supervised_objective::SupervisedObjective;
pub use train_step::{StepContext, TrainStep, default_train_step};
pub use trained::Trained;
pub use training::Training;
pub use update_event::UpdateEvent;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
