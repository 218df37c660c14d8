//! A client that shows the progress of its transfers.

use std::collections::HashMap;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use nnx::hub::{Direction, Event, Hub, Progress as ReceiveProgress};

use crate::escape::escaped;
use crate::failure::Failure;
use crate::progress::{Progress, Unit};

/// A client with the settings of the `hf` tools, and a bar for long transfers.
pub(super) fn hub(max_workers: Option<NonZeroUsize>) -> Result<Hub, Failure> {
    let hub = Hub::from_env()?.progress(bar());
    Ok(match max_workers {
        Some(workers) => hub.max_workers(workers),
        None => hub,
    })
}

/// The bar.
fn bar() -> Arc<dyn ReceiveProgress> {
    let state: Mutex<Option<Bar>> = Mutex::new(None);
    Arc::new(move |event: &Event<'_>| {
        let Ok(mut state) = state.lock() else {
            return;
        };
        match event {
            Event::Planned {
                direction, bytes, ..
            } => {
                let what = match direction {
                    Direction::Down => "downloading",
                    Direction::Up => "uploading",
                };
                *state = Some(Bar {
                    progress: Progress::new(*bytes, Unit::Bytes, what),
                    done: HashMap::new(),
                });
            }
            Event::Advanced { file, done, .. } => {
                if let Some(bar) = state.as_mut() {
                    bar.advance(file, *done);
                }
            }
            Event::Note(line) => match state.as_ref() {
                Some(bar) => bar.progress.beside(|| print_note(line)),
                None => print_note(line),
            },
            _ => {}
        }
    })
}

/// Prints a note on standard error.
pub(super) fn print_note(line: &str) {
    // If standard error cannot be written, the note is lost.
    let _ = writeln!(io::stderr(), "nnx: {}", escaped(line));
}

struct Bar {
    progress: Progress,
    /// The number of bytes of each file that were transferred.
    done: HashMap<String, u64>,
}

impl Bar {
    fn advance(&mut self, file: &str, done: u64) {
        let before = self.done.entry(file.to_owned()).or_default();
        // If a transfer starts again, its count goes back; the bar does not.
        self.progress.advance(done.saturating_sub(*before));
        *before = (*before).max(done);
    }
}
