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
//! What is shared is listed under every name when it holds a tensor, as `state_dict()` does with a
//! module that stands in two places; else in full under its first name alone. A reference back to
//! something on the way from the root is listed as that and not followed.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::describe::describe;
use super::entry::{OtherEntry, Place, TensorEntry, byte_len};
use super::number;
use super::part::Part;
use super::survey::{Survey, TensorNode, Wrapper};
use super::view::{self, Child, Role};
use crate::error::{Error, ErrorKind, Result, one_line, shown_path};
use crate::numpy::Array;
use crate::pickle::{NodeId, NodeMap};
use crate::torch::{Layout, TensorInfo, TorchObject};
use crate::{Dtype, Limits};

/// What a name counts for beside its bytes: about what a listing keeps with it.
const BYTES_PER_NAME: u64 = 128;

/// Everything that a graph holds, by name.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) tensors: Vec<TensorEntry>,
    pub(super) others: Vec<OtherEntry>,
    /// Where each tensor stands among them; none for the names of other values.
    pub(super) by_name: HashMap<Arc<str>, Option<usize>>,
    /// How many arrays of NumPy are among the tensors, each counted once.
    pub(super) arrays: usize,
}

/// Lists what lies below the root, and the constants of a TorchScript program below
/// `CONSTANTS.c<index>`, as the program calls them.
///
/// # Errors
/// When two values would get one name, a tensor cannot be told, or one of
/// [`Limits::max_depth`], [`Limits::max_listed`], [`Limits::max_name_bytes`] and
/// [`Limits::max_shared_name_bytes`] is reached.
pub(super) fn list(
    object: &TorchObject,
    part: &Arc<Part>,
    constants: Option<NodeId>,
    has_arrays: bool,
    limits: &Limits,
) -> Result<Listing> {
    let graph = object.graph();
    let roots: Vec<NodeId> = std::iter::once(graph.root()).chain(constants).collect();
    let survey = Survey::of(object, &roots, has_arrays, limits)?;
    let mut walk = Walk {
        object,
        part,
        limits,
        survey: &survey,
        path: String::new(),
        on_the_way: NodeMap::default(),
        told: HashSet::new(),
        arrays: NodeMap::default(),
        name_bytes: 0,
        shared_name_bytes: 0,
        listing: Listing::default(),
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
    walk.listing.arrays = walk.arrays.len();
    Ok(walk.listing)
}

struct Walk<'a> {
    object: &'a TorchObject,
    part: &'a Arc<Part>,
    limits: &'a Limits,
    survey: &'a Survey,
    /// The name of where the walk is.
    path: String,
    /// What lies between the root and here, with the length of its name.
    on_the_way: NodeMap<usize>,
    /// What was listed in full and holds no tensor.
    told: HashSet<NodeId>,
    /// The arrays of NumPy that were listed, each with its number.
    arrays: NodeMap<usize>,
    name_bytes: u64,
    /// What the names take that are more than the graph has objects.
    shared_name_bytes: u64,
    listing: Listing,
}

/// Something that is being walked.
struct Frame<'a> {
    node: NodeId,
    children: std::slice::Iter<'a, Child>,
    /// The length of its name.
    path: usize,
    is_root: bool,
}

