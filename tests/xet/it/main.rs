//! Transfers by way of Xet: what is sent, what comes back, and what comes of faults.

#![allow(clippy::unwrap_used, reason = "tests")]

mod desk;
mod faults;
mod killed;
mod transfers;
