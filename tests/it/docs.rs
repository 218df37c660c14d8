//! What the documents say about the code, compared with the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use nnx_checkpoint::{CheckpointReader, Dtype, Format, Limits, pickle};

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

/// Every name of the list is in the folder: a shard of its own for each index, and bytes that are no
/// checkpoint for each other one. The error names what was opened first.
#[test]
fn a_folder_is_searched_in_the_order_of_the_document() {
    let (_, below) = FORMATS.split_once("### Folders").unwrap();
    let listed = below.lines().filter_map(|line| {
        let (number, name) = line.split_once(". `")?;
        number.parse::<usize>().ok()?;
        name.strip_suffix('`')
    });
    let listed: Vec<&str> = listed.collect();
    assert_eq!(listed.len(), 11);
    for (index, first) in listed.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        for name in &listed[index..] {
            let text = if name.ends_with(".index.json") {
                format!(r#"{{"weight_map": {{"a": "shard of {name}"}}}}"#)
            } else {
                "no checkpoint".to_owned()
            };
            fs::write(folder.path().join(name), text).unwrap();
        }
        let error = CheckpointReader::open(folder.path()).unwrap_err();
        let opened = error.path().unwrap().file_name().unwrap();
        let opened = opened.to_str().unwrap();
        assert_eq!(opened.trim_start_matches("shard of "), *first, "{error}");
    }
}

/// A row of a table of the facade's modules: module, feature, default, what it is for.
fn modules(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().map(|line| line.trim_start_matches("//! "));
    let below = rows.skip_while(|line| !line.starts_with("| module |"));
    let rows = below.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn the_tables_of_the_facade_have_each_feature() {
    const MANIFEST: &str = include_str!("../../crates/nnx/Cargo.toml");
    const README: &str = include_str!("../../crates/nnx/README.md");
    const SOURCE: &str = include_str!("../../crates/nnx/src/lib.rs");
    let (_, features) = MANIFEST.split_once("[features]").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let features: BTreeMap<&str, BTreeSet<&str>> = features
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, needs)| (name, needs.split('"').skip(1).step_by(2).collect()))
        .collect();
    // What `default` turns on, directly or through another feature.
    let mut on = BTreeSet::from(["default"]);
    while let Some(more) = on
        .iter()
        .filter_map(|name| features.get(name))
        .flatten()
        .find(|name| features.contains_key(*name) && !on.contains(*name))
    {
        on.insert(more);
    }
    let known: BTreeSet<(&str, &str)> = features
        .keys()
        .filter(|name| **name != "default")
        .map(|name| (*name, if on.contains(name) { "yes" } else { "no" }))
        .collect();
    assert!(known.len() > 5, "{known:?}");
    for text in [README, SOURCE] {
        let rows = modules(text);
        let listed = rows.iter().map(|row| (row[1].trim_matches('`'), row[2]));
        let mut listed: BTreeSet<(&str, &str)> = listed.filter(|row| row.0 != "–").collect();
        // Features for hardware add no module; a sentence names them.
        for hardware in ["cuda", "metal"] {
            assert!(text.contains(&format!("`{hardware}`")));
            listed.insert((hardware, "no"));
        }
        assert_eq!(listed, known);
        for row in rows {
            let module = row[0].trim_matches(['[', ']', '`']);
            assert!(SOURCE.contains(&format!(" as {module};")), "{module}");
        }
    }
}
