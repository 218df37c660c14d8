//! The model card, `README.md`.

use std::collections::BTreeSet;

use nnx_params::yaml::to_yaml_in_order;
use nnx_params::{State, Value};

use crate::setters::setters;

/// The text for a value that was not given.
const MORE: &str = "[More Information Needed]";

/// The two tags that mark a folder of this kind.
const TAGS: [&str; 2] = ["model_hub_mixin", "pytorch_model_hub_mixin"];

/// A model card: YAML for the Hub, then a few lines for readers.
///
/// The text is the one of the PyTorch mixin of `huggingface_hub`, to the byte.
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
    /// The name of the licence, if the identifier is `other`.
    pub license_name: Option<String>,
    /// The URL of that licence.
    pub license_link: Option<String>,
    /// The task, such as `text-generation`.
    pub pipeline_tag: Option<String>,
    /// Tags in addition to the two that every such folder has.
    pub tags: Vec<String>,
    /// The URL of the model's code.
    pub repo_url: Option<String>,
    /// The URL of the paper.
    pub paper_url: Option<String>,
    /// The URL of the documentation.
    pub docs_url: Option<String>,
}

impl ModelCard {
    setters! {
        library_name(text: impl Into<String>) = Some(text.into());
        license(text: impl Into<String>) = Some(text.into());
        license_name(text: impl Into<String>) = Some(text.into());
        license_link(text: impl Into<String>) = Some(text.into());
        pipeline_tag(text: impl Into<String>) = Some(text.into());
        repo_url(text: impl Into<String>) = Some(text.into());
        paper_url(text: impl Into<String>) = Some(text.into());
        docs_url(text: impl Into<String>) = Some(text.into());
    }

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
        let mut about = State::new();
        let list =
            |texts: &mut dyn Iterator<Item = &str>| Value::List(texts.map(Value::from).collect());
        if !self.language.is_empty() {
            let mut codes = self.language.iter().map(String::as_str);
            about.insert("language", list(&mut codes));
        }
        for (key, value) in [
            ("library_name", &self.library_name),
            ("license", &self.license),
            ("license_name", &self.license_name),
            ("license_link", &self.license_link),
            ("pipeline_tag", &self.pipeline_tag),
        ] {
            if let Some(value) = value {
                about.insert(key, value.as_str());
            }
        }
        let own = self.tags.iter().map(String::as_str);
        let tags: BTreeSet<&str> = own.chain(TAGS).collect();
        about.insert("tags", list(&mut tags.into_iter()));
        write!(f, "---\n{}", to_yaml_in_order(&about))?;
        let or_more = |value: &Option<String>| {
            let given = value.as_deref().filter(|value| !value.is_empty());
            given.unwrap_or(MORE).to_owned()
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that PyYAML 6 printed for the text, by `yaml_dump` of `huggingface_hub` 2.4.0.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let card = ModelCard::default().license(text).to_string();
        let line = format!("---\nlicense: {expected}\ntags:\n");
        assert!(card.starts_with(&line), "{card}");
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
        check("08", "08");
        check("0b11", "'0b11'");
        check("-0b1", "'-0b1'");
        check("0b_1", "'0b_1'");
        check("190:20:30.15", "'190:20:30.15'");
        check(
            "2001-12-14t21:59:43.10-05:00",
            "'2001-12-14t21:59:43.10-05:00'",
        );
        check("2001-12-14 21:59:43.10 -5", "'2001-12-14 21:59:43.10 -5'");
        check("...", "'...'");
        check("... a", "'... a'");
        check("a\u{2028}b", "'a\u{2028}  b'");
        check("a\u{fffe}b", "\"a\\uFFFEb\"");
        check("a\u{10ffff}b", "\"a\\U0010FFFFb\"");
        check("a\u{7f}b", "\"a\\x7Fb\"");
        check("\u{feff}a", "\"\\uFEFFa\"");
        check("1:60", "1:60");
        check("-.5", "-.5");
        check("+.5", "+.5");
        check("oFF", "oFF");
        check("TrUe", "TrUe");
        check("a\nb", "'a\n\n  b'");
        check("😀 é", "😀 é");
        check("😀\t", "\"\\U0001F600\\t\"");
        check("é\t\u{a0}", "\"é\\t\u{a0}\"");
        check(
            "a long text with many words that goes on and on until it has more than eighty columns in all",
            "a long text with many words that goes on and on until it has more than eighty\n  columns in all",
        );
        check("1._", "'1._'");
    }
}
