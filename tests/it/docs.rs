//! The statements of the documents about the code, compared with the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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

/// The names of error kinds in a source, which are the one list that the compiler keeps complete.
fn error_kinds(source: &str) -> Vec<&str> {
    let (_, names) = source.split_once("pub fn name(&self)").unwrap();
    let (names, _) = names.split_once("impl Error").unwrap();
    let names = names.lines();
    names
        .filter_map(|line| line.split_once("=> \"")?.1.split('"').next())
        .collect()
}

/// The names in the table of error kinds whose first cell is this.
fn listed_kinds(heading: &str) -> Vec<&'static str> {
    const COMMAND: &str = include_str!("../../docs/command.md");
    let (_, table) = COMMAND
        .split_once(&format!("| {heading} | means |"))
        .unwrap();
    let rows = table.lines().skip(2);
    rows.map_while(|line| line.strip_prefix("| `")?.split('`').next())
        .collect()
}

#[test]
fn the_table_of_error_kinds_is_that_of_the_code() {
    let known = error_kinds(include_str!("../../crates/nnx-checkpoint/src/error.rs"));
    assert!(known.len() > 10, "{known:?}");
    assert_eq!(listed_kinds("kind"), known);
}

/// Kinds of nets, runs and training that checkpoints do not have, and those of the command alone.
#[test]
fn the_table_of_kinds_of_models_and_runs_is_that_of_the_code() {
    let of_checkpoints = listed_kinds("kind");
    let known = [
        include_str!("../../crates/nnx-net/src/error.rs"),
        include_str!("../../crates/nnx-run/src/error.rs"),
        include_str!("../../crates/nnx-train/src/error.rs"),
    ];
    let known = known.into_iter().flat_map(error_kinds);
    // The command has another name for it.
    let known = known.filter(|kind| *kind != "invalid_data" && !of_checkpoints.contains(kind));
    let of_command = ["ambiguous_id", "other_id", "no_best_run"];
    let known: Vec<&str> = known.chain(of_command).collect();
    assert!(known.len() > 15, "{known:?}");
    assert_eq!(listed_kinds("kind of a model or run"), known);
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

/// A row of a table of the facade's modules: module, feature, default, purpose.
fn modules(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().map(|line| line.trim_start_matches("//! "));
    let below = rows.skip_while(|line| !line.starts_with("| module |"));
    let rows = below.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// The features in a manifest, each with `yes` if `default` turns it on, directly or through another
/// feature, and else with `no`.
fn features(manifest: &str) -> BTreeSet<(&str, &str)> {
    let Some((_, features)) = manifest.split_once("[features]") else {
        return BTreeSet::new();
    };
    let features = features.split("\n[").next().unwrap();
    let features: BTreeMap<&str, BTreeSet<&str>> = features
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, needs)| (name, needs.split('"').skip(1).step_by(2).collect()))
        .collect();
    let mut on = BTreeSet::from(["default"]);
    while let Some(more) = on
        .iter()
        .filter_map(|name| features.get(name))
        .flatten()
        .find(|name| features.contains_key(*name) && !on.contains(*name))
    {
        on.insert(more);
    }
    features
        .keys()
        .filter(|name| **name != "default")
        .map(|name| (*name, if on.contains(name) { "yes" } else { "no" }))
        .collect()
}

#[test]
fn the_tables_of_the_facade_have_each_feature() {
    const MANIFEST: &str = include_str!("../../crates/nnx/Cargo.toml");
    const README: &str = include_str!("../../crates/nnx/README.md");
    const SOURCE: &str = include_str!("../../crates/nnx/src/lib.rs");
    let known = features(MANIFEST);
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The cells of a table's rows, below the line that begins with its first titles.
fn rows<'a>(text: &'a str, titles: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().map(|line| line.trim_start_matches("//! "));
    let below = lines.skip_while(|line| !line.starts_with(titles));
    let rows = below.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// In the README and in the documentation of every crate that has such a table.
#[test]
fn the_tables_of_features_have_each_feature() {
    let mut tables = 0;
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let known = features(&manifest);
        for file in ["README.md", "src/lib.rs"] {
            let file = folder.join(file);
            let text = fs::read_to_string(&file).unwrap_or_default();
            let rows = rows(&text, "| feature |");
            if rows.is_empty() {
                continue;
            }
            tables += 1;
            for (name, on) in &known {
                let row = rows.iter().find(|row| row[0].trim_matches('`') == *name);
                let row = row.unwrap_or_else(|| panic!("{}: no row `{name}`", file.display()));
                // A table without a column for it has only features that are off by default. One
                // that another feature turns on may say so instead: "with `nnx`".
                let listed = if row.len() > 2 { row[1] } else { "no" };
                let is_by_another = *on == "yes" && listed.starts_with("with `");
                assert!(
                    listed == *on || is_by_another,
                    "{}: {row:?}",
                    file.display()
                );
            }
            assert_eq!(rows.len(), known.len(), "{}", file.display());
        }
    }
    assert!(tables >= 5, "{tables}");
}

