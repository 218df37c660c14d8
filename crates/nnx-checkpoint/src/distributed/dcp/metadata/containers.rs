//! The tuples, lists and dicts of a `.metadata`.

use std::collections::HashMap;

use super::{check_objects, expect, not_metadata};
use crate::Limits;
use crate::distributed::dcp::tables::{at, make_room, row_number};
use crate::distributed::dcp::value::{Kind, Value};
use crate::error::{Error, Result};

/// The pairs of the state of an object: more than these make a dict of something else.
const STATE_PAIRS: usize = 16;

/// The containers that were made so far.
pub(super) struct Containers<'a> {
    limits: &'a Limits,
    /// Tuples of other values than integers: how many there are, then each.
    tuples: Vec<Value>,
    lists: HashMap<u32, Vec<Value>>,
    /// Dicts whose content nobody took yet.
    dicts: HashMap<u32, Vec<(Value, Value)>>,
    /// How many lists and dicts there were.
    made: u32,
    /// How many values all containers were given.
    contained: u64,
}

impl<'a> Containers<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            tuples: Vec::new(),
            lists: HashMap::new(),
            dicts: HashMap::new(),
            made: 0,
            contained: 0,
        }
    }

    /// Makes a tuple.
    pub(super) fn tuple(&mut self, items: Vec<Value>) -> Result<Value> {
        let start = row_number(self.tuples.len())?;
        let count = row_number(items.len())?;
        self.count(count.into())?;
        make_room(&mut self.tuples)?;
        self.tuples.push(Value::new(Kind::Opaque, count));
        self.tuples.extend(items);
        Ok(Value::new(Kind::Tuple, start))
    }

    /// The items of a [`Kind::Tuple`].
    pub(super) fn tuple_items(&self, tuple: Value) -> Option<&[Value]> {
        let start = tuple.index_of(Kind::Tuple)?;
        let range = || {
            let count = at(&self.tuples, start)?.index_of(Kind::Opaque)?;
            let start = usize::try_from(start).ok()?.checked_add(1)?;
            self.tuples
                .get(start..start.checked_add(usize::try_from(count).ok()?)?)
        };
        Some(range().unwrap_or_default())
    }

    /// Makes a list.
    pub(super) fn list(&mut self) -> Result<Value> {
        let number = self.number()?;
        self.lists.insert(number, Vec::new());
        Ok(Value::new(Kind::List, number))
    }

    /// The items of a [`Kind::List`].
    pub(super) fn list_items(&self, list: Value) -> Option<&[Value]> {
        let items = self.lists.get(&list.index_of(Kind::List)?)?;
        Some(items)
    }

    /// Makes a dict.
    pub(super) fn dict(&mut self) -> Result<Value> {
        let number = self.number()?;
        self.dicts.insert(number, Vec::new());
        // Each takes some room although nothing is in it.
        self.count(1)?;
        Ok(Value::new(Kind::Dict, number))
    }

    /// Takes the pairs out of a [`Kind::Dict`].
    pub(super) fn take_pairs(&mut self, dict: Value) -> Option<Vec<(Value, Value)>> {
        self.dicts.remove(&dict.index_of(Kind::Dict)?)
    }

    /// All lists, by their numbers.
    pub(super) fn into_lists(self) -> HashMap<u32, Vec<Value>> {
        self.lists
    }

    /// The number of a new list or dict.
    fn number(&mut self) -> Result<u32> {
        let (allowed, live) = (self.limits.max_listed, self.dicts.len() as u64);
        let live = live.saturating_add(self.lists.len() as u64);
        if live > allowed {
            return Err(Error::limit("max_listed", allowed, live));
        }
        let number = self.made;
        self.made = number
            .checked_add(1)
            .ok_or_else(|| not_metadata("a pickle of too many containers"))?;
        Ok(number)
    }

    fn count(&mut self, count: u64) -> Result<()> {
        self.contained = self.contained.saturating_add(count);
        check_objects(self.limits, self.contained)
    }

    /// Adds items to a list.
    pub(super) fn append(&mut self, target: Value, items: Vec<Value>) -> Result<()> {
        self.count(items.len() as u64)?;
        let list = target.index_of(Kind::List);
        match list.and_then(|list| self.lists.get_mut(&list)) {
            Some(list) => {
                list.extend(items);
                Ok(())
            }
            None => expect(
                target.kind() == Kind::Opaque,
                "items that are added to no list",
            ),
        }
    }

    /// Adds keys and values, one behind the other, to a dict.
    pub(super) fn set_items(&mut self, target: Value, items: &[Value]) -> Result<()> {
        let (pairs, []) = items.as_chunks::<2>() else {
            return Err(not_metadata("keys and values that are no pairs"));
        };
        let dict = target.index_of(Kind::Dict);
        let Some(dict) = dict.and_then(|dict| self.dicts.get_mut(&dict)) else {
            return expect(
                target.kind() == Kind::Opaque,
                "pairs that are added to no dict",
            );
        };
        // The pairs of a state are taken out again, and count as one.
        dict.extend(pairs.iter().map(|&[key, value]| (key, value)));
        if dict.len() > STATE_PAIRS {
            self.count(pairs.len() as u64)?;
        }
        Ok(())
    }
}
