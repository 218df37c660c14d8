//! The files that a `.gitignore` leaves out, by the rules of git.

/// Whether the text of a `.gitignore` in the root of a repository leaves out a file.
pub(crate) fn ignores(text: &str, path: &str) -> bool {
    let folders = path.match_indices('/').map(|(slash, _)| &path[..slash]);
    // Nothing below a folder that is left out can be taken in again.
    folders
        .map(|folder| (folder, true))
        .chain([(path, false)])
        .any(|(path, is_folder)| last_word(text, path, is_folder))
}

/// Whether the last pattern that matches leaves the path out.
fn last_word(text: &str, path: &str, is_folder: bool) -> bool {
    let mut ignored = false;
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (pattern, verdict) = match line.strip_prefix('!') {
            Some(pattern) => (pattern, false),
            None => (line, true),
        };
        if is_match(pattern, path, is_folder) {
            ignored = verdict;
        }
    }
    ignored
}

fn is_match(pattern: &str, path: &str, is_folder: bool) -> bool {
    let (pattern, folders_only) = match pattern.strip_suffix('/') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    if folders_only && !is_folder {
        return false;
    }
    if pattern.contains('/') {
        let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
        return wild(pattern.as_bytes(), path.as_bytes());
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    wild(pattern.as_bytes(), name.as_bytes())
}

/// Matches `*`, `?`, `**/`, `**` and `\`; only `**` crosses a slash.
fn wild(pattern: &[u8], text: &[u8]) -> bool {
    if let Some(rest) = pattern.strip_prefix(b"**/") {
        let mut slashes = (0..text.len()).filter(|at| text[*at] == b'/');
        return wild(rest, text) || slashes.any(|at| wild(rest, &text[at + 1..]));
    }
    if let Some(rest) = pattern.strip_prefix(b"**") {
        return (0..=text.len()).any(|at| wild(rest, &text[at..]));
    }
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => {
            let slash = text.iter().position(|byte| *byte == b'/');
            (0..=slash.unwrap_or(text.len())).any(|at| wild(rest, &text[at..]))
        }
        Some((b'?', rest)) => match text.split_first() {
            Some((byte, text)) => *byte != b'/' && wild(rest, text),
            None => false,
        },
        Some((b'\\', rest)) => match (rest.split_first(), text.split_first()) {
            (Some((escaped, rest)), Some((byte, text))) => escaped == byte && wild(rest, text),
            _ => false,
        },
        Some((literal, rest)) => match text.split_first() {
            Some((byte, text)) => byte == literal && wild(rest, text),
            None => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each as `git check-ignore --no-index` of git 2.47 says.
    #[test]
    fn the_verdicts_are_those_of_git() {
        let text = "# weights\n*.safetensors\n!keep.safetensors\n/logs\ncheckpoint-*/\n\
                    a/**/b.bin\n\\#x\nsub/?.txt\n!checkpoint-1/in.txt\n";
        for ignored in [
            "m.safetensors",
            "a/m.safetensors",
            "logs",
            "logs/x/y",
            "checkpoint-1/in.txt",
            "a/checkpoint-22/z",
            "a/b.bin",
            "a/c/d/b.bin",
            "#x",
            "sub/1.txt",
        ] {
            assert!(ignores(text, ignored), "{ignored}");
        }
        for taken in [
            "keep.safetensors",
            "a/keep.safetensors",
            "a/logs",
            "checkpoint-1",
            "b.bin",
            "c/a/b.bin",
            "x",
            "sub/12.txt",
            "in/sub/1.txt",
            "m.safetensors.bak",
        ] {
            assert!(!ignores(text, taken), "{taken}");
        }
    }
}
