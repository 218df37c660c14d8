//! Reading the tar container, which PyTorch wrote until 2016.
//!
//! Three members count: `storages` (how many; for each a pickle of key, location and class, a
//! 64-bit count and the elements; then a pickle of the views), `tensors` (how many; for each a
//! pickle of key, storage and class, then rank, sizes, strides and offset as numbers) and `pickle`,
//! whose persistent ids are keys of both. The layout is that of `_legacy_load.legacy_load` in
//! `torch.serialization`.
//!
//! The result is the graph of a file that `torch.save` would write today: each tensor a call
//! of `_rebuild_tensor_v2`, each storage a persistent id of five members.

use std::collections::HashMap;

use super::load_context::LoadContext;
use super::object::TorchObject;
use super::pickle_location::PickleLocation;
use super::rebuild::args::check_dimensions;
use super::storage_id::checked_name;
use super::storage_table::{EntryBytes, StorageTable};
use super::stream::Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Call, Graph, Node, NodeId, Object, Text};
use crate::source::ByteRange;
use crate::tar;

/// Characters of a key in decimal: a sign and 19 digits.
const MAX_DIGITS: usize = 20;

/// Reads a tar container; of the storages only their counts are read.
pub(super) fn read(bytes: &ByteRange, context: &mut LoadContext) -> Result<TorchObject> {
    let members = tar::members(bytes)?;
    let member = |name: &str| {
        members.get(name).ok_or_else(|| {
            Error::new(ErrorKind::NotACheckpoint {
                what: format!("a tar archive without the member `{name}`"),
                hint: "PyTorch did not write it; unpack it and look for a checkpoint inside"
                    .to_owned(),
            })
        })
    };
    let (storages, tensors, pickle) = (member("storages")?, member("tensors")?, member("pickle")?);
    let (limit, size) = (context.limits.max_pickle_bytes, pickle.byte_len());
    if size > limit {
        return Err(Error::limit("max_pickle_bytes", limit, size).in_entry("pickle"));
    }
    let mut graph = context.entry(&pickle.bytes()?, "pickle")?;
    let storages = Storages::read(storages, context)?;
    let tensors = read_tensors(tensors, context)?;
    resolve(&mut graph, &storages, &tensors)?;
    let mut bytes = storages.bytes;
    let location = PickleLocation::new(Some("pickle"), 0);
    let table = StorageTable::collect(&graph, &location, |id| {
        bytes
            .remove(id.key)
            .map(EntryBytes::Range)
            .ok_or_else(|| Error::malformed(format!("the file does not hold storage `{}`", id.key)))
    })?;
    Ok(TorchObject::new(graph, table, location))
}

/// The member `storages`.
#[derive(Debug, Default)]
struct Storages {
    /// By the key as decimal text, as persistent ids of today have it.
    bytes: HashMap<String, ByteRange>,
    /// The persistent id of each key.
    ids: HashMap<i64, Id>,
}

/// The members of a persistent id of today.
#[derive(Clone, Debug)]
struct Id {
    key: i64,
    class: Node,
    location: String,
    count: i64,
    /// Key, offset and count of a part.
    view: Option<[i64; 3]>,
}

impl Storages {
    fn read(bytes: &ByteRange, context: &mut LoadContext) -> Result<Self> {
        let mut stream = Stream::new(bytes, Some("storages"));
        let mut read = Self::default();
        for _ in 0..count(&mut stream, context)? {
            read.storage(&mut stream, context)?;
        }
        let (views, at) = stream.pickle(context)?;
        let malformed = |id| {
            let what = views.describe(id);
            stream.error(
                format!("a view must be (key, storage, offset, count), got {what}"),
                at,
            )
        };
        let list = views.sequence(views.root());
        for &view in list.ok_or_else(|| malformed(views.root()))? {
            let &[target, root, offset, count] =
                views.sequence(view).ok_or_else(|| malformed(view))?
            else {
                return Err(malformed(view));
            };
            let number = |id| views.int(id).ok_or_else(|| malformed(view));
            let (target, root) = (number(target)?, number(root)?);
            let whole = read.ids.get(&root).filter(|id| id.view.is_none());
            let mut id = whole.cloned().ok_or_else(|| malformed(view))?;
            id.view = Some([target, number(offset)?, number(count)?]);
            if read.ids.insert(target, id).is_some() {
                return Err(stream.error(format!("storage `{target}` is listed twice"), at));
            }
        }
        Ok(read)
    }

