//! Interruption by a signal, such as Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an interruption was requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Handles the signals that ask a program to end. After the first one the work stops in an orderly
    /// way. After the second one the program ends at once.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        let heard = interrupt.clone();
        // Without a handler the signals end the program, as they do by default.
        let _ = ctrlc::set_handler(move || {
            if heard.0.swap(true, Ordering::SeqCst) {
                std::process::exit(STATUS.into());
            }
        });
        interrupt
    }

    /// The flag that becomes true with the first signal.
    #[cfg(feature = "train")]
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The exit status of a program that Ctrl-C ended.
pub(crate) const STATUS: u8 = 130;