/// `cargo xtask boundary` compares the table of the architecture with the manifests.
#[test]
fn the_readme_has_the_arrows_of_the_architecture() {
    const README: &str = include_str!("../../README.md");
    const ARCHITECTURE: &str = include_str!("../../docs/architecture.md");
    /// The names in backticks of a cell, without what is in parentheses.
    fn named(cell: &str) -> BTreeSet<String> {
        let names = cell.split('`').skip(1).step_by(2);
        let outside = |name: &&str| {
            let before = &cell[..cell.find(&format!("`{name}`")).unwrap()];
            before.matches('(').count() == before.matches(')').count()
        };
        names.filter(outside).map(str::to_owned).collect()
    }
    let arrows = rows(ARCHITECTURE, "| crate | may depend on |");
    let crates = rows(README, "| crate | what it is for | depends on |");
    let mut above = BTreeSet::new();
    for row in &crates {
        let name = row[0].split('`').nth(1).unwrap();
        let listed = match row[2] {
            "all above" => above.clone(),
            cell => named(cell),
        };
        let allowed = arrows
            .iter()
            .find(|arrow| arrow[0].trim_matches('`') == name);
        let mut allowed = named(allowed.unwrap_or_else(|| panic!("{name}"))[1]);
        // Only its tests need it.
        allowed.remove("nnx-hub-server");
        assert_eq!(listed, allowed, "{name}");
        above.insert(name.to_owned());
    }
    assert_eq!(crates.len(), arrows.len());
}

#[test]
fn the_readme_names_each_document() {
    const README: &str = include_str!("../../README.md");
    for file in fs::read_dir(root().join("docs")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(README.contains(&format!("](docs/{name})")), "{name}");
    }
}

/// Links to files and to headings, in every document.
#[test]
fn the_links_of_the_documents_lead_somewhere() {
    let mut files: Vec<PathBuf> = vec![root().join("README.md"), root().join("tests/README.md")];
    for folder in ["docs", "crates"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            files.push(if path.is_dir() {
                path.join("README.md")
            } else {
                path
            });
        }
    }
    let mut links = 0;
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for part in text.split("](").skip(1) {
            let link = part.split(')').next().unwrap();
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            links += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => file.clone(),
                path => file.parent().unwrap().join(path),
            };
            assert!(target.exists(), "{}: {link}", file.display());
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| {
                    let title = line.trim_start_matches('#').trim().to_lowercase();
                    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
                    title.chars().filter(kept).collect::<String>()
                });
                let found = anchors.any(|anchor| anchor.replace(' ', "-") == heading);
                assert!(found, "{}: {link}", file.display());
            }
        }
    }
    assert!(links > 30, "{links}");
}

#[test]
fn the_architecture_says_where_things_are() {
    const ARCHITECTURE: &str = include_str!("../../docs/architecture.md");
    let rows = rows(ARCHITECTURE, "| what happens | where |");
    assert!(rows.len() > 10, "{}", rows.len());
    for row in rows {
        let places: Vec<_> = row[1].split('`').skip(1).step_by(2).collect();
        assert!(!places.is_empty(), "{row:?}");
        for place in places {
            let (path, name) = place.split_once("::").unwrap_or((place, ""));
            let text = fs::read_to_string(root().join("crates").join(path));
            let text = text.unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(text.contains(name), "{place}");
        }
    }
}
