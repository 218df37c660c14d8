//! Tests across crates, over what the real library wrote.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test reports by panicking, and prints how many cases it judged"
)]

mod ascii_folder;
mod cases;
mod casts;
mod checkpoints;
mod convert;
mod damaged;
mod damaged_checkpoints;
mod distributed;
mod docs;
mod evaluation;
mod export;
mod folders;
mod forward_corpus;
mod forward_fresh;
mod forward_transforms;
mod fresh_weights;
mod generation;
mod hub;
mod judged_calls;
#[cfg(target_os = "linux")]
mod opening;
mod params;
mod ranges;
mod reader;
mod run;
mod sniff;
mod storage_numbers;
mod tensors;
mod torch_bytes;
mod torch_corpus;
mod train;
mod values;
