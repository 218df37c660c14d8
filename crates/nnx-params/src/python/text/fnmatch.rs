//! Shell patterns, as Python's `fnmatch.fnmatchcase` reads them.

/// Whether a name matches a pattern: `*` is any text, slashes and dots included, `?` any
/// character, `[a-z]` one of a set and `[!a-z]` one outside it. Letter case counts.
///
/// ```
/// use nnx_params::python_text::fnmatchcase;
///
/// assert!(fnmatchcase("layers.0.weight", "layers.[0-3].*"));
/// assert!(!fnmatchcase("Layers.0.weight", "layers.*"));
/// ```
pub fn fnmatchcase(name: &str, pattern: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name) = (0, 0);
    // Where the last `*` is, and how much of the name it matches so far. Only the last one is
    // ever extended, so that many of them cost no more than one.
    let mut star: Option<(usize, usize)> = None;
    while let Some(&character) = name.get(in_name) {
        let rest = pattern.get(at..).unwrap_or_default();
        let step = match rest.first() {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => set(rest, character),
            Some(literal) => (*literal == character).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(step), _) => {
                at += step;
                in_name += 1;
            }
            (None, Some((star_at, taken))) => {
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                in_name = taken + 1;
            }
            (None, None) => return false,
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

/// The length of the set that a pattern begins with, if the character is in it. A bracket that
/// is not closed is an ordinary character.
fn set(pattern: &[char], character: char) -> Option<usize> {
    let is_negated = pattern.get(1) == Some(&'!');
    let first = 1 + usize::from(is_negated);
    // A bracket right at the start is one of the characters.
    let Some(length) = pattern.iter().skip(first + 1).position(|c| *c == ']') else {
        return (character == '[').then_some(1);
    };
    let end = first + 1 + length;
    let mut items = pattern.get(first..end).unwrap_or_default();
    let mut is_in = false;
    loop {
        items = match items {
            [] => break,
            [low, '-', high, rest @ ..] => {
                is_in |= (*low..=*high).contains(&character);
                rest
            }
            [one, rest @ ..] => {
                is_in |= *one == character;
                rest
            }
        };
    }
    (is_in != is_negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::fnmatchcase;

    /// Answers of Python's `fnmatch.fnmatchcase`.
    #[test]
    fn patterns_match_what_python_matches() {
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
            ("[!]", "!", false),
            ("[!]", "[!]", true),
            ("a/*.bin", "a/b/c.bin", true),
        ] {
            assert_eq!(fnmatchcase(name, pattern), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = "*a".repeat(60) + "b";
        assert!(!fnmatchcase(&"a".repeat(2000), &pattern));
    }
}
