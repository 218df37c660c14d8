//! The number of threads to compute with.
//!
//! candle and rayon take it from the environment, before the first computation, and a program can set
//! the environment of another program only. So the command starts itself again.

use std::env;
use std::process::Command;

use crate::failure::Failure;
use crate::outcome::Outcome;

/// The variable that candle and rayon read.
const THREADS: &str = "RAYON_NUM_THREADS";
/// The variable that candle reads first, for a part of its operations.
const OWN: &str = "CANDLE_NUM_THREADS";

/// Whether this process computes with so many threads.
pub(super) fn are_limited_to(threads: usize) -> bool {
    let is_limit = |name| env::var(name).is_ok_and(|text| text == threads.to_string());
    is_limit(THREADS) && (is_limit(OWN) || env::var_os(OWN).is_none())
}

/// Runs the same command with so many threads, in the place of this process where the system can.
///
/// # Errors
/// When the program cannot be started.
pub(super) fn restart(threads: usize) -> Result<Outcome, Failure> {
    let failed = |error: std::io::Error| Failure::new("io", error.to_string());
    let mut command = Command::new(env::current_exe().map_err(failed)?);
    command.args(env::args_os().skip(1));
    command.env(THREADS, threads.to_string()).env_remove(OWN);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        Err(failed(command.exec()))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().map_err(failed)?;
        let status = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(Outcome::new(String::new(), status.unwrap_or(u8::MAX)))
    }
}
