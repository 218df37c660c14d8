//! The networks of NNx on [candle](candle_core): the same weights, the same numbers.

mod activation;
mod batch;
mod device;
mod dropout;
mod error;
#[cfg(feature = "generate")]
mod generate;
mod init;
mod linear;
mod loss;
mod model;
mod net;
mod parameters;
mod precision;
mod predict;
mod probability;
mod recipe;
mod rng;
mod widen;

pub use activation::activate;
pub use batch::Batch;
/// The tensors of this crate's API.
#[doc(no_inline)]
pub use candle_core;
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "generate")]
pub use generate::{Generation, GenerativeNNModel, Tokenizer};
pub use loss::{IGNORE_INDEX, LossTerms, NllInput, loss_terms};
pub use model::{Evaluation, NNModel, Summary, SummaryLayer};
pub use net::{Inputs, KeyValueCache, Mode, Net, Trace};
/// What keeps a state dict from fitting a net.
pub use nnx_checkpoint::{ShapeMismatch, StateDictMismatch};
pub use parameters::Parameters;
pub use predict::Prediction;
pub use probability::{PredictionResult, ProbabilitySpec};
pub use rng::Generator;
