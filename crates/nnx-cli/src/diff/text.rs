//! Differences as text for people.

use nnx::params::python_text::float_repr;

use super::differences::{Differences, DifferentTensor, Lone, Values};
use crate::opened::shown_name;
use crate::size;
use crate::table::{Side, Table};
use crate::terminal::{GREEN, Page, RED};

pub(super) fn render(differences: &Differences, page: &Page) -> String {
    let mut table = Table::new(&[("  Tensor", Side::Left), ("Difference", Side::Left)]);
    for lone in &differences.only_in_a {
        table.push([
            format!("- {}", shown_name(&lone.name)),
            format!("only in A: {}", described(lone)),
        ]);
    }
    for lone in &differences.only_in_b {
        table.push([
            format!("+ {}", shown_name(&lone.name)),
            format!("only in B: {}", described(lone)),
        ]);
    }
    for pair in &differences.different {
        let mark = if pair.within_tolerance { '=' } else { '~' };
        table.push([format!("{mark} {}", shown_name(&pair.name)), in_words(pair)]);
    }
    let mut out = table.render(page);
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&summary(differences, page));
    out.push('\n');
    out
}

fn described(lone: &Lone) -> String {
    format!("{} {:?}", lone.dtype, lone.shape)
}

fn in_words(pair: &DifferentTensor) -> String {
    let mut parts = Vec::new();
    let [a, b] = pair.dtype;
    if a != b {
        parts.push(format!("{a} → {b}"));
    }
    let [a, b] = &pair.shape;
    if a != b {
        parts.push(format!("{a:?} → {b:?}"));
    }
    let [a, b] = pair.layout;
    if a != b {
        parts.push(format!("{a} → {b}"));
    }
    if let Some(values) = &pair.values {
        parts.extend(values_in_words(values));
    }
    parts.join(", ")
}

fn values_in_words(values: &Values) -> Vec<String> {
    let mut parts = Vec::new();
    if values.elements_different > 0 {
        let mut part = format!(
            "{} of {} differ",
            size::grouped(values.elements_different.into()),
            size::grouped(values.elements.into())
        );
        match values.largest_difference {
            Some(largest) if largest.is_nan() => part.push_str(", a NaN against a number"),
            Some(largest) => part.push_str(&format!(", by up to {}", float_repr(largest))),
            None => {}
        }
        parts.push(part);
    }
    if values.scales_differ {
        parts.push("scale or zero point".to_owned());
    }
    parts
}

fn summary(differences: &Differences, page: &Page) -> String {
    let (within, beyond): (Vec<&DifferentTensor>, _) = differences
        .different
        .iter()
        .partition(|pair| pair.within_tolerance);
    let counts = [
        (differences.identical, "identical"),
        (within.len(), "within the tolerance"),
        (beyond.len(), "changed"),
        (differences.only_in_a.len(), "only in A"),
        (differences.only_in_b.len(), "only in B"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, word)| format!("{} {word}", size::grouped(*count as u128)))
        .collect();
    let (word, style) = if differences.same {
        ("same", GREEN)
    } else {
        ("different", RED)
    };
    let word = page.paint(style, word);
    if counts.is_empty() {
        format!("{word}: no tensors")
    } else {
        format!("{word}: {}", counts.join(", "))
    }
}
