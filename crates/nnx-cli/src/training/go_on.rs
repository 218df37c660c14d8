//! How a training that was interrupted goes on.

use std::ffi::OsString;

use crate::shell;

/// The options that the command to go on has anew; the first ones have a value.
const WITH_VALUE: [&str; 2] = ["--resume", "--from"];
const EPOCHS: &str = "--epochs";
const ALONE: [&str; 2] = ["--overwrite", "--weights-only"];

/// The command that goes on from a run, as a user of a shell types it: for so many epochs, or with the
/// plan that the configuration and the option of the first command say.
pub(super) fn command(
    words: impl Iterator<Item = OsString>,
    run: &str,
    epochs: Option<usize>,
) -> String {
    let mut out = "nnx".to_owned();
    let words = words.skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    // The words after `--` are not options.
    let end = words.iter().position(|word| word == "--");
    let (options, others) = words.split_at(end.unwrap_or(words.len()));
    let replaced = WITH_VALUE.into_iter().chain(epochs.map(|_| EPOCHS));
    let replaced: Vec<&str> = replaced.collect();
    let mut words = options.iter();
    while let Some(word) = words.next() {
        if replaced.contains(&word.as_str()) {
            words.next();
            continue;
        }
        let is_left_out = replaced.iter().any(|option| {
            let value = word.strip_prefix(*option);
            value.is_some_and(|value| value.starts_with('='))
        });
        if !is_left_out && !ALONE.contains(&word.as_str()) {
            push(&mut out, word);
        }
    }
    out.push_str(&format!(" --resume {run}"));
    if let Some(epochs) = epochs {
        out.push_str(&format!(" {EPOCHS} {epochs}"));
    }
    others.iter().for_each(|word| push(&mut out, word));
    out
}

fn push(out: &mut String, word: &str) {
    out.push(' ');
    out.push_str(&shell::quoted(word));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let words = words.iter().map(OsString::from);
        assert_eq!(command(words, "1f", Some(2)), expected);
    }

    #[test]
    fn a_plan_keeps_its_number_of_epochs() {
        let words = [
            "nnx",
            "train",
            "a",
            "--epochs",
            "5",
            "--resume=0e",
            "--json",
        ];
        let words = words.iter().map(OsString::from);
        let expected = "nnx train a --epochs 5 --json --resume 1f";
        assert_eq!(command(words, "1f", None), expected);
    }

    #[test]
    fn options_of_the_first_training_are_kept_or_replaced() {
        check(
            &[
                "/bin/nnx",
                "train",
                "a b.yaml",
                "--data",
                "d'.csv",
                "--overwrite",
            ],
            r"nnx train 'a b.yaml' --data 'd'\''.csv' --resume 1f --epochs 2",
        );
        check(
            &[
                "nnx",
                "train",
                "a",
                "--epochs=5",
                "--resume",
                "0e:best",
                "--from=x",
                "--json",
            ],
            "nnx train a --json --resume 1f --epochs 2",
        );
    }

    #[test]
    fn names_that_begin_with_a_dash_stay_names() {
        check(
            &["nnx", "train", "--data=-d.csv", "--", "-a.yaml", "--resume"],
            "nnx train --data=-d.csv --resume 1f --epochs 2 -- -a.yaml --resume",
        );
    }
}
