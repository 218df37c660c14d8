//! How `dump` is called, how a text is written, and the characters that break a line.

/// How `dump` was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Keys in the order of their code points, ASCII only.
    Sorted,
    /// Keys in their order, and printable characters as they are (`allow_unicode`).
    InOrder,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As it is.
    Plain,
    /// Between `'`.
    Single,
    /// Between `"`, with escapes.
    Double,
}

/// The line breaks of YAML 1.1.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
