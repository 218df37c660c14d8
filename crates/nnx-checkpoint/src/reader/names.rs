//! The one rule by which tensors and other values get their names.
//!
//! - Mapping keys and sequence indices are joined with `.`; a plain state dict keeps its keys.
//! - A pickled `torch.nn.Module` is named as its `state_dict()` would be: parameters, persistent
//!   buffers, what its class adds, then children. All else that it has is listed beside the tensors.
//! - Any other object that holds a tensor, or is the whole of its file, contributes its attribute
//!   names.
//! - In a file without storages of PyTorch's, and in a pickle that `torch.save` did not write, an
//!   array of NumPy is a tensor, if PyTorch has its dtype. In another file it is a value.
//! - A tensor that is the whole of its file has the empty name.
//! - Two values that would get one name are an error.
//!
//! A shared object is listed under every name when it holds a tensor, as `state_dict()` does with a
//! module that is used in two places; else in full under its first name alone. A reference back to
//! something on the way from the root is listed as that and not followed.

use std::collections::HashSet;

use super::children::{self, Child, Role};
use super::describe::describe;
use super::entry::{NonTensorEntry, byte_len};
use super::reachability::{Reachability, TensorNode, Wrapper};
use super::table::{TensorRow, TensorTable};
use super::{CheckpointReader, number};
use crate::error::{Error, ErrorKind, Result, one_line, shown_path};
use crate::name_index::NameIndex;
use crate::numpy::Array;
use crate::pickle::{NodeId, NodeMap};
use crate::torch::{Layout, TensorInfo, TorchObject};
use crate::{Dtype, Limits};

/// The cost of a name beside its bytes: about what a listing keeps with it.
const BYTES_PER_NAME: u64 = 128;

/// Added in the index to the number of a name that belongs to a value which is not a tensor.
const NON_TENSORS: u32 = 1 << 31;

/// Everything that a graph holds, by name.
#[derive(Debug, Default)]
struct Contents {
    tensors: TensorTable,
    non_tensors: Vec<NonTensorEntry>,
}

impl Contents {
    fn is_name(&self, number: u32, name: &str) -> bool {
        let index = usize::try_from(number & !NON_TENSORS).unwrap_or(usize::MAX);
        if number & NON_TENSORS != 0 {
            return self
                .non_tensors
                .get(index)
                .is_some_and(|other| *other.path == *name);
        }
        let row = self.tensors.row(index);
        row.is_some_and(|row| self.tensors.name(row) == name)
    }
}

/// Lists the objects below the root, and the constants of a TorchScript program below
/// `CONSTANTS.c<index>`, as the program calls them. Gives the tensors, and the description of each
/// in the pickle.
///
/// # Errors
/// When two values would get one name, a tensor cannot be told, or one of
/// [`Limits::max_depth`], [`Limits::max_listed`], [`Limits::max_name_bytes`] and
/// [`Limits::max_shared_name_bytes`] is reached.
pub(super) fn list(
    reader: &mut CheckpointReader,
    object: &TorchObject,
    constants: Option<NodeId>,
    has_arrays: bool,
    limits: &Limits,
) -> Result<(TensorTable, Vec<Option<TensorInfo>>)> {
    let graph = object.graph();
    let roots: Vec<NodeId> = std::iter::once(graph.root()).chain(constants).collect();
    let reachable = Reachability::new(object, &roots, has_arrays, limits)?;
    let mut walk = Walk {
        object,
        limits,
        reachable: &reachable,
        path: String::new(),
        on_the_way: NodeMap::default(),
        told: HashSet::new(),
        arrays: NodeMap::default(),
        name_bytes: 0,
        shared_name_bytes: 0,
        contents: Contents::default(),
        names: NameIndex::with_capacity(reachable.tensor_count()),
    };
    walk.from(graph.root())?;
    if let Some(constants) = constants {
        for (index, &id) in graph
            .sequence(constants)
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            walk.path = format!("CONSTANTS.c{index}");
            walk.from(id)?;
        }
    }
    walk.nameless()?;
    // An array has a storage of its own, whichever others share its content.
    reader.storages = object.storage_count().saturating_add(walk.arrays.len());
    reader.non_tensors = walk.contents.non_tensors;
    reader.names = walk.names;
    Ok((walk.contents.tensors, reachable.into_infos()))
}

