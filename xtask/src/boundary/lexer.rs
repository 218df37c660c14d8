//! The tokens of a Rust file.

/// A word (an identifier, a keyword or a number) or a single character of punctuation; `::` is
/// one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// The line in which it begins, from 1.
    pub(super) line: usize,
    pub(super) text: &'a str,
}

impl Token<'_> {
    /// Whether the token is an identifier or a keyword.
    pub(super) fn is_word(&self) -> bool {
        let mut characters = self.text.chars();
        characters
            .next()
            .is_some_and(|c| is_word(c) && !c.is_ascii_digit())
    }
}

/// The identifiers and keywords of a Rust file with their line numbers from 1.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = tokens(text).into_iter().filter(Token::is_word);
    words.map(|token| (token.line, token.text))
}

/// The tokens of a Rust file, without comments, strings, characters and lifetimes, and without raw
/// identifiers (`r#word`), because no raw identifier is a keyword.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let mut is_token = false;
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            string(rest)
        } else if first == '\'' {
            character_or_lifetime(rest)
        } else if is_word(first) {
            let length = word(rest);
            match raw(&rest[..length], &rest[length..]) {
                Some(behind) => length + behind,
                None => {
                    is_token = true;
                    length
                }
            }
        } else if rest.starts_with("::") {
            is_token = true;
            2
        } else {
            is_token = !first.is_whitespace();
            first.len_utf8()
        };
        let (taken, behind) = rest.split_at(length);
        if is_token {
            tokens.push(Token { line, text: taken });
        }
        line += taken.matches('\n').count();
        rest = behind;
    }
    tokens
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn word(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

/// The length of `/* … */`, which nests.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        let behind = &rest.as_bytes()[at..];
        if behind.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if behind.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of `"…"` with its escapes.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of `'c'`, of `'\…'`, or of a lifetime.
fn character_or_lifetime(rest: &str) -> usize {
    let mut behind = rest.char_indices().skip(1);
    match (behind.next(), behind.next()) {
        (Some((_, '\\')), Some((escaped, c))) => {
            // The character after the backslash may be a quote.
            let from = escaped + c.len_utf8();
            rest[from..]
                .find('\'')
                .map_or(rest.len(), |end| from + end + 1)
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1 + word(&rest[1..]),
    }
}

/// The length of the rest after a prefix word: a raw string (`r#"…"#`), or a raw identifier.
fn raw(prefix: &str, behind: &str) -> Option<usize> {
    if !matches!(prefix, "r" | "br" | "cr") {
        return None;
    }
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let body = &behind[hashes..];
    if let Some(inside) = body.strip_prefix('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
        return Some(hashes + 1 + length);
    }
    (hashes == 1 && body.starts_with(is_word)).then(|| 1 + word(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_words(text: &str, expected: &[(usize, &str)]) {
        assert_eq!(words(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn words_are_found_with_their_lines() {
        check_words(
            "fn a() {\n  unsafe { b(1u8) }\n}",
            &[(1, "fn"), (1, "a"), (2, "unsafe"), (2, "b")],
        );
        check_words("#![deny(unsafe_code)]", &[(1, "deny"), (1, "unsafe_code")]);
    }

    #[test]
    fn comments_hold_none() {
        check_words("// unsafe\nx", &[(2, "x")]);
        check_words("/* unsafe /* unsafe */ unsafe */ x", &[(1, "x")]);
        check_words("/// unsafe ' \" here\nx // no newline: unsafe", &[(2, "x")]);
    }

    #[test]
    fn strings_and_characters_hold_none() {
        check_words(r#""unsafe \" unsafe" x"#, &[(1, "x")]);
        check_words("\"two\nlines unsafe\" x", &[(2, "x")]);
        check_words("r\"unsafe\\\" x", &[(1, "x")]);
        check_words("br##\"unsafe \"# unsafe\"## x", &[(1, "x")]);
        check_words("b\"unsafe\" x", &[(1, "b"), (1, "x")]);
        check_words(r"'\'' '\\' '\u{75}' '\n' '·' x", &[(1, "x")]);
        check_words("'\"' x '\"'", &[(1, "x")]);
    }

    #[test]
    fn lifetimes_and_raw_words_are_none() {
        check_words("&'unsafe x", &[(1, "x")]);
        check_words("'a: loop {}", &[(1, "loop")]);
        check_words("r#unsafe r x", &[(1, "r"), (1, "x")]);
    }

    #[test]
    fn unfinished_files_end() {
        for text in [
            "\"unsafe",
            "/* unsafe",
            "r#\"unsafe",
            "'",
            "'\\",
            "r#",
            "'unsafe",
        ] {
            check_words(text, if text == "r#" { &[(1, "r")] } else { &[] });
        }
    }

    #[test]
    fn punctuation_is_one_token_a_character() {
        let texts: Vec<&str> = tokens("use a::{b};")
            .iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(texts, ["use", "a", "::", "{", "b", "}", ";"]);
    }
}
