//! Patterns of file names, as in Python's `fnmatch`.

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
    let mut pattern: Vec<char> = pattern.replace('\\', "/").chars().collect();
    if pattern.last() == Some(&'/') {
        pattern.push('*');
    }
    let path: Vec<char> = path.replace('\\', "/").chars().collect();
    let (mut at, mut in_path) = (0, 0);
    // Where the last `*` stands, and how much of the path it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while in_path < path.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_path));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(&pattern[at..], path[in_path]),
            Some(c) => (*c == path[in_path]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(step), _) => {
                at += step;
                in_path += 1;
            }
            (None, Some((star_at, taken))) => {
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                in_path = taken + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// The length of a `[…]` that contains the character; 1 for an unclosed bracket, if the character
/// is a bracket.
fn class(pattern: &[char], character: char) -> Option<usize> {
    let negated = pattern.get(1) == Some(&'!');
    let first = if negated { 2 } else { 1 };
    // A bracket right at the start is one of the characters.
    let end = pattern.iter().skip(first + 1).position(|c| *c == ']');
    let Some(end) = end.map(|end| end + first + 1) else {
        return (character == '[').then_some(1);
    };
    let mut items = &pattern[first..end];
    let mut found = false;
    while let Some(low) = items.first() {
        match (items.get(1), items.get(2)) {
            (Some('-'), Some(high)) => {
                found |= (*low..=*high).contains(&character);
                items = &items[3..];
            }
            _ => {
                found |= *low == character;
                items = &items[1..];
            }
        }
    }
    (found != negated).then_some(end + 1)
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

    #[test]
    fn many_stars_take_no_time() {
        let pattern = "*a".repeat(60) + "b";
        assert!(!matches(&"a".repeat(2000), &pattern));
    }
}
