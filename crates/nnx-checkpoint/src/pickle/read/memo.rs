//! The memo: objects under the numbers that the pickle gave them.

use std::collections::HashMap;

use super::super::graph::NodeId;
use crate::{Error, Result};

/// Picklers number densely from 0, so a vector holds the keys; a map holds those that are so far
/// off that the vector would grow by a number in the file rather than by its contents.
pub(super) struct Memo {
    dense: Vec<Option<NodeId>>,
    sparse: HashMap<u64, NodeId>,
    entries: u64,
    limit: u64,
}

impl Memo {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            dense: Vec::new(),
            sparse: HashMap::new(),
            entries: 0,
            limit,
        }
    }

    /// How many keys hold an object: the key that `MEMOIZE` takes next.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn put(&mut self, key: u64, id: NodeId) -> Result<()> {
        // The vector stays within twice what the memo holds.
        let bound = self.entries.saturating_mul(2).saturating_add(256);
        let old = match usize::try_from(key).ok().filter(|_| key < bound) {
            Some(index) => {
                if index >= self.dense.len() {
                    self.dense.resize(index.saturating_add(1), None);
                }
                let slot = self.dense.get_mut(index);
                let old = slot.and_then(|slot| slot.replace(id));
                if self.sparse.is_empty() {
                    old
                } else {
                    old.or(self.sparse.remove(&key))
                }
            }
            None => self.sparse.insert(key, id),
        };
        if old.is_none() {
            self.entries = self.entries.saturating_add(1);
            if self.entries > self.limit {
                return Err(Error::limit("max_memo_entries", self.limit, self.entries));
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, key: u64) -> Result<NodeId> {
        usize::try_from(key)
            .ok()
            .and_then(|index| self.dense.get(index).copied().flatten())
            .or_else(|| self.sparse.get(&key).copied())
            .ok_or_else(|| {
                Error::malformed(format!(
                    "expected a memo key that was put before, found `{key}`"
                ))
            })
    }
}