impl<'a> Walk<'a> {
    /// Lists what lies below an object, whose name is the path so far.
    fn from(&mut self, root: NodeId) -> Result<()> {
        let mut frames: Vec<Frame<'a>> = Vec::new();
        frames.extend(self.enter(root, Role::Kept, self.path.is_empty())?);
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

    /// Lists an object, or gives the frame with which to walk what lies below it.
    fn enter(&mut self, id: NodeId, role: Role, is_root: bool) -> Result<Option<Frame<'a>>> {
        let survey = self.survey;
        let aside = role == Role::Aside;
        if role == Role::Number
            && let Some(dtype) = number::dtype(self.object.graph().node(id))
        {
            self.number(id, dtype)?;
            return Ok(None);
        }
        match survey.tensor(id) {
            Some(TensorNode::Read(_) | TensorNode::Array(_)) if aside => {
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
            Some(TensorNode::Refused) if aside => {
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
        let children = survey.children(id);
        let holds_tensor = survey.holds_tensor(id);
        if aside && holds_tensor {
            self.other(
                id,
                " that holds tensors, which the module's `state_dict()` leaves out",
            )?;
            return Ok(None);
        }
        let graph = self.object.graph();
        let wrapper = survey.wrapper(id);
        // The attributes of an object that is the whole of its file are what the file is about.
        let is_open = view::is_open(graph, id)
            || (is_root && view::has_attributes(graph, id) && have_names_of_their_own(children));
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
        let storage = info.layout.storage();
        let entry = TensorEntry {
            name: self.name(Some(self.listing.tensors.len()))?,
            dtype: info.dtype,
            shape: info.shape.clone(),
            bytes: self.byte_len(info)?,
            storage: storage.and_then(|node| self.object.storage_index(node)),
            layout: info.layout.name(),
            is_array: false,
            place: Place {
                part: Arc::clone(self.part),
                node: Some(node),
                kept: None,
            },
        };
        self.listing.tensors.push(entry);
        Ok(())
    }

    /// Lists an array of NumPy as the tensor that has its elements.
    fn array(&mut self, node: NodeId, array: &Array) -> Result<()> {
        let next = self.arrays.len();
        let number = *self.arrays.entry(node).or_insert(next);
        let entry = TensorEntry {
            name: self.name(Some(self.listing.tensors.len()))?,
            dtype: array.dtype,
            shape: array.shape.clone(),
            bytes: byte_len(array.dtype, &array.shape),
            storage: Some(self.object.storage_count().saturating_add(number)),
            layout: "strided",
            is_array: true,
            place: Place {
                part: Arc::clone(self.part),
                node: Some(node),
                kept: None,
            },
        };
        self.listing.tensors.push(entry);
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
        let entry = TensorEntry {
            name: self.name(Some(self.listing.tensors.len()))?,
            dtype,
            shape: Vec::new(),
            bytes: byte_len(dtype, &[]),
            storage: None,
            layout: "strided",
            is_array: false,
            place: Place {
                part: Arc::clone(self.part),
                node: Some(node),
                kept: None,
            },
        };
        self.listing.tensors.push(entry);
        Ok(())
    }

    fn other(&mut self, id: NodeId, addition: &str) -> Result<()> {
        let path = self.name(None)?;
        let mut description = match self.survey.tensor(id) {
            Some(TensorNode::Read(info)) => tensor_in_words(info.dtype, &info.shape),
            Some(TensorNode::Array(array)) => tensor_in_words(array.dtype, &array.shape),
            Some(TensorNode::Refused) => "a tensor".to_owned(),
            None => describe(self.object, id),
        };
        description.push_str(addition);
        self.listing.others.push(OtherEntry {
            path,
            description,
            node: Some(id),
            is_flattened: false,
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
        let path = self.name(None)?;
        self.listing.others.push(OtherEntry {
            path,
            description: one_line(&format!(
                "{} {what}{parts}",
                tensor_in_words(wrapper.dtype, &wrapper.shape)
            )),
            node: Some(id),
            is_flattened: true,
        });
        Ok(())
    }

    /// Takes the path as the name of a tensor or of another value; it must be free.
    fn name(&mut self, place: Option<usize>) -> Result<Arc<str>> {
        let name: Arc<str> = self.path.as_str().into();
        let bytes = name.len() as u64;
        self.name_bytes = self.name_bytes.saturating_add(bytes);
        let listed = (self.listing.by_name.len() as u64).saturating_add(1);
        if listed > self.object.graph().len() as u64 {
            let taken = bytes.saturating_add(BYTES_PER_NAME);
            self.shared_name_bytes = self.shared_name_bytes.saturating_add(taken);
        }
        for (limit, allowed, found) in [
            ("max_listed", self.limits.max_listed, listed),
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
        match self.listing.by_name.entry(name.clone()) {
            Entry::Vacant(vacant) => vacant.insert(place),
            Entry::Occupied(_) => {
                let name = name.to_string();
                return Err(Error::new(ErrorKind::NameCollision { name }));
            }
        };
        Ok(name)
    }

    /// Lists the tensors that no name leads to, such as attributes of tensors and keys of mappings.
    fn nameless(&mut self) -> Result<()> {
        for (id, node) in self.survey.nameless(self.object) {
            let graph = self.object.graph();
            self.path = match graph.offset(id) {
                Some(offset) => format!("<tensor at {offset:#x}>"),
                None => format!("<tensor {}>", self.listing.others.len()),
            };
            let path = self.name(None)?;
            let what = match node {
                TensorNode::Read(info) => tensor_in_words(info.dtype, &info.shape),
                TensorNode::Array(array) => tensor_in_words(array.dtype, &array.shape),
                TensorNode::Refused => "a tensor that cannot be read".to_owned(),
            };
            self.listing.others.push(OtherEntry {
                path,
                description: format!("{what}, to which no name leads"),
                node: Some(id),
                is_flattened: false,
            });
        }
        Ok(())
    }
}

/// Whether no two have one name, as an argument and an attribute of an object may.
fn have_names_of_their_own(children: &[Child]) -> bool {
    let mut names = HashSet::new();
    children
        .iter()
        .all(|child| names.insert(child.key.as_str()))
}

fn tensor_in_words(dtype: Dtype, shape: &[usize]) -> String {
    format!("a {dtype} tensor of shape {shape:?}")
}
