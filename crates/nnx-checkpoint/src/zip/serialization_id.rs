//! The serialization id, with which PyTorch's writer ends an archive: forty digits, computed from the
//! names and checksums of the records.

/// The id of records in writing order, each given by its name without the root folder and its
/// checksum, which is none for an empty record. None for more records than the table of bucket
/// counts reaches.
pub(super) fn serialization_id<'a>(
    records: impl Iterator<Item = (&'a str, Option<u32>)>,
) -> Option<String> {
    let mut set = HashOrder::default();
    let mut checksums = 0;
    for (name, crc) in records {
        checksums = crc.map_or(checksums, |crc| combine(checksums, crc.into()));
        set.insert(hash(name.as_bytes()))?;
    }
    let names = set.iter().fold(0, combine);
    Some(format!("{names:020}{checksums:020}"))
}

/// Folds a number into a seed.
fn combine(seed: u64, value: u64) -> u64 {
    seed ^ value
        .wrapping_add(0x9e37_79b9)
        .wrapping_add(seed << 6)
        .wrapping_add(seed >> 2)
}

/// The hash of strings in GNU libstdc++: the 64-bit MurmurHash of Austin Appleby, with that
/// library's seed.
fn hash(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SEED: u64 = 0xc70f_6907;
    let mix = |word: u64| word ^ (word >> 47);

    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        hash = (hash ^ mix(word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let word = rest
            .iter()
            .rev()
            .fold(0, |word, &byte| (word << 8) | u64::from(byte));
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    mix(mix(hash).wrapping_mul(MULTIPLIER))
}

/// The hashes of distinct strings in the order in which GNU libstdc++'s `unordered_set` gives them
/// back.
///
/// The set is one list. A string whose bucket is empty goes to the front of the list, another goes
/// in front of the first one of its bucket. When the table grows, the list is built anew from front
/// to back.
#[derive(Debug, Default)]
struct HashOrder {
    hashes: Vec<u64>,
    /// For each string the one behind it.
    next: Vec<Option<usize>>,
    front: Option<usize>,
    /// For each bucket the place before its first string.
    before: Vec<Before>,
}

#[derive(Clone, Copy, Debug)]
enum Before {
    /// The bucket is empty.
    Empty,
    /// Nothing: the bucket's first string is the list's front.
    Front,
    /// This string of another bucket.
    String(usize),
}

/// Bucket counts of that library: each holds for so many strings at most.
const BUCKETS: &[usize] = &[
    13, 29, 59, 127, 257, 541, 1_109, 2_357, 5_087, 10_273, 20_753, 42_043, 85_229, 172_933,
    351_061, 712_697, 1_447_153, 2_938_679, 5_967_347,
];

impl HashOrder {
    /// Adds a string by its hash. None: the table cannot grow any more.
    fn insert(&mut self, hash: u64) -> Option<()> {
        let new = self.hashes.len();
        self.hashes.push(hash);
        self.next.push(None);
        if new >= self.before.len() {
            let buckets = *BUCKETS.iter().find(|&&buckets| buckets > new)?;
            self.grow(buckets)?;
        }
        self.link(new)
    }

    fn grow(&mut self, buckets: usize) -> Option<()> {
        self.before.clear();
        self.before.resize(buckets, Before::Empty);
        let mut old = self.front.take();
        while let Some(string) = old {
            old = *self.next.get(string)?;
            self.link(string)?;
        }
        Some(())
    }

    fn link(&mut self, string: usize) -> Option<()> {
        let bucket = self.bucket(string)?;
        match *self.before.get(bucket)? {
            Before::Empty => {
                if let Some(front) = self.front {
                    let bucket = self.bucket(front)?;
                    *self.before.get_mut(bucket)? = Before::String(string);
                }
                *self.next.get_mut(string)? = self.front;
                self.front = Some(string);
                *self.before.get_mut(bucket)? = Before::Front;
            }
            Before::Front => {
                *self.next.get_mut(string)? = self.front;
                self.front = Some(string);
            }
            Before::String(before) => {
                *self.next.get_mut(string)? = *self.next.get(before)?;
                *self.next.get_mut(before)? = Some(string);
            }
        }
        Some(())
    }

    fn bucket(&self, string: usize) -> Option<usize> {
        let hash = *self.hashes.get(string)?;
        usize::try_from(hash.checked_rem(self.before.len() as u64)?).ok()
    }

    /// The hashes, from front to back.
    fn iter(&self) -> impl Iterator<Item = u64> {
        let mut at = self.front;
        std::iter::from_fn(move || {
            let string = at?;
            at = *self.next.get(string)?;
            self.hashes.get(string).copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example: the names of a file of two storages that torch 2.15 wrote.
    #[test]
    fn names_are_folded_in_the_order_of_the_set() {
        let names = [
            "data.pkl",
            ".format_version",
            ".storage_alignment",
            "byteorder",
            "data/0",
            "data/1",
            "version",
        ];
        let id = serialization_id(names.iter().map(|name| (*name, None))).unwrap();
        assert_eq!(&id[..20], "05611085236196705294");
    }
}
