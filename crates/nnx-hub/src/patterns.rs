//! Patterns of file names, as in the official client: those of Python's `fnmatch`, and `folder/`
//! for everything below a folder.

use nnx_params::python_text::fnmatchcase;

/// Whether a path matches at least one pattern of `allow`, if there are any, and no pattern of
/// `ignore`.
pub(crate) fn takes(path: &str, allow: Option<&[String]>, ignore: &[String]) -> bool {
    allow.is_none_or(|allow| any(path, allow)) && !any(path, ignore)
}

/// Whether a path matches one of the patterns.
pub(crate) fn any(path: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| matches(path, pattern))
}

/// Whether a path matches a pattern. Patterns are case-sensitive, `*` matches any characters
/// including slashes, and `folder/` matches everything below it.
///
/// ```
/// use nnx_hub::pattern_matches;
///
/// assert!(pattern_matches("data/a/b.json", "data/*.json"));
/// assert!(pattern_matches("logs/x", "logs/"));
/// assert!(!pattern_matches("A.json", "a.json"));
/// ```
pub fn matches(path: &str, pattern: &str) -> bool {
    let mut pattern = pattern.replace('\\', "/");
    if pattern.ends_with('/') {
        pattern.push('*');
    }
    fnmatchcase(&path.replace('\\', "/"), &pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of Python's `fnmatch.fnmatchcase`.
    #[track_caller]
    fn check(path: &str, pattern: &str, expected: bool) {
        assert_eq!(matches(path, pattern), expected, "{path} {pattern}");
    }

    #[test]
    fn patterns_are_those_of_fnmatch() {
        check("a/b/c.bin", "*.bin", true);
        check("a/b/c.bin", "a/*.bin", true);
        check("a/b/c.bin", "b/*", false);
        check("abc", "a?c", true);
        check("a/c", "a?c", true);
        check("abc", "A*", false);
        check("abc", "", false);
        check("", "*", true);
        check("a]b", "a[]]b", true);
        check("a-b", "a[!x]b", true);
        check("axb", "a[!x]b", false);
        check("a5b", "a[0-9]b", true);
        check("a[b", "a[b", true);
        check("aXbXc", "a*X*c", true);
        check("data/x", "data/", true);
        check("data", "data/", false);
        check("d\\x", "d/x", true);
        check("a-", "a[b-]", true);
        check("!", "[!]", false);
        check("[!]", "[!]", true);
    }
}
