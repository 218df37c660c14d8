//! The object that was opened last.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nnx_checkpoint::ByteRange;

/// The object of a folder that was opened last: the caller that checks whether it exists opens it
/// next. Uploads of the folder share it, and make it empty when they are completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastOpened(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    opened: Option<(String, ByteRange)>,
    /// How often objects of the folder were changed here.
    changes: u64,
}

impl LastOpened {
    /// The object, if it is the one of this name.
    pub(crate) fn get(&self, name: &str) -> Option<ByteRange> {
        let state = self.state();
        let (opened, bytes) = state.opened.as_ref()?;
        (opened == name).then(|| bytes.clone())
    }

    /// The number to give to [`set`](Self::set), from before the object is requested.
    pub(crate) fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Sets the object, unless one was changed since: it may be another one now.
    pub(crate) fn set(&self, name: &str, bytes: &ByteRange, changes: u64) {
        let mut state = self.state();
        if state.changes == changes {
            state.opened = Some((name.to_owned(), bytes.clone()));
        }
    }

    /// Makes it empty, because an object was changed.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        state.opened = None;
        state.changes = state.changes.wrapping_add(1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
