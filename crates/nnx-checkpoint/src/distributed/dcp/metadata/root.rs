//! What a `.metadata` as a whole says.

use super::{Machine, not_metadata};
use crate::distributed::dcp::tables::Root;
use crate::distributed::dcp::value::{Kind, Value};
use crate::distributed::paths::PathPart;
use crate::error::{Result, shown, shown_path};

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
                (Some("planner_data"), Some(pairs)) => paths = Some(self.paths(&pairs)),
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
    fn paths(&self, pairs: &[(Value, Value)]) -> Vec<(u32, Vec<PathPart>)> {
        let path = |value: Value| match value.kind() {
            Kind::Ints => {
                let ints = self.tables.ints.get(value.index());
                Some(ints.into_iter().map(PathPart::Index).collect())
            }
            Kind::Tuple => {
                let items = self.containers.tuple_items(value)?.iter();
                let parts = items.map(|&item| match self.text_of(item) {
                    Some(text) => Some(PathPart::Key(text)),
                    None => self.as_int(item).map(PathPart::Index),
                });
                parts.collect()
            }
            _ => None,
        };
        let pairs = pairs.iter();
        pairs
            .filter_map(|&(name, value)| Some((name.index_of(Kind::Text)?, path(value)?)))
            .collect()
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
            "the `.metadata` names {}, which are not known here; what they stand for was left out",
            shown(&names.join(", "))
        )
    })
}
