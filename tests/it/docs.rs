//! The tables of `docs/formats.md` are those of the code.

use std::collections::BTreeMap;

use nnx_checkpoint::{Dtype, Format, Limits, pickle};

const FORMATS: &str = include_str!("../../docs/formats.md");

/// The rows of the first table below a heading, without the table's own heading; cells without
/// their backticks.
fn table(heading: &str) -> Vec<Vec<String>> {
    let below = FORMATS
        .lines()
        .skip_while(|line| *line != format!("## {heading}"));
    let rows = below.skip_while(|line| !line.starts_with('|')).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('`', "")).collect()
    });
    let rows: Vec<_> = rows.collect();
    assert!(!rows.is_empty(), "no table below `{heading}`");
    rows
}

fn or_dash(name: Option<&str>) -> String {
    name.unwrap_or("–").to_owned()
}

#[test]
fn the_table_of_formats_has_each_format() {
    let listed: Vec<_> = table("What is read and written")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    let known: Vec<_> = Format::all().iter().map(|format| format.name()).collect();
    assert_eq!(listed, known);
}

#[test]
fn the_table_of_dtypes_is_that_of_the_code() {
    let known = Dtype::all().map(|dtype| {
        vec![
            dtype.name().to_owned(),
            dtype.size().to_string(),
            dtype.component_size().to_string(),
            or_dash(dtype.storage_class()),
            or_dash(dtype.safetensors_name()),
        ]
    });
    assert_eq!(table("Dtypes"), known.collect::<Vec<_>>());
}

#[test]
fn the_table_of_opcodes_is_that_of_the_code() {
    let mut known: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    for opcode in pickle::opcodes() {
        known.entry(opcode.protocol).or_default().push(opcode.name);
    }
    let known = known
        .into_iter()
        .map(|(protocol, names)| vec![protocol.to_string(), names.join(", ")]);
    assert_eq!(table("Opcodes"), known.collect::<Vec<_>>());
}

#[test]
fn the_table_of_limits_is_that_of_the_code() {
    // The derived form is the one list of the fields that the compiler keeps complete.
    let fields = format!("{:?}", Limits::default());
    let fields = fields
        .strip_prefix("Limits { ")
        .unwrap()
        .strip_suffix(" }")
        .unwrap();
    let known = fields
        .split(", ")
        .map(|field| field.split_once(": ").unwrap());
    let known: Vec<_> = known
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let listed = table("Limits")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].replace(',', "")));
    assert_eq!(listed.collect::<Vec<_>>(), known);
}

/// The names in the source are the one list that the compiler keeps complete.
#[test]
fn the_table_of_error_kinds_is_that_of_the_code() {
    const SOURCE: &str = include_str!("../../crates/nnx-checkpoint/src/error.rs");
    const COMMAND: &str = include_str!("../../docs/command.md");
    let (_, names) = SOURCE.split_once("pub fn name(&self)").unwrap();
    let (names, _) = names.split_once("impl Error").unwrap();
    let known: Vec<&str> = names
        .lines()
        .filter_map(|line| line.split_once("=> \"")?.1.split('"').next())
        .collect();
    assert!(known.len() > 10, "{known:?}");
    let (_, table) = COMMAND.split_once("| kind | means |").unwrap();
    let listed: Vec<&str> = table
        .lines()
        .skip(2)
        .map_while(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(listed, known);
}
