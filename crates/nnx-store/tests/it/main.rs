//! Reading from a server on the loopback interface, and writing to a store in memory.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod faults;
mod requests;
mod server;
mod stores;
