//! The fuzz bodies as ordinary tests.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test reports by panicking, and prints how many cases it judged"
)]

#[cfg(unix)]
mod memory;
mod properties;
mod smoke;
