//! Words of a command that a user can type.

/// A word as a POSIX shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path as a POSIX shell reads it back, and as a command does not take it for an option.
pub(crate) fn path(path: &str) -> String {
    if path.starts_with('-') {
        return quoted(&format!("./{path}"));
    }
    quoted(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_option() {
        assert_eq!(path("-a b.yaml"), "'./-a b.yaml'");
        assert_eq!(path("a.yaml"), "a.yaml");
        assert_eq!(quoted("--out"), "--out");
    }
}