    fn storage(&mut self, stream: &mut Stream<'_>, context: &mut LoadContext) -> Result<()> {
        let (about, at) = stream.pickle(context)?;
        let members = match about.sequence(about.root()) {
            Some(&[key, location, class]) => about
                .int(key)
                .zip(about.text(location))
                .zip(about.global(class).map(|_| about.node(class).clone())),
            _ => None,
        };
        let ((key, location), class) = members.ok_or_else(|| {
            stream.error(
                format!(
                    "a storage must be (key, location, class), got {}",
                    about.describe(about.root())
                ),
                at,
            )
        })?;
        let size = match &class {
            Node::Global { module, name } => {
                checked_name(module, "class").map_err(|error| stream.placed(error, at))?;
                crate::Dtype::from_storage_class(name)
            }
            _ => None,
        }
        .ok_or_else(|| {
            Error::unsupported(format!("the class of storage `{key}` is none known here"))
        })?
        .size();
        let at = stream.position();
        let count = stream.i64()?;
        let byte_len = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(size))
            .ok_or_else(|| {
                stream.error(
                    format!("storage `{key}` has an impossible count of elements, {count}"),
                    at,
                )
            })?;
        let id = Id {
            key,
            class,
            location: checked_name(location, "location")
                .map_err(|error| stream.placed(error, at))?
                .to_owned(),
            count,
            view: None,
        };
        self.bytes.insert(key.to_string(), stream.take(byte_len)?);
        if self.ids.insert(key, id).is_some() {
            return Err(stream.error(format!("storage `{key}` is listed twice"), at));
        }
        Ok(())
    }
}

/// A tensor of the member `tensors`.
#[derive(Debug)]
struct OldTensor {
    storage: i64,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
}

fn read_tensors(bytes: &ByteRange, context: &mut LoadContext) -> Result<HashMap<i64, OldTensor>> {
    let mut stream = Stream::new(bytes, Some("tensors"));
    let mut read = HashMap::new();
    for _ in 0..count(&mut stream, context)? {
        let (about, at) = stream.pickle(context)?;
        let keys = match about.sequence(about.root()) {
            Some(&[key, storage, _class]) => about.int(key).zip(about.int(storage)),
            _ => None,
        };
        let (key, storage) = keys.ok_or_else(|| {
            stream.error(
                format!(
                    "a tensor must be (key, storage, class), got {}",
                    about.describe(about.root())
                ),
                at,
            )
        })?;
        // The rank takes eight bytes, of which four count.
        let rank = stream.take(8)?.bytes()?;
        let rank = rank.first_chunk::<4>().copied().unwrap_or_default();
        let rank = usize::try_from(i32::from_le_bytes(rank))
            .map_err(|_| stream.error(format!("tensor `{key}` has a negative rank"), at))?;
        check_dimensions(rank).map_err(|error| stream.placed(error, at))?;
        let tensor = OldTensor {
            storage,
            sizes: numbers(&mut stream, rank)?,
            strides: numbers(&mut stream, rank)?,
            offset: stream.i64()?,
        };
        if read.insert(key, tensor).is_some() {
            return Err(stream.error(format!("tensor `{key}` is listed twice"), at));
        }
    }
    Ok(read)
}

/// So many 64-bit numbers.
fn numbers(stream: &mut Stream<'_>, count: usize) -> Result<Vec<i64>> {
    let bytes = stream.take(count.saturating_mul(8))?.bytes()?;
    let (numbers, _) = bytes.as_chunks::<8>();
    Ok(numbers
        .iter()
        .map(|bytes| i64::from_le_bytes(*bytes))
        .collect())
}

/// A pickle of a count.
fn count(stream: &mut Stream<'_>, context: &mut LoadContext) -> Result<i64> {
    let (graph, at) = stream.pickle(context)?;
    graph.int(graph.root()).ok_or_else(|| {
        stream.error(
            format!("expected a count, got {}", graph.describe(graph.root())),
            at,
        )
    })
}

