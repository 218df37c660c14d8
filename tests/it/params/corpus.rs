//! The corpus of cases and its notation of Python values.

use nnx_params::python_text::json_loads;
use nnx_params::{
    NNConvParams, NNEvaluationDataPoint, NNMoEParams, NNModelParams, NNOptimParams,
    NNParamGroupSpec, NNParams, NNSchedulerParams, NNTrainParams, NNTransformerParams, NNViTParams,
    Result, State, Value,
};

/// The properties that objects of all classes have.
#[derive(Debug, PartialEq)]
pub(super) struct Object {
    pub(super) state: State,
    pub(super) full_state: State,
    pub(super) text: Option<String>,
    /// Every field, unknown keys included.
    pub(super) fields: String,
}

#[derive(Clone, Copy)]
pub(super) enum Form {
    Fields,
    State,
}

pub(super) fn build(class: &str, form: Form, state: &State) -> Result<Object> {
    macro_rules! build {
        ($class:ident, $text:expr) => {{
            let object = match form {
                Form::Fields => $class::from_fields(state)?,
                Form::State => $class::from_state(state)?,
            };
            let text: fn(&$class) -> Option<String> = $text;
            Object {
                state: object.state(),
                full_state: object.full_state(),
                text: text(&object),
                fields: format!("{object:?}"),
            }
        }};
        ($class:ident) => {
            build!($class, |object| Some(object.to_string()))
        };
    }
    Ok(match class {
        "NNParams" => build!(NNParams),
        "NNMoEParams" => build!(NNMoEParams),
        "NNConvParams" => build!(NNConvParams),
        "NNTransformerParams" => build!(NNTransformerParams),
        "NNViTParams" => build!(NNViTParams),
        "NNOptimParams" => build!(NNOptimParams),
        "NNParamGroupSpec" => build!(NNParamGroupSpec),
        "NNSchedulerParams" => build!(NNSchedulerParams),
        "NNTrainParams" => build!(NNTrainParams),
        "NNEvaluationDataPoint" => build!(NNEvaluationDataPoint, |_| None),
        "NNModelParams" => {
            let object = match form {
                Form::Fields => NNModelParams::from_fields(state)?,
                Form::State => NNModelParams::from_state(state)?,
            };
            Object {
                state: object.state()?,
                full_state: object.full_state()?,
                text: Some(object.to_string()),
                fields: format!("{object:?}"),
            }
        }
        other => panic!("the corpus has a class that is not judged: {other}"),
    })
}

pub(super) fn fixture(version: &str, name: &str) -> Value {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let path = format!("{root}/{version}/params/{name}.json");
    let text = std::fs::read_to_string(&path).expect(&path);
    decode(&json_loads(&text).expect(&path))
}

/// Turns the corpus's notation of Python values into the values.
pub(super) fn decode(value: &Value) -> Value {
    let state = match value {
        Value::List(items) => return Value::List(items.iter().map(decode).collect()),
        Value::Map(state) => state,
        other => return other.clone(),
    };
    let text = |key| state.get(key).and_then(Value::as_str);
    let items = |key| {
        state
            .get(key)
            .and_then(Value::as_items)
            .map(<[Value]>::to_vec)
    };
    if let (Some(float), 1) = (text("float"), state.len()) {
        return Value::Float(float.parse().expect("a float"));
    }
    if let (Some(items), Some(_)) = (items("list"), text("class")) {
        return Value::List(items.iter().map(decode).collect());
    }
    if let (Some(items), Some(_)) = (items("tuple"), text("class")) {
        return Value::Tuple(items.iter().map(decode).collect());
    }
    if let (Some(value), Some(_)) = (text("value"), text("enum")) {
        return value.into();
    }
    match (text("py"), items("v"), text("type")) {
        (Some("list"), Some(items), _) => Value::List(items.iter().map(decode).collect()),
        (Some("tuple"), Some(items), _) => Value::Tuple(items.iter().map(decode).collect()),
        // NumPy's integers and arrays have no counterpart; they arrive as their values.
        (Some(int), _, Some("int64")) => Value::Int(int.parse().expect("an integer")),
        (Some(array), _, Some("ndarray")) => {
            let items = array.trim_matches(['[', ']']).split_whitespace();
            Value::List(
                items
                    .map(|int| Value::Int(int.parse().expect("an integer")))
                    .collect(),
            )
        }
        (Some("{}"), _, Some("dict")) => State::new().into(),
        (Some(member), _, Some("Activations" | "Optims" | "Schedulers")) => member.into(),
        _ => {
            let entries = state.iter().map(|(key, value)| (key, decode(value)));
            Value::Map(entries.collect())
        }
    }
}

/// The cases of a list, each a mapping.
pub(super) fn cases(fixture: &Value) -> Vec<&State> {
    let items = fixture.as_items().expect("a list of cases");
    assert!(!items.is_empty(), "the corpus has cases");
    items
        .iter()
        .map(|item| item.as_map().expect("a case"))
        .collect()
}

pub(super) fn text<'a>(case: &'a State, key: &str) -> &'a str {
    case.get(key).and_then(Value::as_str).expect(key)
}

pub(super) fn map<'a>(case: &'a State, key: &str) -> &'a State {
    case.get(key).and_then(Value::as_map).expect(key)
}

pub(super) fn report(version: &str, name: &str, judged: usize, note: &str) {
    assert_ne!(judged, 0, "{version} {name}: no case was judged");
    println!("{version}/params/{name}.json: {judged} cases judged{note}");
}
