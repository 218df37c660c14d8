//! Rows of times.

use std::fmt::Display;
use std::time::{Duration, Instant};

use crate::Result;

/// How often each row is measured; the fastest time counts, as the others were disturbed.
const RUNS: u32 = 5;

/// Times of several ways to do one thing; the first is what the others are compared with.
pub(crate) struct Table {
    bytes: Option<u64>,
    first: Option<Duration>,
}

impl Table {
    /// A table with its title. `bytes` are those that each row reads.
    pub(crate) fn new(title: impl Display, bytes: Option<u64>) -> Self {
        println!("\n{title}");
        Self { bytes, first: None }
    }

    /// Measures one way, which answers with how much it found.
    ///
    /// # Errors
    /// When the way fails, or finds something else than `expected`.
    pub(crate) fn row(
        &mut self,
        name: &str,
        expected: u64,
        way: impl Fn() -> Result<u64>,
    ) -> Result<()> {
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            let started = Instant::now();
            let found = way()?;
            best = best.min(started.elapsed());
            if found != expected {
                return Err(format!("{name} found {found} instead of {expected}").into());
            }
        }
        let first = *self.first.get_or_insert(best);
        let ratio = best.as_secs_f64() / first.as_secs_f64();
        let milliseconds = best.as_secs_f64() * 1e3;
        print!("  {name:<44} {milliseconds:>9.1} ms {ratio:>7.2} x");
        if let Some(bytes) = self.bytes {
            print!(" {:>6.2} GB/s", bytes as f64 / best.as_secs_f64() / 1e9);
        }
        println!();
        Ok(())
    }
}
