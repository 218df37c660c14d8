//! Values that are not tensors: as typed JSON, and as text in the form that Python shows.

use nnx::checkpoint::PickledValue;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json;

/// The member that contains the Python class of a value, if JSON has no value of that type.
const CLASS: &str = "python";

/// A value as JSON: a number, a text, `null`, an array or an object if these express it completely.
/// Otherwise it is an object whose first member, `python`, is the class.
#[derive(Debug)]
pub(super) struct TypedValue(pub(super) PickledValue);

impl Serialize for TypedValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ValueJson(&self.0).serialize(serializer)
    }
}

struct ValueJson<'a>(&'a PickledValue);

impl Serialize for ValueJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            PickledValue::None => serializer.serialize_none(),
            PickledValue::Bool(flag) => serializer.serialize_bool(*flag),
            PickledValue::Int(int) => serializer.serialize_i128(*int),
            PickledValue::Float(number) => json::float(*number, serializer),
            PickledValue::Text { text, characters } if text.chars().count() == *characters => {
                serializer.serialize_str(text)
            }
            PickledValue::Text { text, characters } => {
                cut("str", "text", text, *characters, serializer)
            }
            PickledValue::Sequence {
                class,
                items,
                count,
            } => {
                let values = ValuesJson(items);
                if items.len() == *count {
                    values.serialize(serializer)
                } else {
                    cut(class, "items", &values, *count, serializer)
                }
            }
            PickledValue::Mapping { pairs, count } => {
                let values = Pairs(pairs);
                let is_plain = pairs.len() == *count && pairs.iter().all(|pair| pair.0 != CLASS);
                if is_plain {
                    values.serialize(serializer)
                } else {
                    cut("dict", "members", &values, *count, serializer)
                }
            }
            PickledValue::Path(text) => tagged("path", "text", text, serializer),
            PickledValue::Date(text) => tagged("datetime", "text", text, serializer),
            PickledValue::Global(name) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(CLASS, name)?;
                map.end()
            }
            PickledValue::Attribute { class, name } => tagged(class, "name", name, serializer),
            PickledValue::Call { callable, args } => {
                tagged(callable, "args", &ValuesJson(args), serializer)
            }
            PickledValue::Object {
                class,
                attributes,
                count,
            } => {
                let values = Pairs(attributes);
                if attributes.len() == *count {
                    tagged(class, "attributes", &values, serializer)
                } else {
                    cut(class, "attributes", &values, *count, serializer)
                }
            }
            PickledValue::Other(words) => tagged("other", "description", words, serializer),
            _ => serializer.serialize_none(),
        }
    }
}

fn tagged<S: Serializer>(
    class: &str,
    member: &'static str,
    value: &(impl Serialize + ?Sized),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(CLASS, class)?;
    map.serialize_entry(member, value)?;
    map.end()
}

/// The beginning of a value, and the length of the whole.
fn cut<S: Serializer>(
    class: &str,
    member: &'static str,
    value: &(impl Serialize + ?Sized),
    count: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(3))?;
    map.serialize_entry(CLASS, class)?;
    map.serialize_entry(member, value)?;
    map.serialize_entry("count", &count)?;
    map.end()
}

struct ValuesJson<'a>(&'a [PickledValue]);

impl Serialize for ValuesJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ValueJson))
    }
}

struct Pairs<'a>(&'a [(String, PickledValue)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, ValueJson(value))))
    }
}

/// The parts of a value that its description leaves out, as Python shows them: the members of a
/// container, the attributes of an object, the arguments of a call. `None` if the description is
/// complete.
pub(super) fn shown(value: &PickledValue) -> Option<String> {
    let says_more = match value {
        PickledValue::Sequence { count, .. }
        | PickledValue::Mapping { count, .. }
        | PickledValue::Object { count, .. } => *count > 0,
        PickledValue::Path(_)
        | PickledValue::Date(_)
        | PickledValue::Attribute { .. }
        | PickledValue::Call { .. } => true,
        _ => false,
    };
    says_more.then(|| repr(value))
}

/// An estimate of the bytes of output for a value.
pub(super) fn bytes(value: &PickledValue) -> usize {
    repr(value).len()
}

