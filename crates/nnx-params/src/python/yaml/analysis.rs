//! The styles in which a scalar may be written, by the rules of PyYAML's emitter.

use super::resolve::{Resolved, resolve};
use super::style::{Mode, Style, is_break};

/// The neighbours of an indicator that make it one.
fn is_blank(c: char) -> bool {
    matches!(c, '\0' | ' ' | '\t' | '\r') || is_break(c)
}

/// Whether a text can be the key of a mapping on one line.
pub(super) fn is_simple_key(text: &str) -> bool {
    /// The most characters, those of the tag `!!str` included, which PyYAML counts.
    const MAX_CHARS: usize = 127;
    const TAG_CHARS: usize = "!!str".len();

    !text.is_empty()
        && !text.contains(is_break)
        && text.chars().count().saturating_add(TAG_CHARS) <= MAX_CHARS
}

/// The style of a text in a block collection.
pub(super) fn style(text: &str, is_key: bool, mode: Mode) -> Style {
    let features = TextFeatures::new(text, mode);
    let is_multiline_key = is_key && features.breaks;
    let is_empty_key = is_key && text.is_empty();
    let may_be_plain = !features.forbids_plain() && !is_empty_key;
    if may_be_plain && resolve(text) == Resolved::Text {
        Style::Plain
    } else if !features.forbids_single() && !is_multiline_key {
        Style::Single
    } else {
        Style::Double
    }
}

/// The features of a text that limit its style.
#[derive(Debug, Default)]
struct TextFeatures {
    /// A character, or a pair, that would be read as part of the syntax.
    indicator: bool,
    /// A character that must be escaped.
    special: bool,
    /// A line break.
    breaks: bool,
    /// A space or a line break at either end.
    blank_edge: bool,
    /// A space behind a line break.
    break_space: bool,
    /// A line break behind a space.
    space_break: bool,
}

impl TextFeatures {
    fn new(text: &str, mode: Mode) -> Self {
        let mut features = Self {
            indicator: text.starts_with("---") || text.starts_with("..."),
            ..Self::default()
        };
        let mut previous = None;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let next = characters.peek().copied();
            features.indicator |= is_indicator(previous, c, next);
            features.breaks |= is_break(c);
            features.special |= is_special(c, mode);
            let at_edge = previous.is_none() || next.is_none();
            features.blank_edge |= at_edge && (c == ' ' || is_break(c));
            features.break_space |= c == ' ' && previous.is_some_and(is_break);
            features.space_break |= is_break(c) && previous == Some(' ');
            previous = Some(c);
        }
        features
    }

    fn forbids_plain(&self) -> bool {
        self.indicator || self.breaks || self.blank_edge || self.forbids_single()
    }

    fn forbids_single(&self) -> bool {
        self.break_space || self.space_break || self.special
    }
}

/// Whether a character must be escaped.
fn is_special(c: char, mode: Mode) -> bool {
    let is_printable = matches!(
        c,
        '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}'
            | '\u{10000}'..='\u{10fffe}'
    );
    match c {
        '\n' | ' '..='~' => false,
        _ => mode == Mode::Sorted || !is_printable,
    }
}

/// Whether a character between its neighbours would be read as syntax in a block collection.
fn is_indicator(previous: Option<char>, c: char, next: Option<char>) -> bool {
    let before_blank = next.is_none_or(is_blank);
    match (previous, c) {
        (None, '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>') => true,
        (None, '\'' | '"' | '%' | '@' | '`') => true,
        (None, '?' | '-') | (_, ':') => before_blank,
        (Some(previous), '#') => is_blank(previous),
        _ => false,
    }
}
