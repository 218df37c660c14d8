//! How far a training is.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use nnx::chart::six_digits;
use nnx::params::{NNEvaluationDataPoint, NNIterationDataPoint};
use nnx::train::Progress;

/// How often the text beside the bar changes.
const REFRESH: Duration = Duration::from_millis(100);

/// The bar of a terminal, with the result of the last batch.
const TEMPLATE: &str = "{msg} [{wide_bar}] {pos} of {len} steps, {speed}, {eta} left";
/// The columns that this bar needs.
const WIDE: u16 = 100;
/// The same in a terminal of fewer columns: the text is cut where the line ends.
const NARROW: &str = "{pos}/{len}, {eta} left; {wide_msg}";
/// The same where the number of steps is not known.
const ENDLESS: &str = "{pos} steps, {speed}; {wide_msg}";

/// Shows on standard error how far a training is: a bar if that is a terminal, otherwise one line
/// after each epoch.
#[derive(Debug)]
pub(super) struct Display {
    kind: Kind,
    /// The steps of all epochs, where that number is known.
    total: Option<u64>,
    done: u64,
    began: Instant,
    /// The steps before this epoch, and when it began.
    epoch: (u64, Instant),
    refreshed: Option<Instant>,
}

#[derive(Debug)]
enum Kind {
    Quiet,
    Bar(ProgressBar),
    Lines,
}

impl Display {
    pub(super) fn new(quiet: bool) -> Self {
        let kind = if quiet {
            Kind::Quiet
        } else if io::stderr().is_terminal() {
            Kind::Bar(ProgressBar::hidden())
        } else {
            Kind::Lines
        };
        let now = Instant::now();
        Self {
            kind,
            total: None,
            done: 0,
            began: now,
            epoch: (0, now),
            refreshed: None,
        }
    }

    /// The remaining time, at the speed so far.
    fn left(&self) -> Option<String> {
        let left = self
            .total?
            .checked_sub(self.done)
            .filter(|left| *left > 0)?;
        let seconds = self.began.elapsed().as_secs_f64() / self.done.max(1) as f64 * left as f64;
        let duration = Duration::try_from_secs_f64(seconds).ok()?;
        Some(format!("{} left", HumanDuration(duration)))
    }
}

impl Progress for Display {
    fn begin(&mut self, batches: Option<usize>) {
        let now = Instant::now();
        self.total = batches.map(|batches| batches as u64);
        self.began = now;
        self.epoch = (0, now);
        if let Kind::Bar(bar) = &self.kind {
            let size = terminal_size::terminal_size_of(io::stderr());
            let is_narrow = size.is_some_and(|(width, _)| width.0 < WIDE);
            let template = match self.total {
                None => ENDLESS,
                Some(_) if is_narrow => NARROW,
                Some(_) => TEMPLATE,
            };
            // The template is sound; without it the bar would look otherwise, no more.
            if let Ok(style) = ProgressStyle::with_template(template) {
                let style = style.with_key("speed", write_speed).progress_chars("=> ");
                bar.set_style(style);
            }
            if let Some(total) = self.total {
                bar.set_length(total);
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn batch(&mut self, record: &NNIterationDataPoint) {
        self.done += 1;
        let Kind::Bar(bar) = &self.kind else {
            return;
        };
        if self.refreshed.is_none_or(|last| last.elapsed() >= REFRESH) {
            self.refreshed = Some(Instant::now());
            let (epoch, lr) = (record.epoch_idx(), six_digits(record.lr().as_f64()));
            let numbers = numbers(record.train_edp());
            bar.set_message(format!("epoch {epoch}: {numbers}, rate {lr}"));
            bar.set_position(self.done);
        }
    }

    fn epoch(&mut self, record: &NNIterationDataPoint, _: &str) {
        let (before, began) = std::mem::replace(&mut self.epoch, (self.done, Instant::now()));
        if !matches!(self.kind, Kind::Lines) {
            return;
        }
        let speed = (self.done - before) as f64 / began.elapsed().as_secs_f64().max(1e-9);
        let train = record.train_summary().unwrap_or_else(|| record.train_edp());
        let mut parts = vec![format!("train {}", numbers(train))];
        if let Some(val) = record.val_edp() {
            parts.push(format!("val {}", numbers(val)));
        }
        parts.push(format!("rate {}", six_digits(record.lr().as_f64())));
        parts.push(format!("{speed:.0} steps/s"));
        parts.extend(self.left());
        let line = format!("epoch {}: {}\n", record.epoch_idx(), parts.join("; "));
        // Where nobody can be told, nobody is.
        let _ = io::stderr().write_all(line.as_bytes());
    }

    fn end(&mut self) {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

fn write_speed(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // A `String` takes whatever is written.
    let _ = write!(out, "{:.0} steps/s", state.per_sec());
}

/// Loss and error, as far as there are any.
fn numbers(point: &NNEvaluationDataPoint) -> String {
    let shown = [("loss", point.loss()), ("error", point.error())];
    let shown = shown.into_iter().filter_map(|(name, value)| {
        let value = six_digits(value?.as_f64());
        Some(format!("{name} {value}"))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() {
        return "no loss".to_owned();
    }
    shown.join(", ")
}
