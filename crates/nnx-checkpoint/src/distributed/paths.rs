//! The way to a value in a nested state.

/// A step of the way to a value in the nested state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PathPart {
    /// A key of a mapping.
    Key(String),
    /// An index of a list.
    Index(i64),
}

impl PathPart {
    /// The way to a value at the top.
    pub(super) fn top(name: &str) -> Vec<Self> {
        vec![Self::Key(name.to_owned())]
    }
}
