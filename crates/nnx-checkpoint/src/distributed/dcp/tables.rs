//! What a `.metadata` holds, in flat arrays: three million chunks take some hundred megabytes.

use std::collections::HashMap;

use indexmap::IndexSet;

use super::value::Value;
use crate::Dtype;
use crate::distributed::paths::PathPart;
use crate::error::{Error, Result};

/// No number of a table.
pub(super) const NOTHING: u32 = u32::MAX;

/// A `ChunkStorageMetadata`: where among the integers its offsets and sizes are.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkRow {
    pub(super) offsets: u32,
    pub(super) sizes: u32,
}

impl ChunkRow {
    pub(super) const EMPTY: Self = Self {
        offsets: NOTHING,
        sizes: NOTHING,
    };
}

/// A `MetadataIndex`: a text, and where its offsets are among the integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexRow {
    pub(super) name: u32,
    pub(super) offsets: u32,
}

impl IndexRow {
    pub(super) const EMPTY: Self = Self {
        name: NOTHING,
        offsets: NOTHING,
    };
}

/// A `_StorageInfo`.
#[derive(Clone, Copy, Debug)]
pub(super) struct InfoRow {
    /// The text of the path.
    pub(super) path: u32,
    /// Where among the lists of transforms its own is.
    pub(super) transforms: u32,
    pub(super) offset: i64,
    pub(super) len: i64,
}

impl InfoRow {
    pub(super) const EMPTY: Self = Self {
        path: NOTHING,
        transforms: NOTHING,
        offset: -1,
        len: -1,
    };
}

/// A `TensorStorageMetadata`.
#[derive(Clone, Copy, Debug)]
pub(super) struct TensorRow {
    pub(super) dtype: Option<Dtype>,
    /// Where the size is among the integers.
    pub(super) size: u32,
    /// The list of chunks.
    pub(super) chunks: u32,
}

impl TensorRow {
    pub(super) const EMPTY: Self = Self {
        dtype: None,
        size: NOTHING,
        chunks: NOTHING,
    };
}

/// The tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) texts: Texts,
    pub(super) ints: Ints,
    pub(super) chunks: Vec<ChunkRow>,
    pub(super) indices: Vec<IndexRow>,
    pub(super) infos: Vec<InfoRow>,
    pub(super) tensors: Vec<TensorRow>,
    pub(super) dtypes: Vec<Option<Dtype>>,
    /// Lists of transforms, each once: the numbers of their texts.
    pub(super) transforms: IndexSet<Vec<u32>>,
}

impl Tables {
    /// The transforms of an item, as its row has them.
    pub(super) fn transforms(&self, row: &InfoRow) -> &[u32] {
        let number = usize::try_from(row.transforms).unwrap_or(usize::MAX);
        let texts = self.transforms.get_index(number);
        texts.map_or(&[], Vec::as_slice)
    }
}

/// Texts, each once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    by_text: HashMap<std::sync::Arc<str>, u32>,
    texts: Vec<std::sync::Arc<str>>,
}

impl Texts {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> Result<u32> {
        if let Some(&number) = self.by_text.get(text) {
            return Ok(number);
        }
        let number = row_number(self.texts.len())?;
        let text: std::sync::Arc<str> = text.into();
        self.texts.push(text.clone());
        self.by_text.insert(text, number);
        Ok(number)
    }

    pub(super) fn get(&self, number: u32) -> &str {
        at(&self.texts, number).map_or("", |text| text)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }
}

/// Tuples of integers, each in a form of its own: how many there are, then each in as many bytes as
/// it takes. Equal tuples have equal bytes.
#[derive(Debug, Default)]
pub(super) struct Ints(Vec<u8>);

impl Ints {
    /// Adds a tuple.
    pub(super) fn push(&mut self, values: impl ExactSizeIterator<Item = i64>) -> Result<u32> {
        let start = row_number(self.0.len())?;
        make_room(&mut self.0)?;
        self.put(values.len() as u64);
        for value in values {
            make_room(&mut self.0)?;
            // The sign is in the lowest bit, so that small numbers are short.
            self.put((value << 1 ^ value >> 63).cast_unsigned());
        }
        Ok(start)
    }

    fn put(&mut self, mut value: u64) {
        loop {
            let byte = u8::try_from(value & 0x7f).unwrap_or_default();
            value >>= 7;
            if value == 0 {
                self.0.push(byte);
                return;
            }
            self.0.push(byte | 0x80);
        }
    }

