//! The tensors of a checkpoint as a table.

use std::collections::HashMap;

use super::contents::TensorLine;
use super::tree::{Line, Tree};
use crate::opened::shown_name;
use crate::size;
use crate::table::{Side, Table};
use crate::terminal::Page;

/// A narrower terminal shows hashes on separate lines.
const WIDTH_FOR_HASHES: usize = 140;
/// Number, elements and bytes of the tensors.
pub(super) fn totals(tensors: &[TensorLine]) -> String {
    let elements = tensors
        .iter()
        .fold(0, |sum: u128, tensor| sum.saturating_add(tensor.elements()));
    let bytes = tensors
        .iter()
        .fold(0, |sum: u64, tensor| sum.saturating_add(tensor.bytes));
    let mut line = format!(
        "{}, {} {}, {}",
        size::count(tensors.len(), "tensor"),
        size::grouped(elements),
        if elements == 1 { "element" } else { "elements" },
        size::bytes(bytes)
    );
    let sharing = shared_with(tensors).len();
    if sharing > 0 {
        let sharing = size::grouped(sharing as u128);
        line.push_str(&format!("; {sharing} in the storage of another tensor"));
    }
    line
}

/// For each tensor that is not the first on its storage, the index of the first one.
fn shared_with(tensors: &[TensorLine]) -> HashMap<usize, usize> {
    let mut first = HashMap::new();
    let mut shared = HashMap::new();
    for (index, tensor) in tensors.iter().enumerate() {
        if let Some(storage) = tensor.storage {
            let owner = *first.entry(storage).or_insert(index);
            if owner != index {
                shared.insert(index, owner);
            }
        }
    }
    shared
}

/// One row for each tensor, as a list or as a tree.
pub(super) fn table(tensors: &[TensorLine], as_tree: bool, page: &Page) -> Table {
    let hashes_below = page.width.is_some_and(|width| width < WIDTH_FOR_HASHES);
    let mut columns = vec![
        ("Name", Side::Left),
        ("Dtype", Side::Left),
        ("Shape", Side::Left),
        ("Size", Side::Right),
        ("Layout", Side::Left),
        ("Shared with", Side::Left),
    ];
    if !hashes_below {
        columns.push(("SHA-256", Side::Left));
    }
    let mut table = Table::new(&columns);
    let add = |table: &mut Table, label: &str, tensor: &TensorLine, shared: &str| {
        let layout = if tensor.layout == "strided" {
            ""
        } else {
            tensor.layout
        };
        let hash = tensor.sha256.clone().flatten().unwrap_or_default();
        let mut cells = vec![
            label.to_owned(),
            tensor.dtype.to_string(),
            format!("{:?}", tensor.shape),
            size::bytes(tensor.bytes),
            layout.to_owned(),
            shared.to_owned(),
        ];
        if hashes_below {
            table.push(cells);
            table.below(hash);
        } else {
            cells.push(hash);
            table.push(cells);
        }
    };
    let shared = shared_with(tensors);
    let owner = |index: usize| {
        let owner = shared.get(&index).and_then(|&owner| tensors.get(owner));
        owner
            .map(|owner| shown_name(&owner.name))
            .unwrap_or_default()
    };
    if !as_tree {
        for (index, tensor) in tensors.iter().enumerate() {
            add(&mut table, shown_name(&tensor.name), tensor, owner(index));
        }
        return table;
    }
    let places: HashMap<&str, usize> = tensors
        .iter()
        .enumerate()
        .map(|(index, tensor)| (tensor.name.as_str(), index))
        .collect();
    for line in Tree::new(tensors).lines() {
        match line {
            Line::Tensor(label, tensor) => {
                let place = places.get(tensor.name.as_str());
                add(
                    &mut table,
                    &label,
                    tensor,
                    place.map(|&place| owner(place)).unwrap_or_default(),
                );
            }
            Line::Branch {
                label,
                tensors,
                bytes,
            } => table.push(vec![
                label,
                String::new(),
                size::count(tensors, "tensor"),
                size::bytes(bytes),
            ]),
        }
    }
    table
}
