//! The crate's one error: the class and the field, the domain, and the found value.

use std::fmt;

use crate::repr::repr;
use crate::value::Value;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The most characters of a value that an error shows.
const MAX_SHOWN_CHARS: usize = 120;

/// An error in a configuration or a text, with its position. It is one word wide, so that results
/// stay small.
///
/// ```
/// use nnx_params::{ErrorKind, NNParams};
///
/// let error = NNParams::builder(0, 2).dropout_prob(0.1).build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "NNParams.input_dim must be an integer > 0, found `0` (int)"
/// );
/// assert!(matches!(error.kind(), ErrorKind::Invalid { field, .. } if field == "input_dim"));
/// assert_eq!(error.python_exception(), "ValueError");
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    place: Option<(&'static str, String)>,
}

/// The causes that a caller handles differently.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A state lacks a key that its class cannot do without.
    #[error("a {class} state must have the key `{key}`, found none")]
    MissingKey {
        /// The Python class.
        class: &'static str,
        /// The key.
        key: String,
    },
    /// A constructor was not given a field that has no default.
    #[error("{class}.{field} must be given, found nothing")]
    MissingField {
        /// The Python class.
        class: &'static str,
        /// The field.
        field: String,
    },
    /// A constructor was given a field that its class does not have.
    #[error("{class} has no field `{field}`")]
    UnexpectedField {
        /// The Python class.
        class: &'static str,
        /// The field.
        field: String,
    },
    /// A value outside its domain.
    #[error("{class}.{field} must be {domain}, found {value}")]
    Invalid {
        /// The Python class.
        class: &'static str,
        /// The field.
        field: String,
        /// The domain of the field.
        domain: String,
        /// The found value, in backticks and with its Python type.
        value: String,
    },
    /// A value of a type that the field cannot hold.
    #[error("{class}.{field} must be {expected}, found {value}")]
    WrongType {
        /// The Python class.
        class: &'static str,
        /// The field.
        field: String,
        /// The type that the field holds.
        expected: String,
        /// The found value, in backticks and with its Python type.
        value: String,
    },
    /// A text that does not follow its grammar.
    #[error("expected {expected} in {form} at byte {offset}, found {found}")]
    Syntax {
        /// The grammar.
        form: TextForm,
        /// Bytes from the start of the text.
        offset: usize,
        /// The texts that the grammar allows there.
        expected: &'static str,
        /// The text that is there.
        found: String,
    },
    /// A Python expression that is not one of the literals that states hold.
    #[error("expected a Python literal at byte {offset}, found {found}")]
    NotALiteral {
        /// Bytes from the start of the text.
        offset: usize,
        /// The text that is there.
        found: String,
    },
    /// An integer beyond the 128 bits that a [`Value`] holds.
    #[error(
        "expected an integer of at most 128 bits in {form} at byte {offset}, found {digits} digits"
    )]
    IntegerRange {
        /// The grammar.
        form: TextForm,
        /// Bytes from the start of the text.
        offset: usize,
        /// How many characters the integer has.
        digits: usize,
    },
    /// A text nested deeper than is ever needed.
    #[error("expected at most {limit} levels of nesting in {form}, found more at byte {offset}")]
    Depth {
        /// The grammar.
        form: TextForm,
        /// Bytes from the start of the text.
        offset: usize,
        /// The levels allowed.
        limit: usize,
    },
    /// A text of more values than are ever needed.
    #[error("expected at most {limit} values in {form}, found more at byte {offset}")]
    Values {
        /// The grammar.
        form: TextForm,
        /// Bytes from the start of the text.
        offset: usize,
        /// The values allowed.
        limit: usize,
    },
}

/// A grammar of [`python_text`](crate::python::text).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextForm {
    /// The JSON that Python's `json` module reads and writes.
    Json,
    /// The literals that Python's `ast.literal_eval` reads.
    Literal,
}

impl fmt::Display for TextForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Literal => "a Python literal",
        })
    }
}

