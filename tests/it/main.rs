//! Tests across crates, over what the real library wrote.

#![allow(clippy::cast_possible_truncation, reason = "test data is small")]

mod checkpoints;
mod damaged;
mod params;
mod sniff;
mod torch_bytes;
