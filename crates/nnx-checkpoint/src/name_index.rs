//! Finding names that are kept elsewhere.

use std::hash::{BuildHasher, RandomState};

/// Tells the number of a name among many. The names themselves are the owner's: a slot takes eight
/// bytes, where a map with keys of its own takes several times as many and an allocation for each.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// Half of the hash of a name, and one more than its number; 0 where there is none. As many
    /// slots as a power of two, at most half of them taken. No owner has as many names as 32 bits
    /// count.
    slots: Vec<(u32, u32)>,
    taken: usize,
    /// Its keys are random, because names come from files.
    hasher: RandomState,
}

impl NameIndex {
    /// An index with room for so many names.
    pub(crate) fn with_capacity(names: usize) -> Self {
        let mut index = Self::default();
        index.resize(names.saturating_mul(2).next_power_of_two());
        index
    }

    /// Gives a name a number, unless it has one. `is_name` tells whether a number is that of the
    /// name.
    ///
    /// # Errors
    /// The number that the name has.
    pub(crate) fn insert(
        &mut self,
        name: &str,
        number: u32,
        is_name: impl Fn(u32) -> bool,
    ) -> Result<(), u32> {
        if self.taken.saturating_mul(2) >= self.slots.len() {
            self.resize(self.slots.len().saturating_mul(2).max(16));
        }
        let hash = self.hash(name);
        match self.probe(hash, is_name) {
            (_, Some(known)) => Err(known),
            (place, None) => {
                if let Some(slot) = self.slots.get_mut(place) {
                    *slot = (hash, number.saturating_add(1));
                    self.taken = self.taken.saturating_add(1);
                }
                Ok(())
            }
        }
    }

    /// The number of a name.
    pub(crate) fn find(&self, name: &str, is_name: impl Fn(u32) -> bool) -> Option<u32> {
        self.probe(self.hash(name), is_name).1
    }

    /// The upper half of the hash: its low bits choose the slot, all of them are compared before a
    /// name is.
    fn hash(&self, name: &str) -> u32 {
        u32::try_from(self.hasher.hash_one(name) >> 32).unwrap_or_default()
    }

    /// The first slot from that of the hash on that is free, or has the name.
    fn probe(&self, hash: u32, is_name: impl Fn(u32) -> bool) -> (usize, Option<u32>) {
        let mask = self.slots.len().saturating_sub(1);
        let mut place = hash as usize & mask;
        while let Some(&(other, number)) = self.slots.get(place) {
            let Some(number) = number.checked_sub(1) else {
                break;
            };
            if other == hash && is_name(number) {
                return (place, Some(number));
            }
            place = place.wrapping_add(1) & mask;
        }
        (place, None)
    }

    fn resize(&mut self, len: usize) {
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); len]);
        for slot in old.into_iter().filter(|slot| slot.1 != 0) {
            let (place, _) = self.probe(slot.0, |_| false);
            if let Some(free) = self.slots.get_mut(place) {
                *free = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_number() {
        let names: Vec<String> = (0..5_000).map(|number| format!("layer.{number}")).collect();
        for capacity in [0, 10, 5_000] {
            let mut index = NameIndex::with_capacity(capacity);
            let is = |name: &str, number: u32| names[number as usize] == name;
            assert_eq!(index.find("layer.0", |number| is("layer.0", number)), None);
            for (number, name) in names.iter().enumerate() {
                let added = index.insert(name, number as u32, |number| is(name, number));
                assert_eq!(added, Ok(()));
            }
            for (number, name) in names.iter().enumerate() {
                let found = index.find(name, |number| is(name, number));
                assert_eq!(found, Some(number as u32));
                let again = index.insert(name, 7, |number| is(name, number));
                assert_eq!(again, Err(number as u32));
            }
            assert_eq!(index.find("layer", |number| is("layer", number)), None);
        }
    }
}