fn repr(value: &PickledValue) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &PickledValue) {
    match value {
        PickledValue::None => out.push_str("None"),
        PickledValue::Bool(true) => out.push_str("True"),
        PickledValue::Bool(false) => out.push_str("False"),
        PickledValue::Int(int) => out.push_str(&format!("{int}")),
        PickledValue::Float(number) => out.push_str(&nnx::params::python_text::repr(
            &nnx::params::Value::Float(*number),
        )),
        PickledValue::Text { text, characters } => {
            out.push_str(&format!("'{text}'"));
            left_out(out, text.chars().count(), *characters, "characters");
        }
        PickledValue::Sequence {
            class,
            items,
            count,
        } => {
            let (open, close) = match *class {
                "tuple" => ("(", ")"),
                "set" | "frozenset" => ("{", "}"),
                _ => ("[", "]"),
            };
            out.push_str(open);
            separated(out, items, write);
            left_out(out, items.len(), *count, "items");
            out.push_str(close);
        }
        PickledValue::Mapping { pairs, count } => {
            out.push('{');
            separated(out, pairs, |out, (key, value)| {
                out.push_str(&format!("'{key}': "));
                write(out, value);
            });
            left_out(out, pairs.len(), *count, "items");
            out.push('}');
        }
        PickledValue::Path(text) | PickledValue::Date(text) => out.push_str(text),
        PickledValue::Global(name) => out.push_str(name),
        PickledValue::Attribute { class, name } => {
            out.push_str(&format!("{}.{name}", last(class)));
        }
        PickledValue::Call { callable, args } => {
            out.push_str(&format!("{}(", last(callable)));
            separated(out, args, write);
            out.push(')');
        }
        PickledValue::Object {
            class,
            attributes,
            count,
        } => {
            out.push_str(&format!("{}(", last(class)));
            separated(out, attributes, |out, (key, value)| {
                out.push_str(&format!("{key}="));
                write(out, value);
            });
            left_out(out, attributes.len(), *count, "attributes");
            out.push(')');
        }
        PickledValue::Other(words) => out.push_str(&format!("<{words}>")),
        _ => out.push_str("<…>"),
    }
}

fn separated<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

fn left_out(out: &mut String, there: usize, count: usize, what: &str) {
    if there < count {
        out.push_str(&format!("… ({count} {what})"));
    }
}

/// A class without its module.
fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: PickledValue, json: &str, text: &str) {
        assert_eq!(repr(&value), text);
        assert_eq!(serde_json::to_string(&TypedValue(value)).unwrap(), json);
    }

    fn text(text: &str) -> PickledValue {
        PickledValue::Text {
            text: text.to_owned(),
            characters: text.chars().count(),
        }
    }

    #[test]
    fn a_value_has_its_type() {
        check(PickledValue::Int(5), "5", "5");
        check(PickledValue::Float(5e-5), "0.00005", "5e-05");
        check(PickledValue::Float(1.0), "1.0", "1.0");
        check(PickledValue::Float(f64::NAN), r#""NaN""#, "nan");
        check(text("out"), r#""out""#, "'out'");
        check(
            PickledValue::Path("a/b".to_owned()),
            r#"{"python":"path","text":"a/b"}"#,
            "a/b",
        );
        check(
            PickledValue::Call {
                callable: "mine.Kind".to_owned(),
                args: vec![text("steps")],
            },
            r#"{"python":"mine.Kind","args":["steps"]}"#,
            "Kind('steps')",
        );
        check(
            PickledValue::Attribute {
                class: "mine.Kind".to_owned(),
                name: "STEPS".to_owned(),
            },
            r#"{"python":"mine.Kind","name":"STEPS"}"#,
            "Kind.STEPS",
        );
        check(
            PickledValue::Object {
                class: "argparse.Namespace".to_owned(),
                attributes: vec![("lr".to_owned(), PickledValue::Float(0.1))],
                count: 1,
            },
            r#"{"python":"argparse.Namespace","attributes":{"lr":0.1}}"#,
            "Namespace(lr=0.1)",
        );
    }

    #[test]
    fn what_is_cut_says_how_long_it_is() {
        check(
            PickledValue::Text {
                text: "ab".to_owned(),
                characters: 5000,
            },
            r#"{"python":"str","text":"ab","count":5000}"#,
            "'ab'… (5000 characters)",
        );
        check(
            PickledValue::Sequence {
                class: "list",
                items: vec![PickledValue::None],
                count: 900,
            },
            r#"{"python":"list","items":[null],"count":900}"#,
            "[None… (900 items)]",
        );
    }

    /// A dict that has the key `python` must not be mistaken for such an object.
    #[test]
    fn a_mapping_is_an_object_unless_it_could_be_taken_for_another_value() {
        let mapping = |key: &str| PickledValue::Mapping {
            pairs: vec![(key.to_owned(), PickledValue::Bool(true))],
            count: 1,
        };
        check(mapping("lr"), r#"{"lr":true}"#, "{'lr': True}");
        check(
            mapping("python"),
            r#"{"python":"dict","members":{"python":true},"count":1}"#,
            "{'python': True}",
        );
    }
}
