//! The tensors of a conversion, from their names in the source to those in the target.

use std::collections::{HashMap, HashSet};

use super::options::ConvertOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Call, Node};
use crate::tensor::DerivedTensor;
use crate::{CheckpointReader, Dtype, NonTensorEntry, Storage, Tensor};

/// A tensor on its way.
#[derive(Clone, Debug)]
pub(super) struct SelectedTensor {
    /// Its name in the target.
    pub(super) name: String,
    /// As the target has it.
    pub(super) tensor: Tensor,
}

/// Everything that is taken over.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) tensors: Vec<SelectedTensor>,
    /// Values that are no tensors, each with its name in the target.
    pub(super) others: Vec<(String, NonTensorEntry)>,
}

impl Selection {
    /// The tensors that the options select, under their new names.
    ///
    /// # Errors
    /// When an option matches nothing, two names become one, or a tensor cannot be given, such as a
    /// sparse one.
    pub(super) fn new(reader: &CheckpointReader, options: &ConvertOptions) -> Result<Self> {
        let mut names = Names::new(reader, options);
        let mut selection = Self::default();
        let mut taken = HashSet::new();
        for entry in reader.tensors() {
            let Some(name) = names.new_tensor_name(entry.name())? else {
                continue;
            };
            if let Some(key) = key_in_words(&name) {
                return Err(Error::unsupported(format!(
                    "a key of a mapping above the tensor is {key}, of which no name can be made; \
                     give the tensor another name"
                ))
                .in_tensor(entry.name()));
            }
            if !taken.insert(name.clone()) {
                return Err(Error::new(ErrorKind::NameCollision { name }));
            }
            if entry.dtype().is_quantized() {
                return Err(Error::unsupported(
                    "a quantised tensor has no place in the target, where its scale and zero point \
                     would be lost",
                )
                .in_tensor(entry.name()));
            }
            selection.tensors.push(SelectedTensor {
                name,
                tensor: entry.unread_tensor()?,
            });
        }
        for entry in reader.non_tensors() {
            if is_empty_root(reader, entry) {
                continue;
            }
            let Some(name) = names.new_name(entry.path()) else {
                continue;
            };
            if !taken.insert(name.clone()) {
                return Err(Error::new(ErrorKind::NameCollision { name }));
            }
            selection.others.push((name, entry.clone()));
        }
        names.check(reader)?;
        Ok(selection)
    }

    /// The tensors of a state dict, in its order.
    #[cfg(feature = "nnx")]
    pub(super) fn from_tensors<'a>(tensors: impl Iterator<Item = (&'a str, &'a Tensor)>) -> Self {
        Self {
            tensors: tensors
                .map(|(name, tensor)| SelectedTensor {
                    name: name.to_owned(),
                    tensor: tensor.clone(),
                })
                .collect(),
            others: Vec::new(),
        }
    }
}

/// New names for old ones.
struct Names<'a> {
    options: &'a ConvertOptions,
    select: Option<String>,
    selected: bool,
    stripped: bool,
    renamed: Vec<bool>,
}

impl<'a> Names<'a> {
    fn new(reader: &CheckpointReader, options: &'a ConvertOptions) -> Self {
        Self {
            options,
            select: options.select.as_ref().map(|path| full_path(reader, path)),
            selected: false,
            stripped: false,
            renamed: vec![false; options.rename.len()],
        }
    }

    /// The new name; none for a tensor that is not selected.
    fn new_name(&mut self, name: &str) -> Option<String> {
        if let Some(select) = &self.select {
            below(name, select)?;
            self.selected = true;
        }
        let mut name = name.to_owned();
        if let Some(rest) = self
            .options
            .strip_prefix
            .as_deref()
            .and_then(|prefix| name.strip_prefix(prefix))
        {
            self.stripped = true;
            name = rest.to_owned();
        }
        for ((from, to), used) in self.options.rename.iter().zip(&mut self.renamed) {
            if let Some(rest) = below(&name, from) {
                *used = true;
                name = match (to.is_empty(), rest.strip_prefix('.')) {
                    (true, Some(rest)) => rest.to_owned(),
                    _ => format!("{to}{rest}"),
                };
            }
        }
        Some(name)
    }

    /// [`new_name`](Self::new_name) for a tensor, which has a name.
    ///
    /// # Errors
    /// When an option leaves nothing of the name.
    fn new_tensor_name(&mut self, name: &str) -> Result<Option<String>> {
        match self.new_name(name) {
            Some(new) if new.is_empty() && !name.is_empty() => Err(Error::unsupported(
                "the options leave nothing of the tensor's name",
            )
            .in_tensor(name)),
            new => Ok(new),
        }
    }

    /// Refuses options that matched nothing: they are misspelt.
    fn check(&self, reader: &CheckpointReader) -> Result<()> {
        let options = self.options;
        let unused = self
            .renamed
            .iter()
            .position(|used| !used)
            .and_then(|index| options.rename.get(index));
        let missed = match (&options.select, &options.strip_prefix, unused) {
            (Some(path), _, _) if !self.selected => format!("lies under `{path}`"),
            (_, Some(prefix), _) if !self.stripped => format!("begins with `{prefix}`"),
            (_, _, Some((from, _))) => format!("is `{from}` or lies under it"),
            _ => return Ok(()),
        };
        let mut first: Vec<&str> = Vec::new();
        let names = reader.tensors().iter().map(|entry| entry.name());
        for name in names.chain(reader.non_tensors().iter().map(NonTensorEntry::path)) {
            let top = name.split('.').next().unwrap_or(name);
            if !first.contains(&top) {
                first.push(top);
            }
            if first.len() > 8 {
                break;
            }
        }
        Err(Error::unsupported(format!(
            "no name {missed}; the names begin with `{}`",
            first.join("`, `")
        )))
    }
}

