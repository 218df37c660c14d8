//! Wraps text to the width of a terminal.

use unicode_width::UnicodeWidthStr;

use crate::terminal::Page;

/// A narrower terminal gets a smaller indent.
const WIDTH_FOR_INDENT: usize = 60;
/// The smaller indent.
const SMALL_INDENT: usize = 2;

/// The text as indented lines, wrapped between words at the width of the terminal. A word that is
/// longer than a line is not split.
pub(crate) fn wrapped(text: &str, indent: usize, page: &Page) -> String {
    let Some(width) = page.width else {
        return format!("{:indent$}{text}\n", "");
    };
    let indent = if width < WIDTH_FOR_INDENT {
        indent.min(SMALL_INDENT)
    } else {
        indent
    };
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let room = width.saturating_sub(used + 1);
        if used > 0 && word.width() > room {
            out.push('\n');
            used = 0;
        }
        if used == 0 {
            out.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += word.width();
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(width: Option<usize>, expected: &str) {
        assert_eq!(
            wrapped("one two threethree four", 4, &Page::plain(width)),
            expected
        );
    }

    #[test]
    fn lines_end_between_words() {
        check(None, "    one two threethree four\n");
        check(Some(12), "  one two\n  threethree\n  four\n");
        check(Some(8), "  one\n  two\n  threethree\n  four\n");
        check(Some(60), "    one two threethree four\n");
    }
}
