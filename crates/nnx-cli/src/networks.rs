//! The commands that run a model. Without the feature `net` they exist, and say what they need.

#[cfg(feature = "net")]
mod array;
#[cfg(feature = "net")]
mod csv_file;
#[cfg(feature = "net")]
mod data;
#[cfg(feature = "net")]
mod evaluate;
#[cfg(feature = "net")]
mod failures;
#[cfg(feature = "net")]
mod generate;
#[cfg(feature = "net")]
mod model;
#[cfg(feature = "net")]
mod nested;
#[cfg(feature = "net")]
mod npy;
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
