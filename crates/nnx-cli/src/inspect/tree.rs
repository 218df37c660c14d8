//! Names as a tree.

use indexmap::IndexMap;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::contents::TensorLine;

/// The largest number of levels of a name; the rest is one step. A name is text from a file and may
/// consist only of dots.
const MAX_LEVELS: usize = 64;

/// The tensors by the parts of their names.
#[derive(Debug, Default)]
pub(super) struct Tree<'a> {
    nodes: Vec<Branch<'a>>,
}

/// One part of a name, with the parts below it.
#[derive(Debug, Default)]
struct Branch<'a> {
    children: IndexMap<&'a str, usize>,
    tensor: Option<(usize, &'a TensorLine)>,
    tensors: usize,
    bytes: u64,
}

/// A line of the tree, from the top.
#[derive(Debug)]
pub(super) enum Line<'a> {
    Tensor(String, &'a TensorLine),
    Branch {
        label: String,
        tensors: usize,
        bytes: u64,
    },
}

impl<'a> Tree<'a> {
    pub(super) fn new(tensors: &'a [TensorLine]) -> Self {
        let mut tree = Self {
            nodes: vec![Branch::default()],
        };
        for (index, tensor) in tensors.iter().enumerate() {
            tree.add(index, tensor);
        }
        tree
    }

    fn add(&mut self, index: usize, tensor: &'a TensorLine) {
        let mut at = 0;
        for part in tensor.name.splitn(MAX_LEVELS, '.') {
            let new = self.nodes.len();
            let Some(branch) = self.nodes.get_mut(at) else {
                return;
            };
            branch.tensors += 1;
            branch.bytes = branch.bytes.saturating_add(tensor.bytes);
            at = *branch.children.entry(part).or_insert(new);
            if at == new {
                self.nodes.push(Branch::default());
            }
        }
        if let Some(branch) = self.nodes.get_mut(at) {
            branch.tensor = Some((index, tensor));
        }
    }

    /// The lines, in the order of the names.
    pub(super) fn lines(&self) -> Vec<Line<'a>> {
        let mut lines = Vec::new();
        if let Some(root) = self.nodes.first() {
            self.visit(root, "", &mut lines);
        }
        lines
    }

    /// The first branch from here on that is a tensor or has more than one child. The branches
    /// before it share its line.
    fn joined<'t>(&'t self, branch: &'t Branch<'a>, label: &mut String) -> &'t Branch<'a> {
        let mut branch = branch;
        while branch.tensor.is_none() && branch.children.len() == 1 {
            let only = branch.children.first();
            let Some((part, child)) =
                only.and_then(|(part, at)| Some((part, self.nodes.get(*at)?)))
            else {
                break;
            };
            label.push('.');
            label.push_str(part);
            branch = child;
        }
        branch
    }

    fn visit(&self, branch: &Branch<'a>, guide: &str, lines: &mut Vec<Line<'a>>) {
        let last = branch.children.len().saturating_sub(1);
        for (index, (part, &at)) in branch.children.iter().enumerate() {
            let Some(child) = self.nodes.get(at) else {
                continue;
            };
            let (corner, below) = if index == last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            let mut label = format!("{guide}{corner}{part}");
            let child = self.joined(child, &mut label);
            lines.push(match child.tensor {
                Some((_, tensor)) => Line::Tensor(label, tensor),
                None => Line::Branch {
                    label,
                    tensors: child.tensors,
                    bytes: child.bytes,
                },
            });
            self.visit(child, &format!("{guide}{below}"), lines);
        }
    }
}

/// As JSON, a branch is an object of its children, and a tensor is its index in the list of
/// tensors. A name that is both is an array of the two, so that no key can be mistaken for another.
#[derive(Clone, Copy)]
struct TreeJson<'t, 'a> {
    tree: &'t Tree<'a>,
    branch: &'t Branch<'a>,
}

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.nodes.first() {
            Some(branch) => Below(TreeJson { tree: self, branch }).serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl Serialize for TreeJson<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.branch.tensor {
            Some((index, _)) if self.branch.children.is_empty() => index.serialize(serializer),
            Some((index, _)) => (index, Below(*self)).serialize(serializer),
            None => Below(*self).serialize(serializer),
        }
    }
}

/// The children of a branch.
struct Below<'t, 'a>(TreeJson<'t, 'a>);

impl Serialize for Below<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TreeJson { tree, branch } = self.0;
        let mut map = serializer.serialize_map(Some(branch.children.len()))?;
        for (part, &at) in &branch.children {
            if let Some(branch) = tree.nodes.get(at) {
                map.serialize_entry(part, &TreeJson { tree, branch })?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
