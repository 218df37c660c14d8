//! A file that is being written.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use indexmap::IndexMap;

use super::{METADATA, layout};
use crate::error::{Error, Result};
use crate::{Limits, Tensor};

/// The header's length is a multiple of this, so that the tensors begin aligned.
const ALIGNMENT: usize = 8;

/// Times that the bytes of a storage may be written before they count as more than it holds: two
/// tied weights are an everyday thing.
const COPIES: u64 = 2;

/// [`write_within`] the default [`Limits`].
///
/// # Errors
/// Those of [`write_within`].
pub fn write(
    w: &mut (impl Write + ?Sized),
    tensors: &[(&str, &Tensor)],
    metadata: Option<&IndexMap<String, String>>,
) -> Result<()> {
    write_within(w, tensors, metadata, &Limits::default())
}

/// Writes a file as the format's own library does, except that the metadata is in the order given,
/// which makes the same input the same bytes: a compact header padded with spaces, then the tensors,
/// wide dtypes first and by name within a dtype, whatever their order here.
///
/// Tensors are written row-major; one that has another order in its storage is gathered on the way.
/// Tensors that share a storage become copies, because the format knows no sharing.
///
/// # Errors
/// Before a byte is written: when two tensors have one name, a tensor has the reserved name
/// `__metadata__` or a dtype that the format lacks, the header would exceed
/// [`Limits::max_header_bytes`], or the tensors would together need more than
/// [`Limits::max_expanded_bytes`] beyond their storages, of which each may be written twice, as that
/// of two tied weights is. Later: when the writer refuses.
pub fn write_within(
    w: &mut (impl Write + ?Sized),
    tensors: &[(&str, &Tensor)],
    metadata: Option<&IndexMap<String, String>>,
    limits: &Limits,
) -> Result<()> {
    let layout = lay_out(tensors, metadata, limits)?;
    w.write_all(&layout.header)?;
    for index in layout.order {
        let Some(&(name, tensor)) = tensors.get(index) else {
            continue;
        };
        tensor
            .write_within(w, limits)
            .map_err(|error| error.in_tensor(name))?;
    }
    Ok(())
}

/// The header of a file, and the layout of its data.
#[derive(Debug)]
pub(crate) struct FileLayout {
    /// Everything in front of the tensors' bytes, padded.
    pub(crate) header: Vec<u8>,
    /// The order of the tensors in the file, by their places among those given.
    pub(crate) order: Vec<usize>,
}

/// Lays a file out without a look at the tensors' bytes.
///
/// # Errors
/// Those of [`write_within`] that it has before a byte is written.
pub(crate) fn lay_out(
    tensors: &[(&str, &Tensor)],
    metadata: Option<&IndexMap<String, String>>,
    limits: &Limits,
) -> Result<FileLayout> {
    let mut ordered = Vec::new();
    let mut names = HashSet::new();
    let mut expanded = 0u64;
    // By the place of a storage's bytes: how many of them its tensors take, over those written.
    let mut taken: HashMap<((usize, u64), usize), u64> = HashMap::new();
    for (index, &(name, tensor)) in tensors.iter().enumerate() {
        let entry = entry(index, name, tensor).map_err(|error| error.in_tensor(name))?;
        if !names.insert(name) {
            return Err(Error::unsupported(
                "two tensors have one name; a safetensors file holds one of them",
            )
            .in_tensor(name));
        }
        let stored = tensor.storage().byte_len();
        expanded = expanded.saturating_add(tensor.byte_len().saturating_sub(stored) as u64);
        let place = (tensor.storage().data_ptr(), stored);
        let taken = taken.entry(place).or_default();
        let free = (stored as u64)
            .saturating_mul(COPIES)
            .saturating_sub(*taken);
        let takes = tensor.byte_len().min(stored) as u64;
        expanded = expanded.saturating_add(takes.saturating_sub(free));
        *taken = taken.saturating_add(takes);
        if expanded > limits.max_expanded_bytes {
            return Err(
                Error::limit("max_expanded_bytes", limits.max_expanded_bytes, expanded)
                    .in_tensor(name),
            );
        }
        ordered.push(entry);
    }
    ordered.sort_by_key(|entry| (entry.place, entry.name));

    let mut json = header(&ordered, metadata)?;
    json.resize(json.len().next_multiple_of(ALIGNMENT), b' ');
    let length = json.len() as u64;
    if length > limits.max_header_bytes {
        return Err(Error::limit(
            "max_header_bytes",
            limits.max_header_bytes,
            length,
        ));
    }
    let mut header = length.to_le_bytes().to_vec();
    header.append(&mut json);
    Ok(FileLayout {
        header,
        order: ordered.iter().map(|entry| entry.index).collect(),
    })
}

/// A tensor with its entry in the header.
struct Entry<'a> {
    index: usize,
    name: &'a str,
    tensor: &'a Tensor,
    place: usize,
    dtype: &'static str,
    shape: Vec<usize>,
}

fn entry<'a>(index: usize, name: &'a str, tensor: &'a Tensor) -> Result<Entry<'a>> {
    if name == METADATA {
        return Err(Error::unsupported(format!(
            "the safetensors format reserves the name `{METADATA}`; rename the tensor"
        )));
    }
    let (place, dtype) = layout::place(tensor.dtype())?;
    Ok(Entry {
        index,
        name,
        tensor,
        place,
        dtype,
        shape: layout::shape_for_header(tensor)?,
    })
}

/// The header without its padding.
fn header(ordered: &[Entry<'_>], metadata: Option<&IndexMap<String, String>>) -> Result<Vec<u8>> {
    let mut json = vec![b'{'];
    if let Some(metadata) = metadata {
        text(&mut json, METADATA)?;
        json.extend_from_slice(b":{");
        for (position, (key, value)) in metadata.iter().enumerate() {
            if position > 0 {
                json.push(b',');
            }
            text(&mut json, key)?;
            json.push(b':');
            text(&mut json, value)?;
        }
        json.push(b'}');
    }
    let mut begin: usize = 0;
    for entry in ordered {
        if json.len() > 1 {
            json.push(b',');
        }
        let end = begin.checked_add(entry.tensor.byte_len()).ok_or_else(|| {
            Error::unsupported("the tensors take more bytes than a file can have")
                .in_tensor(entry.name)
        })?;
        text(&mut json, entry.name)?;
        write!(json, r#":{{"dtype":"{}","shape":["#, entry.dtype)?;
        for (position, size) in entry.shape.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(json, "{comma}{size}")?;
        }
        write!(json, r#"],"data_offsets":[{begin},{end}]}}"#)?;
        begin = end;
    }
    json.push(b'}');
    Ok(json)
}

/// A JSON string with the escapes of serde_json, which the format's own library uses.
fn text(json: &mut Vec<u8>, text: &str) -> Result<()> {
    serde_json::to_writer(json, text).map_err(|error| std::io::Error::from(error).into())
}