    fn read(&self, at: &mut usize) -> u64 {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.0.get(*at).copied().unwrap_or_default();
            *at = at.saturating_add(1);
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    /// How many integers the tuple has that begins there.
    pub(super) fn count(&self, start: u32) -> u64 {
        let mut at = usize::try_from(start).unwrap_or(usize::MAX);
        self.read(&mut at)
    }

    /// The tuple that begins there.
    pub(super) fn get(&self, start: u32) -> Vec<i64> {
        let mut at = usize::try_from(start).unwrap_or(usize::MAX);
        let count = self.read(&mut at);
        (0..count)
            .map(|_| {
                let value = self.read(&mut at);
                (value >> 1).cast_signed() ^ (value & 1).cast_signed().saturating_neg()
            })
            .collect()
    }

    /// The bytes of the tuple that begins there.
    pub(super) fn bytes(&self, start: u32) -> &[u8] {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let mut at = start;
        for _ in 0..self.read(&mut at) {
            self.read(&mut at);
        }
        self.0.get(start..at).unwrap_or_default()
    }
}

/// A number for the next row of a table.
///
/// # Errors
/// When a table has more rows than 32 bits count.
pub(super) fn row_number(len: usize) -> Result<u32> {
    let number = u32::try_from(len).ok().filter(|&number| number != NOTHING);
    number.ok_or_else(|| {
        Error::unsupported("a `.metadata` with more values than 32 bits count is not read")
    })
}

/// The row of that number.
pub(super) fn at<T>(rows: &[T], number: u32) -> Option<&T> {
    rows.get(usize::try_from(number).ok()?)
}

/// Adds a row and gives its number.
///
/// # Errors
/// As for [`row_number`].
pub(super) fn push<T>(rows: &mut Vec<T>, row: T) -> Result<u32> {
    let number = row_number(rows.len())?;
    make_room(rows)?;
    rows.push(row);
    Ok(number)
}

/// Makes room for more rows: large tables grow by an eighth, not to twice their size.
///
/// # Errors
/// When there is no memory.
pub(super) fn make_room<T>(rows: &mut Vec<T>) -> Result<()> {
    const LARGE: usize = 1 << 16;
    let spare = rows.capacity().saturating_sub(rows.len());
    if spare >= 16 || rows.len() < LARGE {
        return Ok(());
    }
    let more = rows.len() / 8;
    let made = rows.try_reserve_exact(more);
    made.map_err(|_| Error::unsupported("no memory for the tables of a `.metadata`"))
}

/// What the state of a `Metadata` is.
#[derive(Debug)]
pub(super) struct Root {
    /// Names of the state dict: texts with tensors or byte items.
    pub(super) names: Vec<(Value, Value)>,
    /// Where everything is: indices with places.
    pub(super) storage: Vec<(Value, Value)>,
    /// The path of each name in the nested state: a text with its keys and indices. None where the
    /// planner has no such mapping.
    pub(super) paths: Option<Vec<(u32, Vec<PathPart>)>>,
    /// For each list of chunks that a tensor has, its chunks.
    pub(super) lists: HashMap<u32, Vec<Value>>,
    /// Classes that are not known here.
    pub(super) unknown: Vec<(String, String)>,
}

/// The paths of names in the nested state, as a planner has them.
#[derive(Debug, Default)]
pub(super) struct PathPartMap(HashMap<String, Vec<PathPart>>);

impl PathPartMap {
    pub(super) fn add(&mut self, tables: &Tables, paths: Vec<(u32, Vec<PathPart>)>) {
        for (name, path) in paths {
            self.0.insert(tables.texts.get(name).to_owned(), path);
        }
    }

    /// The path of a name; where the planner has none, the name is a key at the top.
    pub(super) fn of(&self, name: &str) -> Vec<PathPart> {
        let path = self.0.get(name).filter(|path| !path.is_empty());
        path.cloned().unwrap_or_else(|| PathPart::top(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_of_integers_come_back() {
        let mut ints = Ints::default();
        let tuples: [&[i64]; 4] = [&[], &[0], &[-1, 63, 64, -65], &[i64::MAX, i64::MIN]];
        let starts = tuples.map(|tuple| ints.push(tuple.iter().copied()).unwrap());
        for (start, tuple) in starts.iter().zip(tuples) {
            assert_eq!(ints.get(*start), tuple);
        }
        let again = ints.push([0].into_iter()).unwrap();
        assert_eq!(ints.bytes(again), ints.bytes(starts[1]));
        assert_ne!(ints.bytes(starts[0]), ints.bytes(starts[1]));
        assert_eq!(starts.map(|start| ints.count(start)), [0, 1, 4, 2]);
    }
}
