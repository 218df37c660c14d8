//! Work on several files at the same time, whose messages and result are those of work on one file
//! after the other.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::Hub;
use crate::error::Result;
use crate::mutex::locked;
use crate::progress::{Direction, Event, Progress};

/// With more files than this at the same time, each only waits for the others.
const MAX_WORKERS: usize = 8;

/// The most threads, whatever a caller asks for.
const MAX_THREADS: usize = 64;

/// One file at a time for each core.
pub(super) fn default_workers() -> NonZeroUsize {
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    cores.min(NonZeroUsize::new(MAX_WORKERS).unwrap_or(cores))
}

impl Hub {
    /// Calls `work` for each item, on up to [`max_workers`](Hub::max_workers) threads, or as many as
    /// the system allows. The results are in the order of the items.
    ///
    /// Each call gets a client whose notes and [`Event::Finished`] are passed on in the order of the
    /// items. Items that were started when one fails are completed, as they would be lost otherwise,
    /// and no other one is started. Their notes are not passed on.
    ///
    /// # Errors
    /// The error of the first item, in their order, whose work failed.
    pub(super) fn side_by_side<'a, T: Sync, R: Send>(
        &self,
        items: &'a [T],
        work: impl Fn(&Self, &'a T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let workers = self.max_workers.get().min(items.len()).min(MAX_THREADS);
        if workers <= 1 {
            return items.iter().map(|item| work(self, item)).collect();
        }
        let progress = self.client.progress.as_ref();
        let ordered = progress.map(|progress| Arc::new(Ordered::new(progress)));
        let next = AtomicUsize::new(0);
        let results = Mutex::new(BTreeMap::new());
        let take = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else {
                    return;
                };
                let mut hub = self.clone();
                hub.client.progress = ordered.as_ref().map(|ordered| {
                    let ordered = Arc::clone(ordered);
                    Arc::new(Lane { ordered, index }) as Arc<dyn Progress>
                });
                let result = work(&hub, item);
                match (&result, &ordered) {
                    (Ok(_), Some(ordered)) => ordered.complete(index),
                    (Ok(_), None) => {}
                    // Nothing that comes later in the order is started.
                    (Err(_), _) => next.store(items.len(), Ordering::Relaxed),
                }
                locked(&results).insert(index, result);
            }
        };
        thread::scope(|scope| {
            for _ in 1..workers {
                let thread = thread::Builder::new().spawn_scoped(scope, take);
                // The threads that there are do all of the work.
                if thread.is_err() {
                    break;
                }
            }
            take();
        });
        locked(&results).split_off(&0).into_values().collect()
    }
}

/// Passes on the notes of each item when all items before it are complete.
struct Ordered {
    inner: Arc<dyn Progress>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The first item that is not complete; its messages are passed on at once.
    current: usize,
    /// The messages of later items, and whether the item is complete.
    later: BTreeMap<usize, (Vec<Message>, bool)>,
}

/// An event that waits.
enum Message {
    Note(String),
    Finished(Direction, String),
}

impl Ordered {
    fn new(inner: &Arc<dyn Progress>) -> Self {
        Self {
            inner: Arc::clone(inner),
            waiting: Mutex::default(),
        }
    }

    fn receive(&self, index: usize, event: &Event<'_>) {
        let message = match event {
            Event::Note(line) => Message::Note((*line).to_owned()),
            Event::Finished { direction, file } => {
                Message::Finished(*direction, (*file).to_owned())
            }
            Event::Planned { .. } | Event::Advanced { .. } => return self.inner.on(event),
        };
        let mut waiting = locked(&self.waiting);
        if waiting.current == index {
            self.inner.on(event);
        } else {
            waiting.later.entry(index).or_default().0.push(message);
        }
    }

    fn complete(&self, index: usize) {
        let mut waiting = locked(&self.waiting);
        waiting.later.entry(index).or_default().1 = true;
        loop {
            let current = waiting.current;
            let Some((messages, is_complete)) = waiting.later.get_mut(&current) else {
                return;
            };
            for message in messages.drain(..) {
                self.inner.on(&match &message {
                    Message::Note(line) => Event::Note(line),
                    Message::Finished(direction, file) => Event::Finished {
                        direction: *direction,
                        file,
                    },
                });
            }
            if !*is_complete {
                return;
            }
            waiting.later.remove(&current);
            waiting.current += 1;
        }
    }
}

/// The receiver of one item's events.
struct Lane {
    ordered: Arc<Ordered>,
    index: usize,
}

impl Progress for Lane {
    fn on(&self, event: &Event<'_>) {
        self.ordered.receive(self.index, event);
    }
}
