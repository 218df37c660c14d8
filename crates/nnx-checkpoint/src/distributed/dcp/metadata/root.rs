//! What a `.metadata` as a whole says.

use super::{Machine, not_metadata};
use crate::distributed::dcp::tables::Root;
use crate::distributed::dcp::value::{Kind, Value};
use crate::distributed::paths::PathPart;
use crate::error::{Error, Result, shown, shown_path};

impl Machine<'_> {
    /// The content of the object that a pickle left.
    ///
    /// # Errors
    /// When it is no `Metadata`, or one without the names of its state.
    pub(super) fn finish(mut self, object: Value) -> Result<Root> {
        let state = self.root_state.take();
        let (Kind::Metadata, Some(state)) = (object.kind(), state) else {
            return Err(not_metadata("a pickle of something else"));
        };
        let (mut names, mut storage, mut paths) = (None, None, None);
        for (key, value) in state {
            let key = self.text_of(key);
            match (key.as_deref(), self.containers.take_pairs(value)) {
                (Some("state_dict_metadata"), Some(pairs)) => names = Some(pairs),
                (Some("storage_data"), Some(pairs)) => storage = Some(pairs),
                (Some("planner_data"), Some(pairs)) => paths = Some(self.paths(&pairs)?),
                _ => {}
            }
        }
        let names = names.ok_or_else(|| not_metadata("one without its `state_dict_metadata`"))?;
        Ok(Root {
            names,
            // A rank that owns nothing has no places.
            storage: storage.unwrap_or_default(),
            paths,
            lists: self.containers.into_lists(),
            unknown: self.unknown,
        })
    }

    /// The paths of a planner, of which those are left out that are none: a planner of somebody's own
    /// may keep anything here.
    ///
    /// # Errors
    /// When a path is deeper than [`Limits::max_depth`](crate::Limits::max_depth), or all of them are
    /// longer than [`Limits::max_name_bytes`](crate::Limits::max_name_bytes): a tuple can be the path of
    /// many names.
    fn paths(&self, pairs: &[(Value, Value)]) -> Result<Vec<(u32, Vec<PathPart>)>> {
        let (max_depth, max_bytes) = (self.limits.max_depth, self.limits.max_name_bytes);
        let mut bytes = 0u64;
        let mut paths = Vec::new();
        for &(name, value) in pairs {
            let Some(name) = name.index_of(Kind::Text) else {
                continue;
            };
            let depth = match value.kind() {
                Kind::Ints => self.tables.ints.count(value.index()),
                _ => self.containers.tuple_items(value).map_or(0, <[_]>::len) as u64,
            };
            if depth > max_depth {
                return Err(Error::limit("max_depth", max_depth, depth));
            }
            let Some(path) = self.path(value, &mut bytes) else {
                continue;
            };
            if bytes > max_bytes {
                return Err(Error::limit("max_name_bytes", max_bytes, bytes));
            }
            paths.push((name, path));
        }
        Ok(paths)
    }

    /// A path, whose size in memory is added to `bytes`.
    fn path(&self, value: Value, bytes: &mut u64) -> Option<Vec<PathPart>> {
        let mut add = |text: &str| {
            let part = size_of::<PathPart>().saturating_add(text.len());
            *bytes = bytes.saturating_add(part as u64);
        };
        if value.kind() == Kind::Ints {
            let ints = self.tables.ints.get(value.index()).into_iter();
            let ints = ints.inspect(|_| add(""));
            return Some(ints.map(PathPart::Index).collect());
        }
        let items = self.containers.tuple_items(value)?.iter();
        let parts = items.map(|&item| match item.index_of(Kind::Text) {
            Some(number) => {
                let text = self.tables.texts.get(number);
                add(text);
                Some(PathPart::Key(text.to_owned()))
            }
            None => {
                add("");
                self.as_int(item).map(PathPart::Index)
            }
        });
        parts.collect()
    }
}

/// The classes that are not known, in words.
pub(in crate::distributed::dcp) fn unknown_in_words(
    unknown: &[(String, String)],
) -> Option<String> {
    let names: Vec<String> = unknown
        .iter()
        .map(|(module, name)| format!("`{}`", shown_path(module, name)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "the `.metadata` names {}, which are not known here; their objects were left out",
            shown(&names.join(", "))
        )
    })
}
