//! YAML as PyYAML's `safe_dump` writes it and its `safe_load` reads it, by the rules of YAML 1.1.

use std::borrow::Cow;
use std::collections::HashMap;

use nnx_params::yaml::{Resolved, resolve};
use nnx_params::{State, Value};
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::error::{Error, Result, shown};
use crate::limits::{MAX_YAML_BYTES, MAX_YAML_DEPTH, MAX_YAML_VALUES};

pub use nnx_params::yaml::to_yaml;

/// Reads one YAML document as PyYAML's `safe_load` does. Plain scalars have their meaning in YAML 1.1:
/// `1e5` is a text, and `012` is ten. An empty text is `None`.
///
/// ```
/// use nnx_params::Value;
/// use nnx_run::yaml::from_yaml;
///
/// let value = from_yaml("salt: 1e5\nlr: 1.0e-05\n")?;
/// let state = value.as_map().ok_or("no mapping")?;
/// assert_eq!(state.get("salt"), Some(&Value::from("1e5")));
/// assert_eq!(state.get("lr"), Some(&Value::from(1e-5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the text is not YAML, has several documents, is larger than [`crate::limits`] allows after its
/// aliases are expanded, or has an alias inside its own anchor.
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when PyYAML reads it and a state cannot
/// hold it: a timestamp, a set, a merge key, a key that is not a text.
pub fn from_yaml(text: &str) -> Result<Value> {
    if text.len() as u64 > MAX_YAML_BYTES {
        return Err(Error::limit("bytes of YAML", MAX_YAML_BYTES));
    }
    let mut builder = YamlBuilder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            Error::malformed(format!("expected YAML: {}", shown(&error.to_string())))
        })?;
        builder.take(event, span)?;
    }
    Ok(builder.document.unwrap_or(Value::None))
}

/// A collection that is still open.
#[derive(Debug)]
struct OpenCollection {
    anchor: usize,
    collection: Collection,
    /// The number of values in it so far, including itself.
    values: u64,
}

#[derive(Debug)]
enum Collection {
    List(Vec<Value>),
    Map { state: State, key: Option<String> },
}

#[derive(Debug, Default)]
struct YamlBuilder {
    open: Vec<OpenCollection>,
    /// The anchored values, each with its number of values.
    anchors: HashMap<usize, (Value, u64)>,
    document: Option<Value>,
    /// The number of values so far, including the copies of anchored values.
    total: u64,
}

impl YamlBuilder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = if self.wants_key() {
                    key(&text, style, tag.as_deref(), span)?
                } else {
                    scalar(&text, style, tag.as_deref(), span)?
                };
                self.finish(value, 1, anchor, span)
            }
            Event::SequenceStart(anchor, tag) => {
                expect_tag(tag, "seq", span)?;
                self.begin(anchor, Collection::List(Vec::new()), span)
            }
            Event::MappingStart(anchor, tag) => {
                expect_tag(tag, "map", span)?;
                let state = State::new();
                self.begin(anchor, Collection::Map { state, key: None }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Err(at(span, "the start of a collection", "its end"));
                };
                let value = match open.collection {
                    Collection::List(items) => Value::List(items),
                    Collection::Map { state, .. } => Value::Map(state),
                };
                // The collection itself was counted when it began.
                self.total = self.total.saturating_sub(1);
                self.finish(value, open.values, open.anchor, span)
            }
            Event::Alias(anchor) => {
                let Some((_, values)) = self.anchors.get(&anchor) else {
                    return Err(at(span, "an alias of an earlier anchor", "another alias"));
                };
                let values = *values;
                self.spend(values)?;
                let value = match self.anchors.get(&anchor) {
                    Some((value, _)) => value.clone(),
                    None => Value::None,
                };
                self.total = self.total.saturating_sub(1);
                self.finish(value, values, 0, span)
            }
            Event::DocumentStart(_) if self.document.is_some() => {
                Err(at(span, "one document", "a second one"))
            }
            _ => Ok(()),
        }
    }

    fn wants_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(OpenCollection {
                collection: Collection::Map { key: None, .. },
                ..
            })
        )
    }

    fn spend(&mut self, values: u64) -> Result<()> {
        self.total = self.total.saturating_add(values);
        if self.total > MAX_YAML_VALUES {
            return Err(Error::limit("values of YAML", MAX_YAML_VALUES));
        }
        Ok(())
    }

    fn begin(&mut self, anchor: usize, collection: Collection, span: Span) -> Result<()> {
        if self.wants_key() {
            return Err(at(span, "a text as key", "a collection"));
        }
        if self.open.len() as u64 >= MAX_YAML_DEPTH {
            return Err(Error::limit("levels of YAML", MAX_YAML_DEPTH));
        }
        self.spend(1)?;
        let values = 1;
        self.open.push(OpenCollection {
            anchor,
            collection,
            values,
        });
        Ok(())
    }

    /// Adds a complete value to the open collection, or makes it the document.
    fn finish(&mut self, value: Value, values: u64, anchor: usize, span: Span) -> Result<()> {
        self.spend(1)?;
        if anchor != 0 {
            // The copy that is kept for aliases takes memory as well.
            self.spend(values)?;
            self.anchors.insert(anchor, (value.clone(), values));
        }
        let Some(open) = self.open.last_mut() else {
            self.document = Some(value);
            return Ok(());
        };
        open.values = open.values.saturating_add(values);
        match &mut open.collection {
            Collection::List(items) => items.push(value),
            Collection::Map { state, key } => match (key.take(), value) {
                (Some(key), value) => {
                    state.insert(key, value);
                }
                (None, Value::Str(text)) => *key = Some(text),
                (None, _) => {
                    return Err(foreign(span, "a text as key", "a value of another type"));
                }
            },
        }
        Ok(())
    }
}

