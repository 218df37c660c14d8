//! Rows of times.

use std::time::{Duration, Instant};

use crate::Result;

/// How often each way is measured.
const RUNS: u32 = 5;

/// A way to do something, which answers with how much it found.
type Way<'a> = Box<dyn FnMut() -> Result<u64> + 'a>;

/// One thing to do, our way and others.
pub(crate) struct Row<'a> {
    what: &'a str,
    expected: u64,
    ours: Way<'a>,
    others: Vec<Other<'a>>,
}

/// Another way to do the same, for comparison.
struct Other<'a> {
    name: &'a str,
    way: Way<'a>,
    /// The ratio that ours is to stay at or below.
    target: Option<f64>,
}

impl<'a> Row<'a> {
    /// Our way to do something; every way must find `expected`.
    pub(crate) fn new(
        what: &'a str,
        expected: u64,
        ours: impl FnMut() -> Result<u64> + 'a,
    ) -> Self {
        Self {
            what,
            expected,
            ours: Box::new(ours),
            others: Vec::new(),
        }
    }

    /// Another way, and the ratio that ours is to stay at or below.
    pub(crate) fn beside(
        mut self,
        name: &'a str,
        target: Option<f64>,
        way: impl FnMut() -> Result<u64> + 'a,
    ) -> Self {
        self.others.push(Other {
            name,
            way: Box::new(way),
            target,
        });
        self
    }

    /// Measures all ways in turns and prints a line for each comparison.
    ///
    /// # Errors
    /// When a way fails, or finds something else.
    pub(crate) fn run(mut self) -> Result<Duration> {
        let mut ours = Duration::MAX;
        let mut others = vec![Duration::MAX; self.others.len()];
        for _ in 0..RUNS {
            ours = ours.min(measured(self.what, self.expected, &mut self.ours)?);
            for (other, best) in self.others.iter_mut().zip(&mut others) {
                *best = (*best).min(measured(other.name, self.expected, &mut other.way)?);
            }
        }
        for (other, best) in self.others.iter().zip(others) {
            line(self.what, ours, other.name, best, other.target);
        }
        Ok(ours)
    }
}

fn measured(name: &str, expected: u64, way: &mut Way<'_>) -> Result<Duration> {
    let started = Instant::now();
    let found = way()?;
    let took = started.elapsed();
    if found != expected {
        return Err(format!("{name} found {found} instead of {expected}").into());
    }
    Ok(took)
}

/// Prints one comparison.
pub(crate) fn line(what: &str, ours: Duration, name: &str, theirs: Duration, target: Option<f64>) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let target = match target {
        None => String::new(),
        Some(target) if ratio <= target => format!("≤ {target}: met"),
        Some(target) => format!("≤ {target}: missed"),
    };
    println!(
        "| {what} | {:.1} ms | {name}: {:.1} ms | {ratio:.2} | {target} |",
        ours.as_secs_f64() * 1e3,
        theirs.as_secs_f64() * 1e3
    );
}
