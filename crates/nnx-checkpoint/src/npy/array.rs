//! The array of such a file. Its header is a Python literal, which `nnx-params` can read.

use bytes::Bytes;
use nnx_params::Value;
use nnx_params::python_text::{self, literal_eval};

use super::{MAGIC, NpyFile};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::numpy;
use crate::tensor::{Storage, Tensor};

/// The dtype of a header's kind and size, which may be one of NumPy's characters. Complex numbers are
/// not read.
fn real(kind: &str) -> Option<Dtype> {
    let kind = match kind {
        "?" => "b1",
        "B" => "u1",
        "b" => "i1",
        "f" => "f4",
        kind => kind,
    };
    numpy::native(kind).filter(|dtype| !dtype.is_complex())
}

/// The array of a file.
///
/// ```
/// use nnx_checkpoint::{Dtype, Tensor, npy};
///
/// let array = Tensor::from_bytes(Dtype::Float32, &[1, 2], [1_f32, 2.0].map(f32::to_le_bytes).concat())?;
/// let read = npy::read(npy::write(&array)?)?;
/// assert_eq!((read.shape(), read.to_vec()?), (&[1, 2][..], array.to_vec()?));
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
///
/// # Errors
/// When the bytes are not such a file, the elements are not real numbers, or their number does not
/// match the shape.
pub fn read(bytes: impl Into<Bytes>) -> Result<Tensor> {
    let bytes = bytes.into();
    let file = NpyFile::parse(&bytes)?;
    let header = Header::parse(file.header)?;
    let (is_big, kind) = match header.descr.split_at_checked(1) {
        Some((">", kind)) => (true, kind),
        Some(("<" | "|" | "=", kind)) => (false, kind),
        _ => (false, header.descr.as_str()),
    };
    let Some(dtype) = real(kind) else {
        return Err(Error::unsupported(format!(
            "expected an array of real numbers or bools, found the dtype `{}`",
            header.descr
        )));
    };
    let width = dtype.size();
    let count = { header.shape.iter() }.try_fold(width, |bytes, &length| bytes.checked_mul(length));
    let mut data = bytes.slice(file.data_offset..);
    if count != Some(data.len()) {
        return Err(Error::malformed(format!(
            "the shape `{:?}` of dtype `{}` does not fit the `{}` bytes after the header",
            header.shape,
            header.descr,
            data.len()
        )));
    }
    if is_big && width > 1 {
        let mut swapped = data.to_vec();
        swapped.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        data = swapped.into();
    }
    if !header.fortran_order {
        return Tensor::from_bytes(dtype, &header.shape, data);
    }
    let strides = numpy::strides(&header.shape, true)?;
    Tensor::view(Storage::new(data), dtype, 0, &header.shape, &strides)
}

/// The file of an array, as `numpy.save` writes it.
///
/// # Errors
/// When NumPy has no such dtype, or the header of so many axes is too long.
pub fn write(tensor: &Tensor) -> Result<Vec<u8>> {
    let dtype = tensor.dtype();
    let kind = numpy::kind(dtype).filter(|_| !dtype.is_complex());
    let Some(kind) = kind else {
        return Err(Error::unsupported(format!("NumPy has no dtype `{dtype}`")));
    };
    let order = if dtype.size() == 1 { '|' } else { '<' };
    let shape = tensor.shape().iter().map(|&length| int(length)).collect();
    let shape = python_text::repr(&Value::Tuple(shape));
    let mut header =
        format!("{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version, length and header fill blocks of 64 bytes, and a line feed ends them.
    let filled = header.len().saturating_add(MAGIC.len()).saturating_add(5);
    header.extend(std::iter::repeat_n(
        ' ',
        filled.next_multiple_of(64).saturating_sub(filled),
    ));
    header.push('\n');
    let length = u16::try_from(header.len())
        .map_err(|_| Error::unsupported("a shape of so many axes is not written"))?;
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend(length.to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(tensor.to_bytes()?.iter());
    Ok(out)
}

/// The fields of a header.
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(header: &[u8]) -> Result<Self> {
        // Versions 1 and 2 are Latin-1; only names of fields could contain other characters than
        // ASCII.
        let header = String::from_utf8_lossy(header);
        let odd = || {
            Error::malformed(format!(
                "expected the header of an array, found `{}`",
                header.trim()
            ))
        };
        let entries = entries(&header).ok_or_else(odd)?;
        let value = |key: &str| {
            let mut found = entries.iter().filter(|(name, _)| name == key);
            found.next().map(|(_, value)| value)
        };
        let descr = match value("descr").ok_or_else(odd)? {
            Value::Str(descr) => descr.clone(),
            other => python_text::repr(other),
        };
        let fortran_order = value("fortran_order").and_then(Value::as_bool);
        let shape = value("shape").and_then(Value::as_items).ok_or_else(odd)?;
        let shape: Option<Vec<usize>> = shape
            .iter()
            .map(|length| usize::try_from(length.as_int()?).ok())
            .collect();
        Ok(Self {
            descr,
            fortran_order: fortran_order.ok_or_else(odd)?,
            shape: shape.ok_or_else(odd)?,
        })
    }
}

/// The entries of a dict of literals; `None` for any other text.
fn entries(text: &str) -> Option<Vec<(String, Value)>> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let (key, value) = rest.split_at_checked(end(rest, ':')?)?;
        let value = value.strip_prefix(':')?;
        let (value, behind) = value.split_at_checked(end(value, ',').unwrap_or(value.len()))?;
        let key = literal_eval(key.trim()).ok()?;
        entries.push((key.as_str()?.to_owned(), literal_eval(value.trim()).ok()?));
        rest = behind.strip_prefix(',').unwrap_or(behind).trim();
    }
    Some(entries)
}

/// The position of a character outside texts and brackets.
fn end(text: &str, wanted: char) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, _) if character == wanted && depth == 0 => return Some(at),
            (None, '(' | '[') => depth = depth.checked_add(1)?,
            (None, ')' | ']') => depth = depth.checked_sub(1)?,
            (None, _) => {}
        }
    }
    None
}

fn int(length: usize) -> Value {
    Value::Int(i128::try_from(length).unwrap_or(i128::MAX))
}

#[cfg(test)]
mod tests;
