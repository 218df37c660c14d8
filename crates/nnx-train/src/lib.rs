//! Training as NNx does it, on [candle](candle_core): the same orders, masks, rates and updates as
//! PyTorch's, in runs that both languages resume.
//!
//! | to | use |
//! |---|---|
//! | name what an optimizer updates, and hold its gradients | [`Parameter`], [`Gradients`] |
//! | give batches | [`Loader`], [`Pass`] |

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test reports by panicking")
)]

mod error;
mod gradients;
mod loader;
mod parameter;

pub use error::{Error, ErrorKind, Result};
pub use gradients::Gradients;
pub use loader::{Loader, Pass};
pub use parameter::Parameter;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
