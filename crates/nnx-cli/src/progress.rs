//! A bar for work that takes its time.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long work may take before it is worth a bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a bar counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Bytes,
    Files,
}

/// Counts work; shows a bar on standard error once the work has taken a second, if that is a
/// terminal. The bar is gone when the work is done.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    /// Whether there will be no change any more: the bar is shown, or never will be.
    settled: AtomicBool,
}

impl Progress {
    /// Work of a size known beforehand.
    pub(crate) fn of(total: u64, unit: Unit, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = match unit {
            Unit::Bytes => {
                "{msg} [{wide_bar}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            }
            Unit::Files => "{msg} [{wide_bar}] {pos} of {len}, {eta} left",
        };
        // The template is sound; without it the bar would look otherwise, no more.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what);
        Self {
            bar,
            began: Instant::now(),
            settled: AtomicBool::new(!io::stderr().is_terminal()),
        }
    }

    /// Does what prints on standard error, above the bar where it is shown.
    #[cfg(feature = "hub")]
    pub(crate) fn beside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Counts work that was done.
    pub(crate) fn advance(&self, amount: u64) {
        self.bar.inc(amount);
        if !self.settled.load(Ordering::Relaxed)
            && self.began.elapsed() >= PATIENCE
            && !self.settled.swap(true, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
