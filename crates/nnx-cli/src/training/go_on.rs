//! How a training that was interrupted goes on.

use std::ffi::OsString;

/// The options that the command to go on has anew; the first ones have a value.
const WITH_VALUE: [&str; 3] = ["--resume", "--from", "--epochs"];
const ALONE: [&str; 1] = ["--overwrite"];

/// The command that goes on from a run for so many epochs, as a user of a shell types it.
pub(super) fn command(words: impl Iterator<Item = OsString>, run: &str, epochs: usize) -> String {
    let mut out = "nnx".to_owned();
    let mut words = words
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
            continue;
        }
        let is_left_out = WITH_VALUE.iter().any(|option| {
            let value = word.strip_prefix(option);
            value.is_some_and(|value| value.starts_with('='))
        });
        if !is_left_out && !ALONE.contains(&word.as_str()) {
            out.push(' ');
            out.push_str(&quoted(&word));
        }
    }
    out.push_str(&format!(" --resume {run} --epochs {epochs}"));
    out
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let words = words.iter().map(OsString::from);
        assert_eq!(command(words, "1f", 2), expected);
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
}