/// Whether it is the root of a file that holds nothing.
fn is_empty_root(reader: &CheckpointReader, entry: &NonTensorEntry) -> bool {
    let is_empty = |node| {
        reader.object().is_some_and(|object| {
            let graph = object.graph();
            match graph.node(node) {
                Node::Dict(pairs) => pairs.is_empty(),
                Node::Object(made) => {
                    made.pairs.is_empty()
                        && made.items.is_empty()
                        && made.state.is_none()
                        && matches!(made.call, Call::Reduce { callable, .. }
                            if graph.global(callable) == Some(("collections", "OrderedDict")))
                }
                _ => false,
            }
        })
    };
    entry.path().is_empty() && entry.node().is_some_and(is_empty)
}

/// The path as the file has it: within a pickled NNx checkpoint, whose tensors are shown by the
/// names of the state dict, also one of those.
fn full_path(reader: &CheckpointReader, path: &str) -> String {
    let is_there = |path: &str| {
        let names = reader.tensors().iter().map(|entry| entry.name());
        names
            .chain(reader.non_tensors().iter().map(NonTensorEntry::path))
            .any(|name| below(name, path).is_some())
    };
    #[cfg(feature = "nnx")]
    {
        let within = format!("{}.{path}", crate::reader::nn_checkpoint::NET_STATE);
        if !is_there(path)
            && reader.object().is_some()
            && crate::NNCheckpoint::is_one(reader)
            && is_there(&within)
        {
            return within;
        }
    }
    #[cfg(not(feature = "nnx"))]
    let _ = is_there;
    path.to_owned()
}

/// The description of a key that is neither a text nor a number, as a listing has it:
/// `<a tuple of 2 items: key 0>`.
fn key_in_words(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('<')?;
    let (what, rest) = rest.split_once(": key ")?;
    let (number, _) = rest.split_once('>')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(what)
}

/// The rest of a name behind a path, if the name is the path or is below it.
fn below<'a>(name: &'a str, path: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(path)?;
    (rest.is_empty() || rest.starts_with('.') || path.ends_with('.') || path.is_empty())
        .then_some(rest)
}

/// Makes new tensors of those that the options change.
#[derive(Debug)]
pub(super) struct Transform<'a> {
    options: &'a ConvertOptions,
    /// The result for each view: tensors that are one object stay one.
    done: HashMap<ViewKey, Tensor>,
    /// How many tensors were cast.
    pub(super) cast: usize,
}

/// The properties that identify a view.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ViewKey {
    storage: usize,
    dtype: Dtype,
    offset: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
    lazy_bits: (bool, bool),
}

impl ViewKey {
    fn new(tensor: &Tensor) -> Self {
        Self {
            storage: tensor.storage().identity(),
            dtype: tensor.dtype(),
            offset: tensor.offset(),
            shape: tensor.shape().to_vec(),
            strides: tensor.strides().to_vec(),
            lazy_bits: (tensor.is_conj(), tensor.is_neg()),
        }
    }
}

impl<'a> Transform<'a> {
    pub(super) fn new(options: &'a ConvertOptions) -> Self {
        Self {
            options,
            done: HashMap::new(),
            cast: 0,
        }
    }

    /// The dtype that a tensor is to have.
    pub(super) fn dtype(&self, dtype: Dtype) -> Dtype {
        match self.options.dtype {
            Some(wanted) if dtype.is_floating_point() => wanted,
            _ => dtype,
        }
    }

    /// Changes a tensor: its dtype, and with `dense` to one that has a storage of its own.
    ///
    /// # Errors
    /// When there is no such cast, or the limits forbid what it would take.
    pub(super) fn apply(&mut self, tensor: &Tensor, dense: bool) -> Result<Tensor> {
        let dtype = self.dtype(tensor.dtype());
        let is_cast = dtype != tensor.dtype();
        self.cast = self.cast.saturating_add(usize::from(is_cast));
        if !is_cast && !dense {
            return Ok(tensor.clone());
        }
        let view = ViewKey::new(tensor);
        let known = match self.done.get(&view) {
            Some(known) => known.clone(),
            None => {
                let derived = DerivedTensor::new(tensor.clone(), dtype, &self.options.limits)?;
                let storage = Storage::from_derived(derived);
                let made = Tensor::contiguous(dtype, tensor.shape(), storage)?;
                self.done.insert(view, made.clone());
                made
            }
        };
        Ok(known
            .with_class(tensor.class())
            .with_requires_grad(tensor.requires_grad()))
    }
}

/// Whether a tensor views less than its storage, or otherwise than row by row.
pub(super) fn is_loose(tensor: &Tensor) -> bool {
    tensor.byte_len() != tensor.storage().byte_len()
        || !tensor.is_contiguous()
        || tensor.is_conj()
        || tensor.is_neg()
}
