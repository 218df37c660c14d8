//! The failures that are tried again, and the wait before that.
//!
//! Three loops use this: `Client::send` for a request that may be repeated, the download of a file,
//! which counts anew whenever bytes arrive, and the commit, which may be repeated only after the
//! repository was searched for it.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::setters::setters;

/// Retry policy: the number of attempts and the waits between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// Attempts in all. Default: 5.
    pub attempts: u32,
    /// The wait after the first failure; it doubles with each further failure. Default: half a second.
    pub first_wait: Duration,
    /// The longest wait that the Hub may ask for; if it asks for a longer one, the error says so.
    /// Default: one minute.
    pub max_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_millis(500),
            max_wait: Duration::from_secs(60),
        }
    }
}

impl Retry {
    setters! {
        attempts(attempts: u32) = attempts;
        first_wait(wait: Duration) = wait;
        max_wait(wait: Duration) = wait;
    }

    /// Waits after a transient failure, before the next attempt, and notes what failed.
    ///
    /// # Errors
    /// The failure itself when it is permanent, when it was the last attempt, or when the wait would
    /// be too long.
    pub(crate) fn backoff(
        &self,
        failure: Failure,
        failures: u32,
        note: impl FnOnce(&str),
    ) -> Result<()> {
        let (error, asked) = match failure {
            Failure::Permanent(error) => return Err(error),
            Failure::Transient(error, asked) => (error, asked),
        };
        // A server that asks for no wait would otherwise get all attempts at once.
        let wait = self.wait(failures).max(asked.unwrap_or_default());
        if failures >= self.attempts || wait > self.max_wait {
            return Err(error);
        }
        note(&format!("{error}; trying again"));
        std::thread::sleep(wait);
        Ok(())
    }

    /// The wait after that many failures.
    fn wait(&self, failures: u32) -> Duration {
        let factor = 1 << failures.saturating_sub(1).min(6);
        self.first_wait.saturating_mul(factor).min(self.max_wait)
    }
}

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another attempt may succeed, after the wait that the Hub asked for.
    Transient(Error, Option<Duration>),
    /// Another attempt would fail as well.
    Permanent(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Permanent(error)
    }
}

impl Failure {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Transient(error, _) | Self::Permanent(error) => error,
        }
    }
}
