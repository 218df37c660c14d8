//! The model card, `README.md`.

use std::collections::BTreeSet;

/// What stands where nothing was given.
const MORE: &str = "[More Information Needed]";

/// The two tags that mark a folder of this kind.
const TAGS: [&str; 2] = ["model_hub_mixin", "pytorch_model_hub_mixin"];

/// What a model card says: YAML for the Hub, then a few lines for readers.
///
/// The text is that of `huggingface_hub`'s mixin for PyTorch, to the byte.
///
/// ```
/// use nnx_hub::ModelCard;
///
/// let card = ModelCard::default().license("mit").tags(["tabular"]);
/// assert!(card.to_string().starts_with("---\nlicense: mit\ntags:\n- model_hub_mixin\n"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCard {
    /// Languages, as ISO codes.
    pub language: Vec<String>,
    /// The library that loads the model.
    pub library_name: Option<String>,
    /// The licence's identifier on the Hub, such as `apache-2.0`.
    pub license: Option<String>,
    /// The licence's name, where the identifier is `other`.
    pub license_name: Option<String>,
    /// Where that licence can be read.
    pub license_link: Option<String>,
    /// The task, such as `text-generation`.
    pub pipeline_tag: Option<String>,
    /// Tags beside the two that every folder of this kind has.
    pub tags: Vec<String>,
    /// Where the model's code is.
    pub repo_url: Option<String>,
    /// The paper.
    pub paper_url: Option<String>,
    /// The documentation.
    pub docs_url: Option<String>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident),*) => {
        impl ModelCard {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $field(mut self, value: impl Into<String>) -> Self {
                    self.$field = Some(value.into());
                    self
                }
            )*
        }
    };
}

setters! {
    /// Sets the library that loads the model.
    library_name,
    /// Sets the licence.
    license,
    /// Sets the licence's name.
    license_name,
    /// Sets where the licence can be read.
    license_link,
    /// Sets the task.
    pipeline_tag,
    /// Sets where the model's code is.
    repo_url,
    /// Sets the paper.
    paper_url,
    /// Sets the documentation.
    docs_url
}

impl ModelCard {
    /// Adds tags.
    #[must_use]
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Adds languages.
    #[must_use]
    pub fn language(mut self, codes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.language.extend(codes.into_iter().map(Into::into));
        self
    }
}

impl std::fmt::Display for ModelCard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("---\n")?;
        if !self.language.is_empty() {
            f.write_str("language:\n")?;
            for code in &self.language {
                writeln!(f, "- {}", yaml_text(code))?;
            }
        }
        for (key, value) in [
            ("library_name", &self.library_name),
            ("license", &self.license),
            ("license_name", &self.license_name),
            ("license_link", &self.license_link),
            ("pipeline_tag", &self.pipeline_tag),
        ] {
            if let Some(value) = value {
                writeln!(f, "{key}: {}", yaml_text(value))?;
            }
        }
        f.write_str("tags:\n")?;
        let own = self.tags.iter().map(String::as_str);
        for tag in own.chain(TAGS).collect::<BTreeSet<_>>() {
            writeln!(f, "- {}", yaml_text(tag))?;
        }
        let or_more = |value: &Option<String>| value.clone().unwrap_or_else(|| MORE.to_owned());
        write!(
            f,
            "---\n\nThis model has been pushed to the Hub using the [PytorchModelHubMixin]\
             (https://huggingface.co/docs/huggingface_hub/package_reference/mixins\
             #huggingface_hub.PyTorchModelHubMixin) integration:\n\
             - Code: {}\n- Paper: {}\n- Docs: {}",
            or_more(&self.repo_url),
            or_more(&self.paper_url),
            or_more(&self.docs_url),
        )
    }
}

/// A text as PyYAML writes it in a block: plain where that is read back as the same text, else in
/// single quotes, else, with what single quotes cannot hold, in double quotes.
fn yaml_text(text: &str) -> String {
    if text.chars().any(|c| c.is_control() || c == '\u{feff}') {
        return nnx_params::python_text::json_dumps(&text.into());
    }
    if is_plain(text) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether YAML 1.1 reads the bare text as that text.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<", ".inf",
        "-.inf", "+.inf", ".nan",
    ];
    let lower = text.to_ascii_lowercase();
    // Single letters are texts to PyYAML.
    let word = WORDS.contains(&lower.as_str()) && !matches!(lower.as_str(), "y" | "n");
    let first = text.chars().next().unwrap_or(' ');
    let starts_like_more = "-?:,[]{}#&*!|>'\"%@`".contains(first)
        && !(matches!(first, '-' | '?' | ':') && text.len() > 1 && !text[1..].starts_with(' '));
    !word
        && !starts_like_more
        && !is_number(text)
        && !text.starts_with("---")
        && !text.starts_with(' ')
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Whether YAML 1.1 reads the bare text as a number or a date.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || c == '_')
    };
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(hex) = number.strip_prefix("0x") {
        return !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit() || c == '_');
    }
    let is_float = number.split_once('.').is_some_and(|(whole, rest)| {
        let (fraction, exponent) = match rest.split_once(['e', 'E']) {
            Some((fraction, exponent)) => (fraction, exponent.strip_prefix(['-', '+'])),
            None => (rest, Some("0")),
        };
        (digits(whole) || whole.is_empty() && !fraction.is_empty())
            && (fraction.is_empty() || digits(fraction))
            && exponent.is_some_and(digits)
    });
    let parts = |separator| number.split(separator).all(digits);
    let is_date = parts('-') && number.split('-').count() == 3 && number.find('-') == Some(4);
    digits(number) || is_float || parts(':') || is_date
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that PyYAML 6 printed for the text.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(yaml_text(text), expected);
    }

    #[test]
    fn texts_are_quoted_as_pyyaml_quotes_them() {
        check("apache-2.0", "apache-2.0");
        check("no", "'no'");
        check("1.5", "'1.5'");
        check("it's", "it's");
        check("a: b", "'a: b'");
        check("#x", "'#x'");
        check("", "''");
        check("y", "y");
        check("日本", "日本");
        check("- a", "'- a'");
        check("-a", "-a");
        check("2024-01-01", "'2024-01-01'");
        check("12:30", "'12:30'");
        check("0x1f", "'0x1f'");
        check("1_000", "'1_000'");
        check("1.0.0", "1.0.0");
        check("1e5", "1e5");
        check("a:", "'a:'");
        check("=", "'='");
        check("a\tb", r#""a\tb""#);
    }
}
