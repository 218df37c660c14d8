//! Building an object graph as Python would hold it in memory.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::object::{PickledObject, TorchObject};
use super::storage_table::StorageTable;
use crate::error::{Error, Result};
use crate::pickle::{Call, Graph, Node, NodeId, Object, Text, big_int};
use crate::{Dtype, Storage, Tensor, TensorClass};

/// The protocol that `torch.save` uses unless told otherwise.
const PROTOCOL: u8 = 2;

/// Builds an object graph with the identities that CPython gives: which strings, classes and
/// tuples are one object decides the bytes of a pickle.
///
/// ```
/// use nnx_checkpoint::torch::TorchBuilder;
///
/// let mut builder = TorchBuilder::new();
/// let key = builder.text("epoch");
/// let value = builder.int(3);
/// let root = builder.dict(vec![(key, value)]);
/// let mut file = Vec::new();
/// builder.finish(root).write_to(&mut file, "archive")?;
/// assert!(file.starts_with(b"PK"));
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
#[derive(Debug)]
pub struct TorchBuilder {
    graph: Graph,
    texts: HashMap<String, NodeId>,
    globals: HashMap<(String, String), NodeId>,
    /// By the storage's identity; the storage is kept, so that the identity stays its own.
    storages: IndexMap<usize, Built>,
    /// The nodes that refer to a storage, each with the number of the storage.
    references: Vec<(NodeId, usize, Option<Dtype>)>,
    /// By the source's identity: the copies of its objects. The source is kept, so that the
    /// identity stays its own.
    copied: HashMap<usize, (Arc<TorchObject>, HashMap<NodeId, NodeId>)>,
}

#[derive(Debug)]
struct Built {
    key: NodeId,
    dtype: Option<Dtype>,
    storage: Storage,
}

impl TorchBuilder {
    /// An empty graph of protocol 2.
    pub fn new() -> Self {
        Self {
            graph: Graph::new(PROTOCOL),
            texts: HashMap::new(),
            globals: HashMap::new(),
            storages: IndexMap::new(),
            references: Vec::new(),
            copied: HashMap::new(),
        }
    }

    /// `None`.
    pub fn none(&mut self) -> NodeId {
        self.graph.push(Node::None)
    }

    /// A bool.
    pub fn bool(&mut self, value: bool) -> NodeId {
        self.graph.push(Node::Bool(value))
    }

    /// An int.
    pub fn int(&mut self, value: i64) -> NodeId {
        self.graph.push(Node::Int(value))
    }

    /// An int of any size.
    pub fn big_int(&mut self, value: i128) -> NodeId {
        match i64::try_from(value) {
            Ok(value) => self.int(value),
            Err(_) => {
                let bytes = value.to_le_bytes();
                let kept = big_int::shortest(&bytes);
                self.graph.push(Node::BigInt(kept.into()))
            }
        }
    }

    /// A float.
    pub fn float(&mut self, value: f64) -> NodeId {
        self.graph.push(Node::Float(value))
    }

    /// A string that Python made at run time: a new object at every call, except that Python has
    /// one object for each string of one Latin-1 character and for the empty one.
    pub fn text(&mut self, text: &str) -> NodeId {
        if is_singleton(text) {
            self.interned(text)
        } else {
            self.graph.push(Node::Str(Text::Utf8(text.into())))
        }
    }

    /// A string that Python interned, as it does with names and the constants that look like them:
    /// one object however often it is asked for.
    pub fn interned(&mut self, text: &str) -> NodeId {
        if let Some(&id) = self.texts.get(text) {
            return id;
        }
        let id = self.graph.push(Node::Str(Text::Utf8(text.into())));
        self.texts.insert(text.to_owned(), id);
        id
    }

    /// A class or function.
    pub fn global(&mut self, module: &str, name: &str) -> NodeId {
        if let Some(&id) = self.globals.get(&(module.to_owned(), name.to_owned())) {
            return id;
        }
        let id = self.graph.push(Node::Global {
            module: module.into(),
            name: name.into(),
        });
        self.globals
            .insert((module.to_owned(), name.to_owned()), id);
        id
    }

    /// A tuple.
    pub fn tuple(&mut self, items: Vec<NodeId>) -> NodeId {
        self.graph.push(Node::Tuple(items.into()))
    }

    /// A list.
    pub fn list(&mut self, items: Vec<NodeId>) -> NodeId {
        self.graph.push(Node::List(items))
    }

