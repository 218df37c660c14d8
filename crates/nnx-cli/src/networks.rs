//! The commands that run a model. Without the feature `net` they exist, and say what they need.

#[cfg(feature = "net")]
pub(crate) mod data;
#[cfg(feature = "net")]
mod evaluate;
#[cfg(feature = "net")]
mod failures;
#[cfg(feature = "net")]
mod generate;
#[cfg(feature = "net")]
pub(crate) mod model;
#[cfg(feature = "net")]
mod nested;
#[cfg(feature = "net")]
mod predict;
#[cfg(feature = "net")]
mod summary;

use crate::arguments::networks::{Evaluate, Generate, Predict, Summary};
use crate::commands::commands;

commands! {
    "net", "networks":
    predict(Predict),
    evaluate(Evaluate),
    generate(Generate),
    summary(Summary),
}
