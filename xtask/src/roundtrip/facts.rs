//! The contents of a checkpoint in one form, whether the fixtures' side-cars, the real NNx or this
//! workspace read them.

use nnx_params::{Nets, State, Value, python_text};
use sha2::{Digest, Sha256};

use super::json;
use crate::Result;

/// The content of one checkpoint file.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The JSON text of each part that is not a tensor, by its name.
    pub(super) states: Vec<(&'static str, String)>,
    /// The entries of the state dict, in order.
    pub(super) entries: Vec<Entry>,
    /// The output of the rebuilt model, if it was run.
    pub(super) forward: Option<Forward>,
}

/// A name in a state dict.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Tensor(TensorFacts),
    /// The JSON text of something else.
    Object(String),
}

#[derive(Clone, Debug)]
pub(super) struct TensorFacts {
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    pub(super) sha256: String,
    /// The row-major little-endian bytes, if they are known and not only their hash.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) layout: Layout,
    /// Whether it is an `nn.Parameter` and whether it requires a gradient, if that is known.
    pub(super) class: Option<(bool, bool)>,
}

/// The layout of a tensor in its storage, all in elements; equal `storage` numbers are one storage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) strides: Vec<usize>,
    pub(super) offset: usize,
    pub(super) storage: usize,
}

/// A model's output in evaluation mode.
#[derive(Clone, Debug)]
pub(super) enum Forward {
    Output {
        shape: Vec<usize>,
        data: Vec<f64>,
        /// The same computed in float64, if that was done.
        reference: Option<Vec<f64>>,
    },
    /// The model could not be rebuilt.
    Refused(String),
}

/// The inputs of a net: its positional arguments.
#[derive(Clone, Debug)]
pub(super) struct Input(pub(super) Vec<Argument>);

/// A tensor, row-major.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    /// `float32`, `int64` or `bool`.
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    pub(super) data: Vec<f64>,
}

/// The parts other than the tensors, named as in the reports.
const STATES: [&str; 6] = [
    "net_params",
    "model_params",
    "idp",
    "transforms",
    "training_state_id",
    "training_state_present",
];

impl Facts {
    /// The facts of a fixture's side-car.
    ///
    /// # Errors
    /// When a key is missing or of a wrong type.
    pub(super) fn from_sidecar(sidecar: &Value) -> Result<Self> {
        let state = |name: &'static str| {
            let with_suffix = format!("{name}_state");
            let value = json::optional(sidecar, &with_suffix);
            let value = value.map_or_else(|| json::field(sidecar, name), Ok)?;
            let value = json::with_nonfinite(value);
            Ok((name, python_text::json_dumps(&value)))
        };
        let forward = json::optional(sidecar, "forward").map(forward);
        Ok(Self {
            states: STATES.into_iter().map(state).collect::<Result<_>>()?,
            entries: entries(sidecar)?,
            forward: forward.transpose()?,
        })
    }

    /// The facts in a report of the real NNx, or why it could not read the file.
    ///
    /// # Errors
    /// When a key is missing or of a wrong type.
    pub(super) fn from_report(report: &Value) -> Result<Result<Self, String>> {
        if json::optional(report, "error").is_some() {
            return Ok(Err(json::text(report, "error")?.into()));
        }
        let state = |name: &'static str| {
            let value = json::field(report, name)?;
            // The states are texts already; the two plain values are not.
            let text = match (name, value) {
                ("training_state_id" | "training_state_present", value) => {
                    python_text::json_dumps(value)
                }
                _ => json::text(report, name)?.into(),
            };
            Ok((name, text))
        };
        let forward = json::optional(report, "forward").map(forward);
        Ok(Ok(Self {
            states: STATES.into_iter().map(state).collect::<Result<_>>()?,
            entries: entries(report)?,
            forward: forward.transpose()?,
        }))
    }

    /// Whether the state dict has entries that are not tensors.
    pub(super) fn has_objects(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry.content, Content::Object(_)))
    }

    /// Whether the model was changed after it was built.
    pub(super) fn has_transforms(&self) -> bool {
        self.states
            .iter()
            .any(|(name, text)| *name == "transforms" && text != "[]")
    }

    /// The same contents without the keys that a reader ignores, each with its state's name.
    ///
    /// # Errors
    /// When a state is not JSON.
    pub(super) fn without_keys(&self, drops: &[(&str, &str)]) -> Result<Self> {
        let strip = |(name, text): &(&'static str, String)| {
            let keys = drops.iter().filter(|(state, _)| state == name);
            let keys: Vec<&str> = keys.map(|(_, key)| *key).collect();
            let value = json::without_keys(&python_text::json_loads(text)?, &keys);
            Ok((*name, python_text::json_dumps(&value)))
        };
        Ok(Self {
            states: self.states.iter().map(strip).collect::<Result<_>>()?,
            ..self.clone()
        })
    }

    /// The kind of the built-in net.
    pub(super) fn net(&self) -> Option<Nets> {
        let (_, state) = self
            .states
            .iter()
            .find(|(name, _)| *name == "model_params")?;
        json::text(&python_text::json_loads(state).ok()?, "net")
            .ok()?
            .parse()
            .ok()
    }

    /// The tensors, each with its name.
    pub(super) fn tensors(&self) -> impl Iterator<Item = (&str, &TensorFacts)> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.content {
                Content::Tensor(tensor) => Some((&*entry.name, tensor)),
                Content::Object(_) => None,
            })
    }
}

