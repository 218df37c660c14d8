//! The networks of NNx on [candle](candle_core): the same weights, the same numbers.
//!
//! | to | use |
//! |---|---|
//! | build, load, run and save a model | [`NNModel`] |
//! | read what it predicts | [`Prediction`], [`ProbabilitySpec`], [`PredictionResult`] |
//! | evaluate it | [`NNModel::evaluate`], [`Batch`], [`EvaluateOptions`] |
//! | train it with a loop of your own | [`NNModel::train_batch`], [`NNModel::loss_terms`], [`NNModel::score`] |
//! | see its layers and parameters | [`Summary`], [`Parameters`] |
//! | generate text, with the feature `generate` | `GenerativeNNModel`, `GenerateOptions` |
//! | compute a loss, an activation, dropout or random numbers as PyTorch does | [`loss_terms`], [`activate`], [`dropout`], [`Generator`] |
//!
//! The loop of training is in `nnx-train`.

mod activation;
mod batch;
mod device;
mod dropout;
mod error;
mod evaluate_options;
mod freed_memory;
mod frozen;
#[cfg(feature = "generate")]
mod generate;
mod init;
mod inputs;
mod kernels;
mod key_value_cache;
mod linear;
mod loss;
mod mode;
mod model;
mod net;
mod normal;
mod param_builder;
mod parameters;
mod precision;
mod predict;
mod probability;
mod rng;
mod rng_state;
mod svd;
mod transforms;
mod upcast;

pub use activation::activate;
pub use batch::{Batch, BatchOutput};
/// The tensors of this crate's API.
#[doc(no_inline)]
pub use candle_core;
pub use dropout::dropout;
pub use error::{Error, ErrorKind, Result};
pub use evaluate_options::{EvaluateOptions, LabelMetric};
#[cfg(feature = "generate")]
pub use generate::GenerativeNNModel;
#[cfg(feature = "generate")]
pub use generate::options::GenerateOptions;
#[cfg(feature = "generate")]
pub use generate::tokenizer::Tokenizer;
pub use inputs::Inputs;
pub use key_value_cache::KeyValueCache;
pub use loss::{IGNORE_INDEX, LossTerms, NllInput, loss_terms};
pub use mode::{Mode, Trace};
pub use model::NNModel;
pub use model::evaluate::{BatchScore, Evaluation, batch_loss, batch_score};
pub use model::summary::{Summary, SummaryLayer};
pub use net::Net;
/// The differences between a state dict and the parameters of a net.
pub use nnx_checkpoint::{ShapeMismatch, StateDictMismatch};
pub use parameters::Parameters;
pub use predict::Prediction;
pub use probability::{PredictionResult, ProbabilitySpec};
pub use rng::Generator;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
