//! The persistent id by which a pickle refers to a storage.

use std::ops::Range;

use crate::Dtype;
use crate::error::{Error, Result, shown};
use crate::pickle::{Graph, Node, NodeId};

/// Modules that have had the typed storage classes: one for each device, in old files.
const TYPED_MODULES: &[&str] = &["torch", "torch.cuda", "torch.hpu"];

/// Bytes that a key or a location may have. PyTorch's keys are numbers and its locations names of
/// devices; many persistent ids can share one text, and each would get a copy of it.
const MAX_NAME_BYTES: usize = 255;

/// The five or six members of a storage's persistent id:
/// `('storage', class, key, location, count[, view])`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StorageId<'a> {
    /// The name of the storage within the file.
    pub(super) key: &'a str,
    /// The dtype of a typed storage class; none for `UntypedStorage`.
    pub(super) dtype: Option<Dtype>,
    /// The device, as `torch.serialization.location_tag` spells it.
    pub(super) location: &'a str,
    /// Bytes of the whole storage.
    pub(super) byte_len: usize,
    /// The part that is meant, as PyTorch before 0.4 saved it.
    pub(super) view: Option<StorageView<'a>>,
}

/// A part of a storage that was a storage of its own in Python.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StorageView<'a> {
    /// The name of the part within the file.
    pub(super) key: &'a str,
    /// Bytes of the whole storage.
    pub(super) range: Range<usize>,
}

impl<'a> StorageId<'a> {
    /// Reads a persistent id. None for one that names no storage (`module`, in old files).
    pub(super) fn parse(graph: &'a Graph, pid: NodeId) -> Result<Option<Self>> {
        Self::parse_anywhere(graph, pid).map_err(|error| match graph.offset(pid) {
            Some(offset) => error.at(offset),
            None => error,
        })
    }

    fn parse_anywhere(graph: &'a Graph, pid: NodeId) -> Result<Option<Self>> {
        let malformed = |what: &str| {
            Error::malformed(format!(
                "a storage's persistent id must be ('storage', class, key, location, count), got \
                 {} with {what}",
                graph.describe(pid)
            ))
        };
        if graph.protocol() == 0 && graph.text(pid).is_some() {
            return Err(Error::unsupported(format!(
                "pickle protocol 0 has {} for the persistent id of a storage, which PyTorch does \
                 not read back either; save with protocol 2",
                graph.describe(pid)
            )));
        }
        let Node::Tuple(members) = graph.node(pid) else {
            return Err(malformed("no members"));
        };
        match members.first().map(|&kind| graph.text(kind)) {
            Some(Some("storage")) => {}
            Some(Some(_)) => return Ok(None),
            Some(None) => return Err(malformed("no text in front")),
            None => return Err(malformed("no members")),
        }
        let (class, key, location, count, view) = match **members {
            [_, class, key, location, count] => (class, key, location, count, None),
            [_, class, key, location, count, view] => (class, key, location, count, Some(view)),
            _ => return Err(malformed("another number of members")),
        };
        let dtype = storage_class(graph, class)?;
        let size = dtype.map_or(1, Dtype::size);
        let bytes = |count: NodeId| {
            graph
                .int(count)
                .and_then(|count| usize::try_from(count).ok())
                .and_then(|count| count.checked_mul(size))
        };
        let name = |id: NodeId, what: &str| match graph.text(id) {
            None => Err(malformed(&format!("no text as {what}"))),
            Some(text) => checked_name(text, what),
        };
        let byte_len = bytes(count).ok_or_else(|| malformed("no valid count"))?;
        let view = match view {
            Some(view) if *graph.node(view) != Node::None => {
                let view = match graph.sequence(view) {
                    Some(&[key, start, len]) => bytes(start)
                        .zip(bytes(len))
                        .map(|(start, len)| (key, start, len)),
                    _ => None,
                };
                let (key, start, len) = view.ok_or_else(|| malformed("no valid view"))?;
                let key = name(key, "view's key")?;
                let end = start.checked_add(len).filter(|&end| end <= byte_len);
                let end = end.ok_or_else(|| {
                    Error::malformed(format!(
                        "view `{}` takes {len} bytes from byte {start} of a storage of {byte_len}",
                        shown(key)
                    ))
                })?;
                Some(StorageView {
                    key,
                    range: start..end,
                })
            }
            _ => None,
        };
        Ok(Some(Self {
            key: name(key, "key")?,
            dtype,
            location: name(location, "location")?,
            byte_len,
            view,
        }))
    }
}

/// A key or location of a length that PyTorch's have.
///
/// # Errors
/// When it is longer.
pub(super) fn checked_name<'a>(text: &'a str, what: &str) -> Result<&'a str> {
    if text.len() <= MAX_NAME_BYTES {
        return Ok(text);
    }
    Err(Error::malformed(format!(
        "the {what} of a storage must have at most {MAX_NAME_BYTES} bytes, got {}: `{}`",
        text.len(),
        shown(text)
    )))
}

/// The dtype of a storage class; none for `UntypedStorage`.
fn storage_class(graph: &Graph, class: NodeId) -> Result<Option<Dtype>> {
    let (module, name) = graph.global(class).ok_or_else(|| {
        Error::malformed(format!(
            "the second member of a storage's persistent id must be a class, got {}",
            graph.describe(class)
        ))
    })?;
    match (module, name) {
        ("torch.storage" | "torch", "UntypedStorage") => return Ok(None),
        _ if TYPED_MODULES.contains(&module) => Dtype::from_storage_class(name),
        _ => None,
    }
    .map(Some)
    .ok_or_else(|| {
        Error::unsupported(format!(
            "`{}.{}` is no storage class known here",
            shown(module),
            shown(name)
        ))
    })
}