struct Walk<'a> {
    object: &'a TorchObject,
    limits: &'a Limits,
    reachable: &'a Reachability<'a>,
    /// The name of where the walk is.
    path: String,
    /// The objects between the root and here, with the length of its name.
    on_the_way: NodeMap<usize>,
    /// Objects without a tensor that were listed in full.
    told: HashSet<NodeId>,
    /// The arrays of NumPy that were listed, each with its number.
    arrays: NodeMap<usize>,
    name_bytes: u64,
    /// Bytes of the names beyond one name for each object of the graph.
    shared_name_bytes: u64,
    contents: Contents,
    /// The numbers of the names.
    names: NameIndex,
}

/// Something that is being walked.
struct Frame<'a> {
    node: NodeId,
    children: std::slice::Iter<'a, Child<'a>>,
    /// The length of its name.
    path: usize,
    is_root: bool,
}

impl<'a> Walk<'a> {
    /// Lists the objects below an object, whose name is the path so far.
    fn from(&mut self, root: NodeId) -> Result<()> {
        let mut frames: Vec<Frame<'a>> = Vec::new();
        frames.extend(self.enter(root, Role::Persistent, self.path.is_empty())?);
        while let Some(frame) = frames.last_mut() {
            self.path.truncate(frame.path);
            let Some(child) = frame.children.next() else {
                self.on_the_way.remove(&frame.node);
                frames.pop();
                continue;
            };
            if !frame.is_root {
                self.path.push('.');
            }
            self.path.push_str(&child.key);
            let depth = frames.len() as u64;
            if depth > self.limits.max_depth {
                return Err(Error::limit("max_depth", self.limits.max_depth, depth));
            }
            frames.extend(self.enter(child.id, child.role, false)?);
        }
        Ok(())
    }

