//! State dicts: the named tensors of a model, in order.

use indexmap::IndexMap;

use crate::Tensor;
use crate::torch::PickledObject;

/// The contents of `module.state_dict()`: names and tensors in the order of the module, and whatever
/// else a module chose to save.
///
/// ```
/// use nnx_checkpoint::{Dtype, StateDict, Tensor};
///
/// let mut state = StateDict::new();
/// state.insert("bias", Tensor::from_bytes(Dtype::UInt8, &[2], vec![1, 2])?);
/// assert_eq!(state.tensor("bias").map(Tensor::shape), Some(&[2][..]));
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    entries: IndexMap<String, StateValue>,
    mapping: DictKind,
    modules: StateDictMetadata,
}

/// One value of a state dict.
#[derive(Clone, Debug)]
pub enum StateValue {
    /// A tensor.
    Tensor(Tensor),
    /// Anything else, as `get_extra_state()` may return it; kept as it was pickled.
    Object(PickledObject),
}

/// The Python class of a state dict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DictKind {
    /// `collections.OrderedDict`, as `module.state_dict()` returns it.
    #[default]
    OrderedDict,
    /// A plain `dict`.
    Dict,
}

/// The attribute `_metadata` of a state dict: one entry for each module of the tree, with the
/// version of its layout.
#[derive(Clone, Debug, Default)]
pub enum StateDictMetadata {
    /// There is no such attribute.
    #[default]
    None,
    /// Module paths in the order of the tree, each of that version; the root's path is empty.
    Versions(Vec<(String, i64)>),
    /// The attributes as they were pickled.
    Attributes(PickledObject),
}

impl StateDict {
    /// An empty `OrderedDict`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor behind the others, or replaces the value of that name in its place.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.insert_value(name, StateValue::Tensor(tensor));
    }

    /// [`insert`](Self::insert) for any value.
    pub fn insert_value(&mut self, name: impl Into<String>, value: StateValue) {
        self.entries.insert(name.into(), value);
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        match self.entries.get(name)? {
            StateValue::Tensor(tensor) => Some(tensor),
            StateValue::Object(_) => None,
        }
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&StateValue> {
        self.entries.get(name)
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every value with its name, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &StateValue)> {
        self.entries
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// Every tensor with its name, in order.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.iter().filter_map(|(name, value)| match value {
            StateValue::Tensor(tensor) => Some((name, tensor)),
            StateValue::Object(_) => None,
        })
    }

    /// Every tensor, in order, to be replaced.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        self.entries.values_mut().filter_map(|value| match value {
            StateValue::Tensor(tensor) => Some(tensor),
            StateValue::Object(_) => None,
        })
    }

    /// The names of the values that are no tensors, which a safetensors file cannot hold.
    pub fn other_names(&self) -> impl Iterator<Item = &str> {
        self.iter().filter_map(|(name, value)| match value {
            StateValue::Tensor(_) => None,
            StateValue::Object(_) => Some(name),
        })
    }

    /// The Python class of this state dict.
    pub fn mapping(&self) -> DictKind {
        self.mapping
    }

    /// The same values as another Python mapping.
    #[must_use]
    pub fn with_mapping(mut self, mapping: DictKind) -> Self {
        self.mapping = mapping;
        self
    }

    /// The attribute `_metadata`.
    pub fn modules(&self) -> &StateDictMetadata {
        &self.modules
    }

    /// The same values with another attribute `_metadata`.
    #[must_use]
    pub fn with_modules(mut self, modules: StateDictMetadata) -> Self {
        self.modules = modules;
        self
    }
}

impl<N: Into<String>> FromIterator<(N, Tensor)> for StateDict {
    fn from_iter<I: IntoIterator<Item = (N, Tensor)>>(tensors: I) -> Self {
        let entries = tensors
            .into_iter()
            .map(|(name, tensor)| (name.into(), StateValue::Tensor(tensor)))
            .collect();
        Self {
            entries,
            ..Self::default()
        }
    }
}
