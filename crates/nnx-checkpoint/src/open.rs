//! The one way from the bytes of a file to its contents: format, container, pickle, the names in
//! the pickle, graph.
//!
//! [`CheckpointReader`](crate::CheckpointReader), [`TorchObject`] and `NNCheckpoint` all open files
//! here.

pub(crate) mod not_a_checkpoint;
mod options;

use std::path::Path;

pub use self::options::OpenOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::globals::{self, GlobalRef};
use crate::pickle::{Node, NodeId};
use crate::safetensors::SafeTensors;
use crate::sniff::{Format, SNIFF_BYTES, sniff};
use crate::source::ByteRange;
use crate::torch::{LoadContext, TorchObject, read_container};

/// Bytes that are searched for the key of an index at a time.
pub(crate) const SEARCHED_BYTES: u64 = 1 << 20;

/// The contents of a file, before anything in it has a name.
pub(crate) enum Opened {
    Torch(Box<OpenedTorch>),
    SafeTensors(SafeTensors),
}

/// A file of PyTorch.
pub(crate) struct OpenedTorch {
    pub(crate) object: TorchObject,
    /// The format of the file, as far as it is known.
    pub(crate) format: Format,
    /// The globals that its pickles name.
    pub(crate) globals: Vec<GlobalRef>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// The tensors beside the program of a TorchScript archive: a sequence of the object's graph.
    pub(crate) constants: Option<NodeId>,
}

/// Opens the bytes of a file, by the format that they show.
///
/// # Errors
/// When they are of no format that is read, contradict their format, or name what the options do
/// not allow.
pub(crate) fn open(bytes: &ByteRange, options: &OpenOptions) -> Result<Opened> {
    let mut opened = open_any(bytes, options)?;
    if let Opened::Torch(opened) = &mut opened {
        opened.notes.extend(globals::note(&opened.globals));
    }
    Ok(opened)
}

fn open_any(bytes: &ByteRange, options: &OpenOptions) -> Result<Opened> {
    let prefix = bytes.read_up_to(0, SNIFF_BYTES as u64)?;
    match sniff(&prefix) {
        _ if prefix.is_empty() => Err(Error::new(ErrorKind::Empty)),
        Some(format @ (Format::TorchZip | Format::TorchLegacy | Format::Pickle | Format::Tar)) => {
            torch(bytes, format, options)
        }
        Some(Format::SafeTensors) => {
            SafeTensors::parse(bytes, &options.limits).map(Opened::SafeTensors)
        }
        Some(other) => Err(not_a_checkpoint::error(other, &prefix)),
        None => without_mark(bytes, options),
    }
}

fn torch(bytes: &ByteRange, format: Format, options: &OpenOptions) -> Result<Opened> {
    let mut context = LoadContext::new(format, &options.limits, !options.allow_dangerous_globals);
    let object = read_container(bytes, &mut context)?;
    let object = object.with_verify(options.verify);
    globals::settle(&mut context.globals, object.graph());
    Ok(Opened::Torch(Box::new(OpenedTorch {
        object,
        format: context.format,
        globals: context.globals,
        notes: context.notes,
        constants: context.constants,
    })))
}

/// A file without a mark of its own: a safetensors file whose header begins oddly, a pickle of
/// protocol 0 or 1, or anything at all.
fn without_mark(bytes: &ByteRange, options: &OpenOptions) -> Result<Opened> {
    let header = match SafeTensors::parse(bytes, &options.limits) {
        Ok(file) => return Ok(Opened::SafeTensors(file)),
        Err(error) => error,
    };
    match torch(bytes, Format::Pickle, options) {
        Ok(opened) if is_whole_pickle(&opened) => return Ok(opened),
        // It need not end well to have done its harm.
        Err(error) if matches!(error.kind(), ErrorKind::UnsafeGlobal { .. }) => {
            return Err(error);
        }
        _ => {}
    }
    if looks_like_an_index(bytes)? {
        return Err(not_a_checkpoint::index());
    }
    let head = bytes.read_up_to(0, not_a_checkpoint::HEAD_BYTES)?;
    if let Some(error) = not_a_checkpoint::otherwise(&head, bytes.byte_len()) {
        return Err(error);
    }
    let length = head.first_chunk().map(|length| u64::from_le_bytes(*length));
    Err(match length {
        Some(length) if length <= options.limits.max_header_bytes => header,
        _ => not_a_checkpoint::unknown(),
    })
}

/// Whether the bytes are the index of a sharded checkpoint, well-formed or not: a JSON object with
/// the key `weight_map` in it.
///
/// # Errors
/// When they cannot be read.
pub(crate) fn looks_like_an_index(bytes: &ByteRange) -> Result<bool> {
    const KEY: &[u8] = b"\"weight_map\"";
    let mut is_object = None;
    // The last bytes of the piece before, in which the key may begin.
    let mut window: Vec<u8> = Vec::new();
    let (mut at, len) = (0u64, bytes.byte_len());
    while at < len {
        // Of most files the first bytes tell that they are none.
        let most = if is_object.is_none() {
            SNIFF_BYTES as u64
        } else {
            SEARCHED_BYTES
        };
        let piece = bytes.read_up_to(at, most)?;
        if is_object.is_none() {
            is_object = piece.trim_ascii_start().first().map(|&first| first == b'{');
            if is_object == Some(false) {
                return Ok(false);
            }
        }
        window.extend_from_slice(&piece);
        if window.windows(KEY.len()).any(|part| part == KEY) {
            return Ok(is_object == Some(true));
        }
        let kept = window.len().saturating_sub(KEY.len());
        window.drain(..kept);
        at = at.saturating_add(piece.len() as u64);
    }
    Ok(false)
}

/// Whether the pickle fills the file and is of something that holds others: a few letters of any
/// text may be a pickle of a number.
fn is_whole_pickle(opened: &Opened) -> bool {
    let Opened::Torch(opened) = opened else {
        return false;
    };
    let graph = opened.object.graph();
    opened.notes.is_empty()
        && matches!(
            graph.node(graph.root()),
            Node::Tuple(_) | Node::List(_) | Node::Dict(_) | Node::Object(_)
        )
}

impl TorchObject {
    /// Opens a file under the default [`OpenOptions`]: whatever `torch.save` or `pickle.dump` wrote,
    /// in any container.
    ///
    /// # Errors
    /// When the file cannot be read, is not a file of PyTorch, contradicts its format, or names what runs
    /// code.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let (path, options) = (path.as_ref(), OpenOptions::default());
        options
            .source(path)
            .and_then(|source| Self::from_bytes(source, &options))
            .map_err(|error| error.in_path(path))
    }

    /// Reads a file, be it in memory or elsewhere; storages are read when they are asked for.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<ByteRange>, options: &OpenOptions) -> Result<Self> {
        match open(&bytes.into(), options)? {
            Opened::Torch(opened) => Ok(opened.object),
            Opened::SafeTensors(_) => Err(Error::unsupported(
                "expected a file of PyTorch, found a safetensors file",
            )),
        }
    }
}
