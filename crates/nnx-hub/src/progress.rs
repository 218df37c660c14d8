//! The progress of transfers.

/// Receives the progress of uploads and downloads. A closure that takes an [`Event`] implements it.
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
    /// Called in the threads that do the work, so for several files at the same time. Notes and
    /// [`Event::Finished`] come in the order of the files. If a file fails, those of later files are
    /// left out, also of files that were complete by then.
    fn on(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>) + Send + Sync> Progress for F {
    fn on(&self, event: &Event<'_>) {
        self(event);
    }
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the Hub.
    Down,
    /// To the Hub.
    Up,
}

/// An event of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A transfer starts; files that are already there do not count.
    Planned {
        /// The direction.
        direction: Direction,
        /// The number of files.
        files: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// Bytes of a file were transferred. The number decreases when a transfer starts again.
    Advanced {
        /// The direction.
        direction: Direction,
        /// The path of the file in the repository.
        file: &'a str,
        /// The transferred bytes of the file.
        done: u64,
        /// The size of the file in bytes.
        total: u64,
    },
    /// A file is complete and verified.
    Finished {
        /// The direction.
        direction: Direction,
        /// The path of the file in the repository.
        file: &'a str,
    },
    /// A line for people, for example about a retry or about ignored weights.
    Note(&'a str),
}