/// A key, which must be a text and not a merge key.
fn key(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Value> {
    match scalar(text, style, tag, span)? {
        Value::Str(text) => Ok(Value::Str(text)),
        other => Err(foreign(span, "a text as key", other.type_name())),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Value> {
    let is_plain = style == ScalarStyle::Plain;
    let resolved = match tag {
        None if is_plain => resolve(text),
        None => Resolved::Text,
        // A scalar with the tag `!` is a text, like a quoted one.
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Resolved::Text,
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Resolved::Text,
        Some(tag) if tag.is_yaml_core_schema() => match (tag.suffix.as_str(), resolve(text)) {
            ("null", Resolved::Value(Value::None)) => Resolved::Value(Value::None),
            ("bool", Resolved::Value(Value::Bool(flag))) => Resolved::Value(Value::Bool(flag)),
            ("int", Resolved::Value(Value::Int(int))) => Resolved::Value(Value::Int(int)),
            ("float", Resolved::Value(Value::Float(float))) => Resolved::Value(Value::Float(float)),
            (suffix, _) => {
                let found = format!("`{}` with the tag `!!{}`", shown(text), shown(suffix));
                return Err(if FOREIGN_TAGS.contains(&suffix) {
                    foreign(span, "a text, number, bool or null", &found)
                } else {
                    at(span, "a scalar of its tag", &found)
                });
            }
        },
        Some(tag) => {
            let found = format!("the tag `{}{}`", shown(&tag.handle), shown(&tag.suffix));
            return Err(at(span, "plain data", &found));
        }
    };
    match resolved {
        Resolved::Text => Ok(Value::Str(text.to_owned())),
        Resolved::Value(value) => Ok(value),
        Resolved::Foreign(what) => {
            let found = format!("{what}: `{}`", shown(text));
            Err(foreign(span, "a text, number, bool or null", &found))
        }
    }
}

fn expect_tag(tag: Option<Cow<'_, Tag>>, expected: &str, span: Span) -> Result<()> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == expected => Ok(()),
        Some(tag) => {
            let found = format!("the tag `{}{}`", shown(&tag.handle), shown(&tag.suffix));
            let is_foreign =
                tag.is_yaml_core_schema() && FOREIGN_TAGS.contains(&tag.suffix.as_str());
            Err(if is_foreign {
                foreign(span, "plain data", &found)
            } else {
                at(span, "plain data", &found)
            })
        }
    }
}

/// The tags of YAML 1.1 that PyYAML knows and a state has no type for.
const FOREIGN_TAGS: [&str; 7] = [
    "binary",
    "merge",
    "omap",
    "pairs",
    "set",
    "timestamp",
    "value",
];

/// The error for a value that PyYAML reads and a state cannot hold.
#[cold]
fn foreign(span: Span, expected: &str, found: &str) -> Error {
    Error::unsupported(format!(
        "expected {expected} in line {} of the YAML, found {found}",
        span.start.line()
    ))
}

#[cold]
fn at(span: Span, expected: &str, found: &str) -> Error {
    Error::malformed(format!(
        "expected {expected} in line {} of the YAML, found {found}",
        span.start.line()
    ))
}

#[cfg(test)]
mod tests;
