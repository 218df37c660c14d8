//! The statements of `docs/command.md` and the README about commands, compared with the command.

use std::collections::BTreeSet;
use std::process::Command;

const DOCUMENT: &str = include_str!("../../../../docs/command.md");
const README: &str = include_str!("../../../../README.md");

/// The subcommands that `--help` lists, without `help` itself.
fn commands(words: &[&str]) -> BTreeSet<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    let done = command.args(words).arg("--help").output().unwrap();
    let help = String::from_utf8(done.stdout).unwrap();
    let (_, below) = help.split_once("\nCommands:\n").unwrap();
    let lines = below.lines().take_while(|line| line.starts_with("  "));
    // A longer text goes on below the first line, further to the right.
    let names = lines.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help").map(str::to_owned);
    let names: BTreeSet<String> = names.collect();
    assert!(names.len() > 3, "{help}");
    names
}

#[test]
fn the_table_of_commands_has_each_command() {
    let (_, table) = DOCUMENT.split_once("\n| command |").unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let (mut top, mut runs) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        let cell = row.trim_matches('|').split('|').next().unwrap();
        // `nnx runs list`, `show` and `plot`: the first one in full.
        let mut names = cell.split('`').skip(1).step_by(2);
        let mut words = names.next().unwrap().split(' ').skip(1);
        let name = words.next().unwrap();
        top.insert(name.to_owned());
        if name == "runs" {
            runs.extend(words.next().map(str::to_owned));
            runs.extend(names.map(str::to_owned));
        }
    }
    assert_eq!(top, commands(&[]));
    assert_eq!(runs, commands(&["runs"]));
}

#[test]
fn the_readme_names_commands_that_exist() {
    let known = commands(&[]);
    let lines = README.lines().filter_map(|line| line.strip_prefix("nnx "));
    let named: BTreeSet<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
    assert!(named.len() > 5, "{named:?}");
    for name in named {
        assert!(known.contains(name), "{name}");
    }
}
