//! The command that trains. Without the feature `train` it exists, and says what it needs.

#[cfg(feature = "train")]
mod bar;
#[cfg(feature = "train")]
mod config;
#[cfg(feature = "train")]
mod go_on;
#[cfg(feature = "train")]
mod loaders;
#[cfg(feature = "train")]
mod report;
#[cfg(feature = "train")]
mod threads;
#[cfg(feature = "train")]
mod train;

use crate::arguments::training::Train;
use crate::commands::commands;

commands! {
    "train", "training":
    train(Train),
}
