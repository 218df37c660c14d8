//! Scalars on the page: quoting, escaping and folding as PyYAML does them.

use super::style::{Mode, Style, is_break};

/// The column from which on a line is folded.
const WIDTH: usize = 80;

/// A text that grows, and the column it has got to.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    column: usize,
    mode: Mode,
}

impl Page {
    /// An empty one.
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            text: String::new(),
            column: 0,
            mode,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// The whole text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Adds characters that hold no line break.
    pub(super) fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.column = self.column.saturating_add(text.chars().count());
    }

    /// Ends the line.
    pub(super) fn end_line(&mut self) {
        self.text.push('\n');
        self.column = 0;
    }

    /// Begins a new line at a column.
    fn fold(&mut self, indent: usize) {
        self.end_line();
        self.put(&" ".repeat(indent));
    }

    /// Writes a scalar, whose further lines begin at `indent`; a key is never folded.
    pub(super) fn scalar(&mut self, text: &str, style: Style, indent: usize, is_key: bool) {
        match style {
            Style::Plain => self.flowing(text, None, indent, !is_key),
            Style::Single => self.flowing(text, Some('\''), indent, !is_key),
            Style::Double => self.escaped(text, indent, !is_key),
        }
    }

    /// A plain or single-quoted scalar: runs of spaces, of line breaks and of anything else.
    fn flowing(&mut self, text: &str, quote: Option<char>, indent: usize, may_fold: bool) {
        if let Some(quote) = quote {
            self.put(quote.encode_utf8(&mut [0; 4]));
        }
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_same = |c: char| (c == ' ') == (first == ' ') && is_break(c) == is_break(first);
            let end = rest.find(|c| !is_same(c)).unwrap_or(rest.len());
            let (run, tail) = rest.split_at(end);
            let at_edge = tail.is_empty() || rest.len() == text.len();
            if is_break(first) {
                // A single line feed would be read as a space.
                if first == '\n' {
                    self.end_line();
                }
                for c in run.chars() {
                    match c {
                        '\n' => self.end_line(),
                        c => {
                            self.text.push(c);
                            self.column = 0;
                        }
                    }
                }
                self.put(&" ".repeat(indent));
            } else if run == " " && may_fold && !at_edge && self.column > WIDTH {
                self.fold(indent);
            } else if quote.is_some() {
                self.put(&run.replace('\'', "''"));
            } else {
                self.put(run);
            }
            rest = tail;
        }
        if let Some(quote) = quote {
            self.put(quote.encode_utf8(&mut [0; 4]));
        }
    }

    /// A double-quoted scalar. A folded line ends in a backslash; where the next one begins with a
    /// space, a backslash keeps it.
    fn escaped(&mut self, text: &str, indent: usize, may_fold: bool) {
        self.put("\"");
        // Characters that wait to be written, which PyYAML does in whole runs: where a line is
        // folded depends on it.
        let mut run = String::new();
        let mut waiting: usize = 0;
        let mut characters = text.chars().enumerate().peekable();
        while let Some((index, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let escape = escape(c, self.mode);
            if let Some(escape) = &escape {
                self.put(&std::mem::take(&mut run));
                self.put(escape);
                waiting = 0;
            }
            let column = match escape {
                // PyYAML counts one character less behind an escape.
                Some(_) => self.column.saturating_sub(1),
                None => self.column.saturating_add(waiting),
            };
            let may_fold_here = may_fold && index > 0 && next.is_some();
            let is_between_runs = c == ' ' || escape.is_some() || waiting == 0;
            if may_fold_here && is_between_runs && column > WIDTH {
                self.put(&std::mem::take(&mut run));
                waiting = 0;
                self.put("\\");
                self.fold(indent);
                let first = if escape.is_some() { next } else { Some(c) };
                if first == Some(' ') {
                    self.put("\\");
                }
            }
            if escape.is_none() {
                run.push(c);
                waiting = waiting.saturating_add(1);
            }
        }
        self.put(&run);
        self.put("\"");
    }
}

/// The escape of a character that needs one.
fn escape(c: char, mode: Mode) -> Option<String> {
    let name = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{a0}' if mode == Mode::Sorted => '_',
        '\u{a0}' => return None,
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        ' '..='~' => return None,
        '\u{a1}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}'
            if mode == Mode::InOrder =>
        {
            return None;
        }
        _ => {
            let code = u32::from(c);
            return Some(match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            });
        }
    };
    Some(format!("\\{name}"))
}
