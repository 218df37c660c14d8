//! Locks of values that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The contents of a lock. A thread that panicked has not left them in a partial state.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
