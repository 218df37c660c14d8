//! A wish to stop, as Ctrl-C sends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody wants the work to stop.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for the signals that ask a program to end. The first one lets the work clean up
    /// behind itself; after that the next conversion to the same target does.
    pub(super) fn listen() -> Self {
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

    pub(super) fn is_heard(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The exit status of a program that Ctrl-C ended.
pub(super) const STATUS: u8 = 130;