    /// A dict.
    pub fn dict(&mut self, pairs: Vec<(NodeId, NodeId)>) -> NodeId {
        self.graph.push(Node::Dict(pairs))
    }

    /// The result of `callable(*args)`.
    pub fn reduce(&mut self, callable: NodeId, args: Vec<NodeId>) -> NodeId {
        let args = self.tuple(args);
        self.object(Call::Reduce { callable, args }, Vec::new(), None)
    }

    /// An instance of a class made without arguments, then given its state.
    pub fn instance(&mut self, module: &str, name: &str, state: NodeId) -> NodeId {
        let class = self.global(module, name);
        let args = self.tuple(Vec::new());
        self.object(Call::New { class, args }, Vec::new(), Some(state))
    }

    /// A `collections.OrderedDict`, with attributes where it has some.
    pub fn ordered_dict(
        &mut self,
        pairs: Vec<(NodeId, NodeId)>,
        attributes: Option<NodeId>,
    ) -> NodeId {
        let callable = self.global("collections", "OrderedDict");
        let args = self.tuple(Vec::new());
        self.object(Call::Reduce { callable, args }, pairs, attributes)
    }

    fn object(
        &mut self,
        call: Call,
        pairs: Vec<(NodeId, NodeId)>,
        state: Option<NodeId>,
    ) -> NodeId {
        self.graph.push(Node::Object(Box::new(Object {
            call,
            items: Vec::new(),
            pairs,
            state,
        })))
    }

    /// A tensor: its rebuild call. Tensors of one storage share it.
    ///
    /// # Errors
    /// When the storage is no whole number of the tensor's elements, or another tensor views it
    /// with another dtype (PyTorch saves neither); when the tensor is quantised, a view with lazy
    /// bits or of another Python class, which this builder does not write.
    pub fn tensor(&mut self, tensor: &Tensor) -> Result<NodeId> {
        let dtype = tensor.dtype();
        if dtype.is_quantized() {
            return Err(Error::unsupported("quantised tensors are not written"));
        }
        if tensor.is_conj() || tensor.is_neg() {
            return Err(Error::unsupported(
                "a view with the conjugate or negative bit is not written; make a tensor of its \
                 bytes first",
            ));
        }
        if tensor.class() == TensorClass::Subclass {
            return Err(Error::unsupported(
                "a tensor of a Python subclass is not written; give it the class `Tensor` first",
            ));
        }
        let typed = dtype.storage_class().map(|_| dtype);
        let storage = self.storage(tensor.storage(), typed)?;
        let offset = self.size(tensor.offset())?;
        let shape = self.sizes(tensor.shape())?;
        let strides = self.sizes(tensor.strides())?;
        let parameter = tensor.class() == TensorClass::Parameter;
        let requires_grad = self.bool(tensor.requires_grad() && !parameter);
        let hooks = self.ordered_dict(Vec::new(), None);
        let mut args = vec![storage, offset, shape, strides, requires_grad, hooks];
        let function = if typed.is_some() {
            "_rebuild_tensor_v2"
        } else {
            args.push(self.global("torch", dtype.name()));
            "_rebuild_tensor_v3"
        };
        let callable = self.global("torch._utils", function);
        let data = self.reduce(callable, args);
        if !parameter {
            return Ok(data);
        }
        let requires_grad = self.bool(tensor.requires_grad());
        let hooks = self.ordered_dict(Vec::new(), None);
        let callable = self.global("torch._utils", "_rebuild_parameter");
        Ok(self.reduce(callable, vec![data, requires_grad, hooks]))
    }

    /// Says what a later [`copy`](Self::copy) out of that graph has in place of one of its objects.
    pub(crate) fn substitute(&mut self, whole: &Arc<TorchObject>, id: NodeId, with: NodeId) {
        let (_, copied) = self
            .copied
            .entry(Arc::as_ptr(whole).addr())
            .or_insert_with(|| (Arc::clone(whole), HashMap::new()));
        copied.insert(id, with);
    }

