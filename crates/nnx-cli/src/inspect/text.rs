//! A checkpoint as text for people.

use std::collections::HashSet;

use super::contents::Contents;
use super::fields;
use super::nn_checkpoint::NNCheckpointPart;
use super::{tensors, values};
use crate::escape::escaped;
use crate::opened::shown_name;
use crate::size;
use crate::table::{Side, Table};
use crate::terminal::{BOLD, Page, YELLOW};
use crate::wrap::wrapped;

/// The number of characters of a metadata text that are shown.
const SHOWN_CHARS: usize = 160;
/// Metadata keys and other values that are also shown as the fields of an NNx checkpoint.
const NNX_KEYS: [&str; 7] = [
    "nnx_format_version",
    "net_params",
    "model_params",
    "idp",
    "transforms",
    "training_state_id",
    "training_state_present",
];

pub(super) fn render(contents: &Contents, as_tree: bool, page: &Page) -> String {
    let mut out = page.paint(BOLD, &escaped(&contents.path.text));
    out.push_str(": ");
    out.push_str(&contents.format.to_string());
    if contents.nn_checkpoint.is_some() {
        out.push_str(" with an NNCheckpoint");
    }
    out.push('\n');
    if !contents.tensors.is_empty() {
        out.push('\n');
        out.push_str(&tensors::table(&contents.tensors, as_tree, page).render(page));
    }
    out.push('\n');
    out.push_str(&tensors::totals(&contents.tensors));
    out.push('\n');
    let mut section = |title: &str, body: &str| {
        if !body.is_empty() {
            out.push_str(&format!("\n{}\n{body}", page.paint(BOLD, title)));
        }
    };
    match &contents.nn_checkpoint {
        Some(NNCheckpointPart::Read(configuration)) => {
            section("NNCheckpoint", &fields::table(configuration).render(page));
        }
        Some(NNCheckpointPart::Failed { error }) => {
            let error = format!("not valid: {}", escaped(&error.message()));
            section("NNCheckpoint", &wrapped(&error, 0, page));
        }
        None => {}
    }
    section("Metadata", &metadata(contents, page));
    section("Other values", &others(contents, page));
    section("Classes and functions named", &globals(contents, page));
    let notes = contents
        .notes
        .iter()
        .map(|note| page.paint(YELLOW, &wrapped(&escaped(note), 0, page)));
    section("Notes", &notes.collect::<String>());
    out
}

/// Whether the configuration of an NNx checkpoint is shown.
fn shows_configuration(contents: &Contents) -> bool {
    matches!(contents.nn_checkpoint, Some(NNCheckpointPart::Read(_)))
}

fn metadata(contents: &Contents, page: &Page) -> String {
    let configured = shows_configuration(contents);
    let mut table = Table::new(&[("Key", Side::Left), ("Text", Side::Left)]);
    for (key, text) in &contents.metadata {
        if !(configured && NNX_KEYS.contains(&key.as_str())) {
            table.push([key.clone(), beginning(text)]);
        }
    }
    table.render(page)
}

/// The text, or its beginning and its length.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let shown = text.get(..end).unwrap_or_default();
            let length = size::grouped(text.chars().count() as u128);
            format!("{shown}… ({length} characters)")
        }
    }
}

fn others(contents: &Contents, page: &Page) -> String {
    let mut table = Table::new(&[("Name", Side::Left), ("Value", Side::Left)]);
    let configured = shows_configuration(contents);
    for other in &contents.other {
        if configured && NNX_KEYS.contains(&other.path.as_str()) {
            continue;
        }
        table.push([
            shown_name(&other.path).to_owned(),
            match other
                .value
                .as_ref()
                .and_then(|value| values::shown(&value.0))
            {
                Some(value) => format!("{}: {}", other.description, beginning(&value)),
                None => other.description.clone(),
            },
        ]);
    }
    table.render(page)
}

/// Each class once, although several pickles of a file, or several files, may name it.
fn globals(contents: &Contents, page: &Page) -> String {
    let mut table = Table::new(&[("Name", Side::Left), ("Standing", Side::Left)]);
    let mut seen = HashSet::new();
    for global in &contents.globals {
        let name = format!("{}.{}", global.module, global.name);
        if seen.insert(name.clone()) {
            table.push([name, global.standing.to_owned()]);
        }
    }
    table.render(page)
}
