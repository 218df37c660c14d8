//! The networks of NNx on [candle](candle_core): the same weights, the same numbers.

mod activation;
mod device;
mod dropout;
mod error;
mod init;
mod linear;
mod model;
mod net;
mod parameters;
mod precision;
mod predict;
mod recipe;
mod rng;
mod widen;

pub use activation::activate;
pub use error::{Error, ErrorKind, Result, ShapeMismatch, StateDictMismatch};
pub use model::NNModel;
pub use net::{Inputs, KeyValueCache, Mode, Net};
pub use parameters::Parameters;
pub use predict::Prediction;
pub use rng::Generator;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
