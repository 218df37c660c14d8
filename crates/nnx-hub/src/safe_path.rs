//! Names of files that come from outside: from a repository's listing, or from a model's code.

use crate::error::{Error, ErrorKind, Result, shown};

/// Checks that a name leads to a file within its folder, on every system alike.
///
/// # Errors
/// [`ErrorKind::UnsafePath`] when it does not.
pub(crate) fn check(path: &str) -> Result<()> {
    check_listed(path)?;
    let why = if path.contains('\\') || path.contains(':') {
        "`\\` and `:` mean different things on different systems"
    } else if path.split('/').any(|part| part.ends_with(['.', ' '])) {
        "a part ends in a dot or a space"
    } else {
        return Ok(());
    };
    Err(refused(path, why))
}

/// Checks that a name in a listing does not lead out of the repository. The name may still be one
/// that some systems do not allow, which matters only when the file is requested.
///
/// # Errors
/// [`ErrorKind::UnsafePath`] when it is.
pub(crate) fn check_listed(path: &str) -> Result<()> {
    let why = if path.is_empty() {
        "it is empty"
    } else if path.chars().any(char::is_control) {
        "it holds control characters"
    } else if path.len() > MAX_BYTES {
        "it is too long"
    } else {
        match path.split('/').find_map(component) {
            Some(why) => why,
            None => return Ok(()),
        }
    };
    Err(refused(path, why))
}

#[cold]
fn refused(path: &str, why: &'static str) -> Error {
    Error::from(ErrorKind::UnsafePath {
        path: shown(path),
        why,
    })
}

/// The longest path that is accepted.
const MAX_BYTES: usize = 1024;

/// The reason why one part of a path is not accepted.
fn component(part: &str) -> Option<&'static str> {
    match part {
        "" => Some("it is absolute, or has an empty part"),
        "." | ".." => Some("it leads upwards"),
        _ if part.eq_ignore_ascii_case(".git") => Some("`.git` is git's own"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(path: &str) {
        let error = check(path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnsafePath { .. }));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for path in [
            "",
            "/etc/passwd",
            "..",
            "../x",
            "a/../../x",
            "a//b",
            "./a",
            "a\\..\\b",
            "C:x",
            "a\0b",
            ".git/config",
            "a/.GIT/hooks/x",
            "a/",
            "a\nb",
            "a/b.",
        ] {
            check_refused(path);
        }
        check_refused(&"a".repeat(2000));
    }

    #[test]
    fn what_a_terminal_would_obey_is_told_and_not_obeyed() {
        let text = check("a\u{1b}[2J\nb").unwrap_err().to_string();
        assert!(text.contains("`a\\u{1b}[2J\\nb`"), "{text}");
        let text = check(&"é".repeat(2000)).unwrap_err().to_string();
        assert!(text.contains("é…`") && text.chars().count() < 400, "{text}");
    }

    #[test]
    fn a_listing_may_have_names_that_other_systems_refuse() {
        for path in ["a:b", "a\\b", "a ", "b./c"] {
            check_listed(path).unwrap();
            check_refused(path);
        }
    }

    #[test]
    fn ordinary_names_pass() {
        for path in [
            "a",
            "a/b.txt",
            ".gitattributes",
            "..a",
            "a b",
            "日本/x",
            "a..b",
        ] {
            check(path).unwrap();
        }
    }
}
