//! Getters: they copy small values, and give references to the others.

use crate::number::Number;

/// The getter of a field; the declaration says which of the types it gives.
pub(crate) trait Get<'a, T> {
    fn get(&'a self) -> T;
}

impl<T: Copy> Get<'_, T> for T {
    fn get(&self) -> T {
        *self
    }
}

impl<'a> Get<'a, &'a str> for String {
    fn get(&'a self) -> &'a str {
        self
    }
}

impl<'a> Get<'a, Option<&'a str>> for Option<String> {
    fn get(&'a self) -> Option<&'a str> {
        self.as_deref()
    }
}

impl<'a, T> Get<'a, &'a [T]> for Vec<T> {
    fn get(&'a self) -> &'a [T] {
        self
    }
}

impl<'a, T> Get<'a, Option<&'a [T]>> for Option<Vec<T>> {
    fn get(&'a self) -> Option<&'a [T]> {
        self.as_deref()
    }
}

impl<'a, T> Get<'a, Option<&'a T>> for Option<T> {
    fn get(&'a self) -> Option<&'a T> {
        self.as_ref()
    }
}

impl<'a, T> Get<'a, &'a T> for T {
    fn get(&'a self) -> &'a T {
        self
    }
}

/// A flag that Python keeps as it was given, a number included.
impl Get<'_, bool> for Number {
    fn get(&self) -> bool {
        self.truth()
    }
}
