//! Interruption by a signal, such as Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an interruption was requested.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Handles the signals that ask a program to end. After the first one the work cleans up and
    /// stops. After the second one the program ends at once, and the next conversion to the same
    /// target cleans up.
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
