//! Runs the command and compares what it prints with golden files and with the real library.

#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reports by panicking"
)]

mod cases;
mod charts;
mod docs;
mod golden;
#[cfg(all(feature = "hub", feature = "net"))]
mod hub;
mod kill;
#[cfg(feature = "net")]
mod networks;
mod sidecars;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "train")]
mod train;
#[cfg(not(feature = "net"))]
mod without_networks;
mod without_runs;
#[cfg(not(feature = "store"))]
mod without_store;
#[cfg(not(feature = "train"))]
mod without_training;
mod workers;