    /// Lists an object, or gives the frame with which to walk the objects below it.
    fn enter(&mut self, id: NodeId, role: Role, is_root: bool) -> Result<Option<Frame<'a>>> {
        let reachable = self.reachable;
        let is_left_out = role == Role::NonPersistent;
        if role == Role::ScalarTensor
            && let Some(dtype) = number::dtype(self.object.graph().node(id))
        {
            self.number(id, dtype)?;
            return Ok(None);
        }
        match reachable.tensor(id) {
            Some(TensorNode::Read(_) | TensorNode::Array(_)) if is_left_out => {
                self.other(id, ", which the module's `state_dict()` leaves out")?;
                return Ok(None);
            }
            Some(TensorNode::Read(info)) => {
                self.tensor(id, info)?;
                return Ok(None);
            }
            Some(TensorNode::Array(array)) => {
                self.array(id, array)?;
                return Ok(None);
            }
            Some(TensorNode::Refused) if is_left_out => {
                self.other(id, ", which cannot be read")?;
                return Ok(None);
            }
            Some(TensorNode::Refused) => {
                let refusal = TensorNode::refusal(self.object, id);
                return match refusal {
                    Some(error) => Err(error.in_tensor(&self.path)),
                    None => Ok(None),
                };
            }
            None => {}
        }
        let children = reachable.children(id);
        let holds_tensor = reachable.holds_tensor(id);
        if is_left_out && holds_tensor {
            self.other(
                id,
                " that holds tensors, which the module's `state_dict()` leaves out",
            )?;
            return Ok(None);
        }
        let graph = self.object.graph();
        let wrapper = reachable.wrapper(id);
        // The attributes of an object that is the whole of its file are the contents of the file.
        let is_open = children::is_open(graph, id)
            || (is_root
                && children::has_attributes(graph, id)
                && have_names_of_their_own(children));
        let is_listed_alone =
            wrapper.is_none() && (children.is_empty() || !(holds_tensor || is_open));
        if is_listed_alone {
            self.other(id, "")?;
            return Ok(None);
        }
        if let Some(&above) = self.on_the_way.get(&id) {
            let back = match self.path.get(..above) {
                None | Some("") => ", the root again".to_owned(),
                Some(above) => format!(", the same as `{above}`, of which it is a part"),
            };
            self.other(id, &back)?;
            return Ok(None);
        }
        if let Some(wrapper) = wrapper {
            self.wrapper(id, wrapper, holds_tensor)?;
            if !holds_tensor {
                return Ok(None);
            }
        }
        if !holds_tensor && !self.told.insert(id) {
            self.other(id, ", listed in full under another name")?;
            return Ok(None);
        }
        self.on_the_way.insert(id, self.path.len());
        Ok(Some(Frame {
            node: id,
            children: children.iter(),
            path: self.path.len(),
            is_root,
        }))
    }

    fn tensor(&mut self, node: NodeId, info: &TensorInfo) -> Result<()> {
        let byte_len = self.byte_len(info)?;
        let storage = info.layout.storage();
        let row = TensorRow {
            storage: storage.and_then(|node| self.object.storage_index(node)),
            node: Some(node),
            info: self.reachable.tensor_index(node),
            ..TensorRow::new(info.dtype, byte_len, info.layout.name())
        };
        self.push_tensor(&info.shape, row)
    }

    /// Lists an array of NumPy as the tensor that has its elements.
    fn array(&mut self, node: NodeId, array: &Array) -> Result<()> {
        let next = self.arrays.len();
        let number = *self.arrays.entry(node).or_insert(next);
        let len = byte_len(array.dtype, &array.shape);
        let row = TensorRow {
            storage: Some(self.object.storage_count().saturating_add(number)),
            is_array: true,
            node: Some(node),
            ..TensorRow::new(array.dtype, len, "strided")
        };
        self.push_tensor(&array.shape, row)
    }

    fn push_tensor(&mut self, shape: &[usize], row: TensorRow) -> Result<()> {
        self.name(self.contents.tensors.len(), 0)?;
        self.contents.tensors.push(&self.path, shape, row);
        Ok(())
    }

    fn byte_len(&self, info: &TensorInfo) -> Result<u64> {
        if let Layout::Nested { parts, .. } = &info.layout {
            // The shape counts tensors there, not elements.
            for (_, part) in parts.iter().filter(|part| part.0 == "values") {
                if let Some(values) = self.object.tensor_info(*part)? {
                    return Ok(byte_len(values.dtype, &values.shape));
                }
            }
        }
        Ok(byte_len(info.dtype, &info.shape))
    }

    /// Lists a number as the tensor that is made of it.
    fn number(&mut self, node: NodeId, dtype: Dtype) -> Result<()> {
        let row = TensorRow {
            node: Some(node),
            ..TensorRow::new(dtype, byte_len(dtype, &[]), "strided")
        };
        self.push_tensor(&[], row)
    }

    fn other(&mut self, id: NodeId, addition: &str) -> Result<()> {
        let mut description = match self.reachable.tensor(id) {
            Some(TensorNode::Read(info)) => tensor_in_words(info.dtype, &info.shape),
            Some(TensorNode::Array(array)) => tensor_in_words(array.dtype, &array.shape),
            Some(TensorNode::Refused) => "a tensor".to_owned(),
            None => describe(self.object, id),
        };
        description.push_str(addition);
        self.push_other(id, description, false)
    }

    fn push_other(&mut self, id: NodeId, description: String, is_flattened: bool) -> Result<()> {
        self.name(self.contents.non_tensors.len(), NON_TENSORS)?;
        self.contents.non_tensors.push(NonTensorEntry {
            path: self.path.as_str().into(),
            description,
            node: Some(id),
            is_flattened,
        });
        Ok(())
    }

    /// Lists a tensor of a class of its own as a value, whose parts follow where tensors are among
    /// them.
    fn wrapper(&mut self, id: NodeId, wrapper: &Wrapper, holds_tensor: bool) -> Result<()> {
        let what = match self.object.graph().global(wrapper.class) {
            Some((module, "DTensor")) if module.starts_with("torch.distributed.") => {
                "that is a DTensor, of which the file has the piece of one process \
                 (`full_tensor()` joins them before they are saved)"
                    .to_owned()
            }
            Some((module, name)) => format!("of the class `{}`", shown_path(module, name)),
            None => "of a class of its own".to_owned(),
        };
        let parts = if holds_tensor {
            ", in parts that follow"
        } else {
            ""
        };
        let description = one_line(&format!(
            "{} {what}{parts}",
            tensor_in_words(wrapper.dtype, &wrapper.shape)
        ));
        self.push_other(id, description, true)
    }

    /// Takes the path as the name of the tensor or of the other value of that place; it must be free.
    fn name(&mut self, place: usize, kind: u32) -> Result<()> {
        let bytes = self.path.len() as u64;
        self.name_bytes = self.name_bytes.saturating_add(bytes);
        let listed = self
            .contents
            .tensors
            .len()
            .saturating_add(self.contents.non_tensors.len());
        let listed = (listed as u64).saturating_add(1);
        if listed > self.object.graph().len() as u64 {
            let taken = bytes.saturating_add(BYTES_PER_NAME);
            self.shared_name_bytes = self.shared_name_bytes.saturating_add(taken);
        }
        let max_listed = self.limits.max_listed.min(NON_TENSORS.into());
        for (limit, allowed, found) in [
            ("max_listed", max_listed, listed),
            (
                "max_name_bytes",
                self.limits.max_name_bytes,
                self.name_bytes,
            ),
            (
                "max_shared_name_bytes",
                self.limits.max_shared_name_bytes,
                self.shared_name_bytes,
            ),
        ] {
            if found > allowed {
                return Err(Error::limit(limit, allowed, found));
            }
        }
        let number = u32::try_from(place).unwrap_or_default() | kind;
        let (path, contents) = (&self.path, &self.contents);
        let is_name = |other| contents.is_name(other, path);
        self.names.insert(path, number, is_name).map_err(|_| {
            let name = self.path.clone();
            Error::new(ErrorKind::NameCollision { name })
        })
    }

    /// Lists the tensors that no name leads to, such as attributes of tensors and keys of mappings.
    fn nameless(&mut self) -> Result<()> {
        for (id, node) in self.reachable.nameless(self.object) {
            let graph = self.object.graph();
            self.path = match graph.offset(id) {
                Some(offset) => format!("<tensor at {offset:#x}>"),
                None => format!("<tensor {}>", self.contents.non_tensors.len()),
            };
            let what = match node {
                TensorNode::Read(info) => tensor_in_words(info.dtype, &info.shape),
                TensorNode::Array(array) => tensor_in_words(array.dtype, &array.shape),
                TensorNode::Refused => "a tensor that cannot be read".to_owned(),
            };
            self.push_other(id, format!("{what}, to which no name leads"), false)?;
        }
        Ok(())
    }
}

/// Whether no two have one name, as an argument and an attribute of an object may.
fn have_names_of_their_own(children: &[Child<'_>]) -> bool {
    let mut names = HashSet::new();
    children.iter().all(|child| names.insert(&*child.key))
}

fn tensor_in_words(dtype: Dtype, shape: &[usize]) -> String {
    format!("a {dtype} tensor of shape {shape:?}")
}
