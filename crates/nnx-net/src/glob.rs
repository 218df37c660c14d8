//! Shell patterns, as Python's `fnmatch.fnmatchcase` reads them.

/// Whether a name matches a pattern: `*` is any text, dots included, `?` any character, `[a-z]` one
/// of a set and `[!a-z]` one outside it.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and up to where it reaches.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if let Some(next) = one(&pattern, p, name[n]) {
            (p, n) = (next, n + 1);
        } else if let Some((at, reach)) = star {
            star = Some((at, reach + 1));
            (p, n) = (at + 1, reach + 1);
        } else {
            return false;
        }
    }
    pattern.iter().skip(p).all(|rest| *rest == '*')
}

/// The place behind the part of the pattern that takes this character, if it does.
fn one(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => {
            let start = at + 1;
            let negated = pattern.get(start) == Some(&'!');
            let start = start + usize::from(negated);
            // A bracket in the first place belongs to the set.
            let from = start + usize::from(pattern.get(start) == Some(&']'));
            let Some(len) = pattern.iter().skip(from).position(|c| *c == ']') else {
                return (c == '[').then_some(at + 1);
            };
            let end = from + len;
            (in_set(&pattern[start..end], c) != negated).then_some(end + 1)
        }
        literal => (*literal == c).then_some(at + 1),
    }
}

fn in_set(set: &[char], c: char) -> bool {
    match set {
        [] => false,
        [low, '-', high, rest @ ..] => (*low..=*high).contains(&c) || in_set(rest, c),
        [one, rest @ ..] => *one == c || in_set(rest, c),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_what_fnmatchcase_matches() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "layers.0.weight", true),
            ("layers.*", "layers.0.weight", true),
            ("*.bias", "layers.0.weight", false),
            ("layers.?.weight", "layers.0.weight", true),
            ("layers.?.weight", "layers.10.weight", false),
            ("layers.[0-3].*", "layers.2.bias", true),
            ("layers.[!0-3].*", "layers.2.bias", false),
            ("layers.[!0-3].*", "layers.7.bias", true),
            ("[]]", "]", true),
            ("[!]]", "]", false),
            ("[", "[", true),
            ("a[b", "a[b", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("Layers.*", "layers.0.bias", false),
            ("[a-]", "-", true),
            ("[z-a]", "m", false),
            ("", "a", false),
            ("**", "ab", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