    /// An object of another graph, with everything it refers to. Objects that several copied
    /// objects of one file share are shared here too.
    ///
    /// # Errors
    /// As for [`tensor`](Self::tensor), and when a storage cannot be read.
    pub fn copy(&mut self, object: &PickledObject) -> Result<NodeId> {
        let whole = object.shared();
        let source = Arc::as_ptr(whole).addr();
        let mut copied = self
            .copied
            .remove(&source)
            .map_or_else(HashMap::new, |(_, copied)| copied);
        let graph = whole.graph();
        for id in graph.reachable_unless(object.id(), |id| copied.contains_key(&id)) {
            let copy = match graph.node(id) {
                // Objects that CPython has once in a process are one object here too.
                Node::Str(text) if text.as_str().is_some_and(is_singleton) => {
                    self.text(text.as_str().unwrap_or_default())
                }
                Node::Global { module, name } => self.global(module, name),
                Node::Persistent(pid) => match (whole.reference(id), whole.storage(id)?) {
                    (Some(reference), Some(storage)) => self.storage(storage, reference.dtype)?,
                    // A legacy file has a class with its source text, which no other form has.
                    _ => match graph.sequence(*pid) {
                        Some(&[kind, class, ..]) if graph.text(kind) == Some("module") => {
                            match graph.global(class) {
                                Some((module, name)) => self.global(module, name),
                                None => continue,
                            }
                        }
                        _ => continue,
                    },
                },
                _ => continue,
            };
            copied.insert(id, copy);
        }
        let copy = graph.copy_into(object.id(), &mut self.graph, &mut copied);
        self.copied.insert(source, (Arc::clone(whole), copied));
        Ok(copy)
    }

    /// The whole, with `root` as the object that the file is of.
    pub fn finish(mut self, root: NodeId) -> TorchObject {
        self.graph.set_root(root);
        let mut table = StorageTable::new(self.graph.len());
        for built in self.storages.values() {
            let key = self.graph.text(built.key).unwrap_or_default();
            table.add_storage(key, &built.storage);
        }
        for (node, index, dtype) in self.references {
            table.refer_to_whole(node, index, dtype);
        }
        TorchObject::built(self.graph, table)
    }

    /// The persistent id of a storage: a new tuple at every call, as PyTorch makes it.
    fn storage(&mut self, storage: &Storage, dtype: Option<Dtype>) -> Result<NodeId> {
        let size = dtype.map_or(1, Dtype::size);
        let byte_len = storage.byte_len();
        let count = byte_len.checked_div(size).unwrap_or_default();
        if count.checked_mul(size) != Some(byte_len) {
            return Err(Error::unsupported(format!(
                "a storage of {byte_len} bytes is no whole number of elements of {size} bytes"
            )));
        }
        let (index, key) = match self.storages.get_full(&storage.identity()) {
            Some((index, _, built)) if built.dtype == dtype => (index, built.key),
            Some(_) => {
                return Err(Error::unsupported(
                    "two tensors view one storage with different dtypes, which PyTorch does not \
                     save; copy one of them first",
                ));
            }
            None => {
                // `str` of an int makes a new object even for one digit.
                let key = Text::Utf8(self.storages.len().to_string().into());
                let key = self.graph.push(Node::Str(key));
                let built = Built {
                    key,
                    dtype,
                    storage: storage.clone(),
                };
                (self.storages.insert_full(storage.identity(), built).0, key)
            }
        };
        let kind = self.interned("storage");
        let class = match dtype.and_then(Dtype::storage_class) {
            Some(class) => self.global("torch", class),
            None => self.global("torch.storage", "UntypedStorage"),
        };
        let location = match storage.location() {
            "cpu" => self.interned("cpu"),
            other => self.text(other),
        };
        let count = self.size(count)?;
        let pid = self.tuple(vec![kind, class, key, location, count]);
        let node = self.graph.push(Node::Persistent(pid));
        self.references.push((node, index, dtype));
        Ok(node)
    }

    fn size(&mut self, value: usize) -> Result<NodeId> {
        i64::try_from(value)
            .map(|value| self.int(value))
            .map_err(|_| Error::unsupported(format!("{value} does not fit 64 bits with a sign")))
    }

    fn sizes(&mut self, values: &[usize]) -> Result<NodeId> {
        let values = values
            .iter()
            .map(|&value| self.size(value))
            .collect::<Result<_>>()?;
        Ok(self.tuple(values))
    }
}

impl Default for TorchBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether CPython has one object for every string of that content.
fn is_singleton(text: &str) -> bool {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (None, _) => true,
        (Some(character), None) => u32::from(character) < 256,
        _ => false,
    }
}
