//! What a transfer tells while it runs.

/// Told of everything that takes time, in both directions; any closure over [`Event`] is one.
///
/// ```
/// use std::sync::Arc;
///
/// use nnx_hub::{Event, Progress};
///
/// let progress: Arc<dyn Progress> = Arc::new(|event: &Event<'_>| {
///     if let Event::Advanced { file, done, total, .. } = event {
///         println!("{file}: {done} of {total} bytes");
///     }
/// });
/// # let _ = progress;
/// ```
pub trait Progress: Send + Sync {
    /// Called from the thread that does the work.
    fn on(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>) + Send + Sync> Progress for F {
    fn on(&self, event: &Event<'_>) {
        self(event);
    }
}

/// Where the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the Hub.
    Down,
    /// To the Hub.
    Up,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Files will be transferred; those that are there already do not count.
    Planned {
        /// Where they go.
        direction: Direction,
        /// How many.
        files: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// Bytes of a file were transferred. A transfer that starts over goes back.
    Advanced {
        /// Where they go.
        direction: Direction,
        /// The file's name in the repository.
        file: &'a str,
        /// Its bytes that were transferred.
        done: u64,
        /// All its bytes.
        total: u64,
    },
    /// A file is there, checked.
    Finished {
        /// Where it went.
        direction: Direction,
        /// The file's name in the repository.
        file: &'a str,
    },
    /// Something went wrong and is tried again, or something was left out: a line for people.
    Note(&'a str),
}