impl Input {
    /// The arguments in a report or a side-car's `forward`.
    ///
    /// # Errors
    /// When a key is missing or of a wrong type.
    pub(super) fn from_forward(forward: &Value) -> Result<Self> {
        let argument = |value: &Value| {
            Ok(Argument {
                dtype: json::text(value, "dtype")?.into(),
                shape: json::sizes(value, "shape")?,
                data: json::numbers(value, "data")?,
            })
        };
        let arguments = json::list(forward, "inputs")?.iter().map(argument);
        arguments.collect::<Result<_>>().map(Self)
    }

    /// Three rows of values that float32 represents exactly, for a file without a batch.
    pub(super) fn plain(width: usize) -> Self {
        let step = |at: usize| {
            let sixteenths = u8::try_from((at * 7) % 48).unwrap_or_default();
            f64::from(sixteenths) / 16.0 - 1.5
        };
        Self(vec![Argument {
            dtype: "float32".into(),
            shape: vec![3, width],
            data: (0..3 * width).map(step).collect(),
        }])
    }

    /// The arguments as Python reads them.
    pub(super) fn to_value(&self) -> Value {
        let argument = |argument: &Argument| {
            let sizes = argument.shape.iter().map(|&size| Value::from(size));
            let data = argument.data.iter().map(|&value| Value::Float(value));
            Value::Map(State::from_iter([
                ("dtype", Value::Str(argument.dtype.clone())),
                ("shape", Value::List(sizes.collect())),
                ("data", Value::List(data.collect())),
            ]))
        };
        Value::List(self.0.iter().map(argument).collect())
    }
}

/// The lower-case hex SHA-256.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn entries(value: &Value) -> Result<Vec<Entry>> {
    json::list(value, "tensors")?.iter().map(entry).collect()
}

fn entry(value: &Value) -> Result<Entry> {
    let name = json::text(value, "name")?.to_owned();
    let content = if json::optional(value, "object").is_some() {
        Content::Object(json::text(value, "object")?.into())
    } else if let Some(tagged) = json::optional(value, "non_tensor") {
        Content::Object(python_text::json_dumps(&untagged(tagged)?))
    } else {
        Content::Tensor(tensor(value).map_err(|error| format!("`{name}`: {error}"))?)
    };
    Ok(Entry { name, content })
}

fn tensor(value: &Value) -> Result<TensorFacts> {
    let bytes = match json::optional(value, "hex") {
        Some(_) => Some(from_hex(json::text(value, "hex")?)?),
        None => None,
    };
    let class = match json::optional(value, "parameter") {
        Some(_) => Some((
            json::boolean(value, "parameter")?,
            json::boolean(value, "requires_grad")?,
        )),
        None => None,
    };
    Ok(TensorFacts {
        dtype: json::text(value, "dtype")?.into(),
        shape: json::sizes(value, "shape")?,
        sha256: json::text(value, "sha256")?.into(),
        bytes,
        layout: Layout {
            strides: json::sizes(value, "stride")?,
            offset: json::size(value, "storage_offset")?,
            storage: json::size(value, "storage")?,
        },
        class,
    })
}

/// The plain value of a side-car's tagged tree, for the tags that occur in state dicts.
fn untagged(tagged: &Value) -> Result<Value> {
    let items = || json::list(tagged, "v");
    match json::text(tagged, "t")? {
        "none" => Ok(Value::None),
        "str" => Ok(Value::Str(json::text(tagged, "v")?.into())),
        "int" => Ok(Value::Int(json::text(tagged, "v")?.parse()?)),
        "list" => Ok(Value::List(
            items()?.iter().map(untagged).collect::<Result<_>>()?,
        )),
        "dict" => {
            let pair = |pair: &Value| match pair {
                Value::List(pair) => match &pair[..] {
                    [key, value] => Ok((json::text(key, "v")?.to_owned(), untagged(value)?)),
                    _ => Err("expected a key and a value".into()),
                },
                _ => Err("expected a pair".into()),
            };
            Ok(Value::Map(
                items()?.iter().map(pair).collect::<Result<_>>()?,
            ))
        }
        tag => Err(format!("the tag `{tag}` is not read here").into()),
    }
}

fn forward(value: &Value) -> Result<Forward> {
    if json::optional(value, "error").is_some() {
        return Ok(Forward::Refused(json::text(value, "error")?.into()));
    }
    let output = json::field(value, "output")?;
    Ok(Forward::Output {
        shape: json::sizes(output, "shape")?,
        data: json::numbers(output, "data")?,
        reference: Some(json::numbers(value, "output_f64")?),
    })
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let digit = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16);
    let bytes: std::result::Result<_, _> = text.as_bytes().chunks(2).map(digit).collect();
    Ok(bytes?)
}