/// Puts tensors and storages in the place of the persistent ids.
fn resolve(
    graph: &mut Graph,
    storages: &Storages,
    tensors: &HashMap<i64, OldTensor>,
) -> Result<()> {
    let references: Vec<(NodeId, NodeId)> = graph.persistent_ids().collect();
    // PyTorch makes one object for each key; a key costs a byte of the file wherever it is used.
    let mut made: HashMap<i64, Node> = HashMap::new();
    for (node, pid) in references {
        // A class, with the source text that it had.
        if let Some(&[class, ..]) = graph.sequence(pid) {
            let (module, name) = graph.global(class).ok_or_else(|| {
                Error::malformed(format!(
                    "a tuple outside the pickle must begin with a class, got {}",
                    graph.describe(class)
                ))
                .in_entry("pickle")
            })?;
            for part in [module, name] {
                checked_name(part, "class").map_err(|error| error.in_entry("pickle"))?;
            }
            *graph.node_mut(node) = graph.node(class).clone();
            continue;
        }
        let key = graph.int(pid).or_else(|| {
            let text = graph.text(pid).filter(|text| text.len() <= MAX_DIGITS)?;
            text.parse().ok()
        });
        let resolved = match key {
            Some(key) if made.contains_key(&key) => made.get(&key).cloned(),
            Some(key) if tensors.contains_key(&key) => tensors
                .get(&key)
                .map(|tensor| rebuild(graph, tensor, storages))
                .transpose()?,
            Some(key) => storages.ids.get(&key).map(|id| persistent(graph, id)),
            None => None,
        };
        let resolved = resolved.ok_or_else(|| {
            let error = Error::malformed(format!(
                "the file holds no tensor or storage of the key {}",
                graph.describe(pid)
            ))
            .in_entry("pickle");
            match graph.offset(node) {
                Some(offset) => error.at(offset),
                None => error,
            }
        })?;
        if let Some(key) = key {
            made.entry(key).or_insert_with(|| resolved.clone());
        }
        *graph.node_mut(node) = resolved;
    }
    Ok(())
}

/// `_rebuild_tensor_v2(storage, offset, size, stride, False, OrderedDict())`.
fn rebuild(graph: &mut Graph, tensor: &OldTensor, storages: &Storages) -> Result<Node> {
    let id = storages.ids.get(&tensor.storage).ok_or_else(|| {
        Error::malformed(format!(
            "a tensor refers to storage `{}`, which is not there",
            tensor.storage
        ))
        .in_entry("tensors")
    })?;
    let storage = persistent(graph, id);
    let storage = graph.push(storage);
    let offset = graph.push(Node::Int(tensor.offset));
    let sizes = integers(graph, &tensor.sizes);
    let strides = integers(graph, &tensor.strides);
    let requires_grad = graph.push(Node::Bool(false));
    let class = global(graph, "collections", "OrderedDict");
    let hooks = call(graph, class, Vec::new());
    let hooks = graph.push(hooks);
    let function = global(graph, "torch._utils", "_rebuild_tensor_v2");
    let args = vec![storage, offset, sizes, strides, requires_grad, hooks];
    Ok(call(graph, function, args))
}

/// A persistent id of today.
fn persistent(graph: &mut Graph, id: &Id) -> Node {
    let mut members = vec![
        text(graph, "storage"),
        graph.push(id.class.clone()),
        text(graph, &id.key.to_string()),
        text(graph, &id.location),
        graph.push(Node::Int(id.count)),
    ];
    if let Some([key, offset, count]) = id.view {
        let key = text(graph, &key.to_string());
        let offset = graph.push(Node::Int(offset));
        let count = graph.push(Node::Int(count));
        members.push(graph.push(Node::Tuple([key, offset, count].into())));
    }
    Node::Persistent(graph.push(Node::Tuple(members.into())))
}

fn call(graph: &mut Graph, callable: NodeId, args: Vec<NodeId>) -> Node {
    let args = graph.push(Node::Tuple(args.into()));
    Node::Object(Box::new(Object {
        call: Call::Reduce { callable, args },
        items: Vec::new(),
        pairs: Vec::new(),
        state: None,
    }))
}

fn global(graph: &mut Graph, module: &str, name: &str) -> NodeId {
    graph.push(Node::Global {
        module: module.into(),
        name: name.into(),
    })
}

fn text(graph: &mut Graph, text: &str) -> NodeId {
    graph.push(Node::Str(Text::Utf8(text.into())))
}

fn integers(graph: &mut Graph, values: &[i64]) -> NodeId {
    let items: Vec<NodeId> = values
        .iter()
        .map(|&value| graph.push(Node::Int(value)))
        .collect();
    graph.push(Node::Tuple(items.into()))
}
