//! A progress bar for long work.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time after which a bar is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// The unit that a bar counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Bytes,
    Files,
}

/// Counts work. If standard error is a terminal, a bar is shown once the work has taken a second.
/// It disappears when the work is done.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    /// Whether the decision is final: the bar is shown, or will never be.
    settled: AtomicBool,
}

impl Progress {
    /// Work of a known size.
    pub(crate) fn new(total: u64, unit: Unit, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = match unit {
            Unit::Bytes => {
                "{msg} [{wide_bar}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            }
            Unit::Files => "{msg} [{wide_bar}] {pos} of {len}, {eta} left",
        };
        // The template is valid. If it were not, only the look of the bar would change.
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

    /// Calls a function that prints on standard error, above the bar if it is shown.
    #[cfg(feature = "hub")]
    pub(crate) fn beside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Adds to the count.
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