impl ErrorKind {
    /// The kind's name in `snake_case`, which stays the same from version to version: for scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MissingKey { .. } => "missing_key",
            Self::MissingField { .. } => "missing_field",
            Self::UnexpectedField { .. } => "unexpected_field",
            Self::Invalid { .. } => "invalid",
            Self::WrongType { .. } => "wrong_type",
            Self::Syntax { .. } => "syntax",
            Self::NotALiteral { .. } => "not_a_literal",
            Self::IntegerRange { .. } => "integer_range",
            Self::Depth { .. } => "depth",
            Self::Values { .. } => "values",
        }
    }
}

impl Error {
    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The name of the cause: [`ErrorKind::name`].
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The cause, owned.
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// The Python class at fault, where one is known.
    pub fn class(&self) -> Option<&'static str> {
        match self.kind() {
            ErrorKind::MissingKey { class, .. }
            | ErrorKind::MissingField { class, .. }
            | ErrorKind::UnexpectedField { class, .. }
            | ErrorKind::Invalid { class, .. }
            | ErrorKind::WrongType { class, .. } => Some(class),
            _ => self.0.place.as_ref().map(|(class, _)| *class),
        }
    }

    /// The field or state key at fault, where one is known.
    pub fn field(&self) -> Option<&str> {
        match self.kind() {
            ErrorKind::MissingKey { key: field, .. }
            | ErrorKind::MissingField { field, .. }
            | ErrorKind::UnexpectedField { field, .. }
            | ErrorKind::Invalid { field, .. }
            | ErrorKind::WrongType { field, .. } => Some(field),
            _ => self.0.place.as_ref().map(|(_, field)| field.as_str()),
        }
    }

    /// The name of the exception that the Python library raises for this.
    pub fn python_exception(&self) -> &'static str {
        match self.kind() {
            ErrorKind::MissingKey { .. } => "KeyError",
            ErrorKind::MissingField { .. }
            | ErrorKind::UnexpectedField { .. }
            | ErrorKind::WrongType { .. } => "TypeError",
            ErrorKind::Syntax {
                form: TextForm::Literal,
                ..
            } => "SyntaxError",
            ErrorKind::Depth { .. } => "RecursionError",
            _ => "ValueError",
        }
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, place: None }))
    }

    /// A state without a key it must have.
    #[cold]
    pub(crate) fn missing_key(class: &'static str, key: &str) -> Self {
        let key = key.to_owned();
        Self::new(ErrorKind::MissingKey { class, key })
    }

    /// A value outside its domain.
    #[cold]
    pub(crate) fn invalid(
        class: &'static str,
        field: &str,
        domain: impl Into<String>,
        value: &Value,
    ) -> Self {
        Self::new(ErrorKind::Invalid {
            class,
            field: field.to_owned(),
            domain: domain.into(),
            value: shown(value),
        })
    }

    /// Fields that do not fit each other; `found` says what they are.
    #[cold]
    pub(crate) fn inconsistent(
        class: &'static str,
        field: &str,
        domain: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::Invalid {
            class,
            field: field.to_owned(),
            domain: domain.into(),
            value: found.into(),
        })
    }

    /// A value of a type that the field cannot hold.
    #[cold]
    pub(crate) fn wrong_type(
        class: &'static str,
        field: &str,
        expected: impl Into<String>,
        value: &Value,
    ) -> Self {
        Self::new(ErrorKind::WrongType {
            class,
            field: field.to_owned(),
            expected: expected.into(),
            value: shown(value),
        })
    }

    /// Names the field whose text is at fault, unless the kind or an earlier call names one.
    #[cold]
    pub(crate) fn in_field(mut self, class: &'static str, field: &str) -> Self {
        self.0
            .place
            .get_or_insert_with(|| (class, field.to_owned()));
        self
    }
}

/// The value as Python shows it, cut where it gets long, and its type.
fn shown(value: &Value) -> String {
    let text = repr(value);
    let kind = value.type_name();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        None => format!("`{text}` ({kind})"),
        Some((end, _)) => {
            let head = text.get(..end).unwrap_or_default();
            format!("`{head}…` ({kind}, {} characters)", text.chars().count())
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((class, field)) = &self.0.place {
            write!(f, "{class}.{field}: ")?;
        }
        write!(f, "{}", self.0.kind)
    }
}

impl std::error::Error for Error {}
