//! Fuzz bodies over `nnx-checkpoint`, and over the texts of `nnx-run`.
//!
//! A body takes any bytes and returns, or panics when a promise is broken. None of them is content
//! with "it did not panic": a file that was read is written and read again, and must be the same.
//!
//! The bodies run three ways: as ordinary tests with a fixed number of rounds, by the mutator of
//! this crate for as long as one likes (`cargo xtask fuzz`), and under libFuzzer
//! (`cargo xtask fuzz --libfuzzer`, with a nightly toolchain and cargo-fuzz).

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a body reports a broken promise by panicking"
)]

mod body;
mod build;
mod campaign;
mod checkpoint;
mod convert;
mod dictionary;
mod distributed;
mod limits;
mod mutate;
mod pickle;
mod random;
mod reader;
mod remote;
mod run;
mod safetensors;
mod same;
mod seeds;
mod sniff;
mod supply;
mod torch;
mod wrap;
mod write;
mod zip;

pub use body::{BODIES, Body};
pub use campaign::{Campaign, regressions};
pub use checkpoint::checkpoint;
pub use convert::convert;
pub use distributed::distributed;
pub use pickle::pickle;
pub use reader::reader;
pub use remote::remote;
pub use run::{history, yaml};
pub use safetensors::safetensors;
pub use seeds::{fixtures, seeds};
pub use sniff::sniff;
pub use torch::torch;
pub use write::{graph, state_dict, write};
pub use zip::zip;
