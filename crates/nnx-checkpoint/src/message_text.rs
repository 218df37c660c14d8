//! Texts of a file as a message shows them: one line, and never long.

/// Bytes that a message shows of a text within it.
const TEXT_BYTES: usize = 64;
/// Bytes that are shown of a class or function: module and name.
const PATH_BYTES: usize = 200;
/// Bytes that are shown of a whole phrase.
const PHRASE_BYTES: usize = 600;

/// The start of a text from a file, for a message.
pub(crate) fn shown(text: &str) -> String {
    shorten(text, TEXT_BYTES)
}

/// The start of `module.name`, for a message. However long the two are, and they may be shared by
/// very many objects, no more is read of them than is shown.
pub(crate) fn shown_path(module: &str, name: &str) -> String {
    let dotted = module.chars().chain(['.']).chain(name.chars());
    shorten_characters(dotted, PATH_BYTES)
}

/// The start of a phrase that holds texts from a file, on one line.
pub(crate) fn one_line(phrase: &str) -> String {
    shorten(phrase, PHRASE_BYTES)
}

/// The start of bytes from a file that should be a text, for a message.
pub(crate) fn shown_bytes(bytes: &[u8]) -> String {
    match bytes.get(..TEXT_BYTES) {
        Some(start) if bytes.len() > TEXT_BYTES => format!("{}…", start.escape_ascii()),
        _ => bytes.escape_ascii().to_string(),
    }
}

/// The first names of a list, at most `most` of them, and how many more there are:
/// `` `a`, `b` and 3 more ``.
pub(crate) fn names_in_words(names: &[&str], most: usize) -> String {
    let shown = names.iter().take(most);
    let shown: Vec<String> = shown.map(|name| format!("`{name}`")).collect();
    let more = match names.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// At most `bytes` bytes of a text, and a sign where more would follow; control characters are
/// escaped, so that a message stays one line.
pub(crate) fn shorten(text: &str, bytes: usize) -> String {
    shorten_characters(text.chars(), bytes)
}

fn shorten_characters(characters: impl Iterator<Item = char>, bytes: usize) -> String {
    let mut out = String::new();
    for character in characters {
        let before = out.len();
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
        if out.len() > bytes {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::error::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_stays_one_line() {
        assert_eq!(shorten("weight", 6), "weight");
        assert_eq!(shorten("weights", 6), "weight…");
        assert_eq!(shorten("größe", 3), "gr…");
        assert_eq!(shorten("a\nb", 8), r"a\nb");
        assert_eq!(shorten("a\nb", 2), "a…");
        assert_eq!(shown_path("torch.nn", "Linear"), "torch.nn.Linear");
        let long = "m".repeat(300);
        assert_eq!(shown_path(&long, "N"), format!("{}…", "m".repeat(200)));
        assert_eq!(shown_path("m", &long), format!("m.{}…", "m".repeat(198)));
        assert_eq!(shown_bytes(&[b'v'; 64]), "v".repeat(64));
        assert_eq!(shown_bytes(&[b'v'; 65]), format!("{}…", "v".repeat(64)));
    }

    #[track_caller]
    fn is_short(kind: ErrorKind) {
        let long = "n".repeat(1 << 20);
        let error = Error::new(kind).in_entry(&long).in_tensor(&long).at(7);
        let message = error.to_string();
        assert!(message.len() <= 1_100, "{} bytes", message.len());
        assert!(message.contains("offset 0x7"), "{message}");
        // The names themselves are whole, for programs.
        assert_eq!(error.tensor(), Some(long.as_str()));
    }

    #[test]
    fn no_message_is_long() {
        let long = || "x".repeat(1 << 20);
        is_short(Error::malformed(long()).into_kind());
        is_short(Error::unsupported(long()).into_kind());
        is_short(ErrorKind::NameCollision { name: long() });
        is_short(ErrorKind::MissingShard { shard: long() });
        is_short(ErrorKind::UnsafeGlobal {
            module: long(),
            name: long(),
        });
        is_short(ErrorKind::NotACheckpoint {
            what: long(),
            hint: long(),
        });
    }
}
