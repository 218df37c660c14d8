//! Times of reading beside those of other crates: `cargo xtask bench`.
//!
//! Each table comes from one run over one file, which this workspace writes; a ratio is the time of
//! a row by the time of `nnx-checkpoint` in that run. The files are in the system's cache.

#![expect(
    clippy::print_stdout,
    reason = "a benchmark's result is what it prints"
)]

mod file;
mod opening;
#[cfg(feature = "peers")]
mod peers;
mod reading;
mod resident;
mod table;

use std::error::Error;

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    opening::run(folder.path())?;
    reading::run(folder.path())
}
