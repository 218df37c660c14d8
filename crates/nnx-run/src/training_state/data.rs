//! Python's plain data and tensors.

use nnx_checkpoint::Tensor;
use nnx_checkpoint::torch::PickledObject;
use nnx_params::Value;

/// One value of a training state: plain data of Python, a tensor, or an object of a class for which
/// this crate has no type, which is kept as it was pickled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Data {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text.
    Str(String),
    /// A list.
    List(Vec<Data>),
    /// A tuple.
    Tuple(Vec<Data>),
    /// A dict, in order; its keys can be of any type.
    Dict(Vec<(Data, Data)>),
    /// A tensor.
    Tensor(Tensor),
    /// Any other object.
    Object(PickledObject),
}

impl Data {
    /// A dict with texts as keys.
    pub fn dict<K: Into<String>>(entries: impl IntoIterator<Item = (K, Data)>) -> Self {
        let entries = entries.into_iter();
        Self::Dict(
            entries
                .map(|(key, value)| (Self::Str(key.into()), value))
                .collect(),
        )
    }

    /// Whether the value is `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The text, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if the value is one; a bool is not.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The bool, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The number, if the value is an integer, a float, or a tensor with one element of dtype float32,
    /// float64, int32 or int64.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(int) => Some(*int as f64),
            Self::Float(float) => Some(*float),
            Self::Tensor(tensor) => element(tensor),
            _ => None,
        }
    }

    /// The tensor, if the value is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The items, if the value is a list or a tuple.
    pub fn items(&self) -> Option<&[Data]> {
        match self {
            Self::List(items) | Self::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The keys and values, if the value is a dict.
    pub fn pairs(&self) -> Option<&[(Data, Data)]> {
        match self {
            Self::Dict(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The value of a text key, if the value is a dict that has it.
    pub fn get(&self, key: &str) -> Option<&Data> {
        let mut pairs = self.pairs()?.iter();
        let found = pairs.find(|(name, _)| name.as_str() == Some(key));
        found.map(|(_, value)| value)
    }

    /// The value as plain data; `None` if it contains a tensor, an object or a key that is not a text.
    pub fn to_value(&self) -> Option<Value> {
        let all = |items: &[Self]| items.iter().map(Self::to_value).collect::<Option<_>>();
        Some(match self {
            Self::None => Value::None,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Int(int) => Value::Int(*int),
            Self::Float(float) => Value::Float(*float),
            Self::Str(text) => Value::Str(text.clone()),
            Self::List(items) => Value::List(all(items)?),
            Self::Tuple(items) => Value::Tuple(all(items)?),
            Self::Dict(pairs) => {
                let entry = |(key, value): &(Self, Self)| {
                    Some((key.as_str()?.to_owned(), value.to_value()?))
                };
                Value::Map(pairs.iter().map(entry).collect::<Option<_>>()?)
            }
            Self::Tensor(_) | Self::Object(_) => return None,
        })
    }
}

/// The element of a tensor that has one.
fn element(tensor: &Tensor) -> Option<f64> {
    use nnx_checkpoint::Dtype;

    if tensor.elements() != 1 {
        return None;
    }
    let bytes = tensor.to_bytes().ok()?;
    let bytes: &[u8] = &bytes;
    Some(match tensor.dtype() {
        Dtype::Float32 => f32::from_le_bytes(bytes.try_into().ok()?).into(),
        Dtype::Float64 => f64::from_le_bytes(bytes.try_into().ok()?),
        Dtype::Int32 => i32::from_le_bytes(bytes.try_into().ok()?).into(),
        Dtype::Int64 => i64::from_le_bytes(bytes.try_into().ok()?) as f64,
        _ => return None,
    })
}

impl From<&Value> for Data {
    fn from(value: &Value) -> Self {
        match value {
            Value::None => Self::None,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Int(int) => Self::Int(*int),
            Value::Float(float) => Self::Float(*float),
            Value::Str(text) => Self::Str(text.clone()),
            Value::List(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Tuple(items) => Self::Tuple(items.iter().map(Self::from).collect()),
            Value::Map(state) => Self::dict(state.iter().map(|(key, value)| (key, value.into()))),
        }
    }
}
