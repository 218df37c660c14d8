//! Finding storages by their keys.

use std::collections::HashMap;

/// Gives the number of a storage for its key. `torch.save` counts its storages, so that nearly all
/// keys are numbers from 0 on: those are looked up in a vector, and others in a map.
pub(super) struct KeyIndex<'a> {
    /// For each number as a key, one more than the number of its storage; 0 if there is none.
    numbers: Vec<u32>,
    others: HashMap<&'a str, usize>,
}

impl<'a> KeyIndex<'a> {
    /// An index in which keys below `capacity` are in the vector.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            numbers: vec![0; capacity],
            others: HashMap::new(),
        }
    }

    /// The number of the storage of that key.
    pub(super) fn find(&self, key: &str) -> Option<usize> {
        match number(key).and_then(|number| self.numbers.get(number)) {
            Some(index) => usize::try_from(*index).ok()?.checked_sub(1),
            None => self.others.get(key).copied(),
        }
    }

    /// Gives a key the number of its storage.
    pub(super) fn insert(&mut self, key: &'a str, index: usize) {
        match number(key).and_then(|number| self.numbers.get_mut(number)) {
            // A graph has fewer storages than 32 bits count.
            Some(slot) => *slot = u32::try_from(index.saturating_add(1)).unwrap_or_default(),
            None => drop(self.others.insert(key, index)),
        }
    }
}

/// The number that a key is in decimal digits, if it is spelled as Python spells it.
fn number(key: &str) -> Option<usize> {
    let is_canonical = key == "0" || !key.starts_with(['0', '+']);
    key.parse().ok().filter(|_| is_canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_spelled_differently_are_different() {
        let keys = [
            "0",
            "00",
            "1",
            "+1",
            "01",
            "-1",
            "2",
            "3",
            "x",
            "",
            "18446744073709551616",
        ];
        let mut index = KeyIndex::with_capacity(3);
        for (number, &key) in keys.iter().enumerate() {
            assert_eq!(index.find(key), None, "{key}");
            index.insert(key, number);
        }
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(index.find(key), Some(number), "{key}");
        }
    }
}
