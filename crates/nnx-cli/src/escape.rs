//! Makes text from files safe to show.

use std::borrow::Cow;

/// Escapes every character that a terminal would interpret or not show: control characters, line
/// separators, and invisible characters that reorder or hide text.
///
/// A backslash is not escaped: this text is for people, and JSON is exact.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal would interpret the character or show nothing for it.
pub(crate) fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // Unicode's format characters (category Cf) and its line and paragraph separators: the
            // soft hyphen, marks of direction, zero-width characters, annotations and tags.
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{180e}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(escaped(text), expected);
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        check("a\nb\tc\r", r"a\nb\tc\r");
        check("\u{1b}[31mred", r"\u{1b}[31mred");
        check("\u{7f}\u{9b}2J", r"\u{7f}\u{9b}2J");
        check("abc\u{202e}cba\u{2066}", r"abc\u{202e}cba\u{2066}");
        check("\u{feff}\u{200b}\u{2028}", r"\u{feff}\u{200b}\u{2028}");
    }

    #[test]
    fn what_people_write_stays() {
        check(r"C:\models\é 模型 😀.pt", r"C:\models\é 模型 😀.pt");
    }
}
