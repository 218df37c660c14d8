//! NumPy's file of one array: format versions 1 to 3, as `numpy.lib.format` describes them.
//!
//! This crate has its own reader, because `nnx-params` can already read the header, a Python
//! literal, and the elements become a tensor of `nnx-checkpoint`.

pub(super) use nnx::checkpoint::npy::MAGIC;
use nnx::checkpoint::npy::NpyFile;
use nnx::checkpoint::{Dtype, Tensor as CheckpointTensor};
use nnx::net::candle_core::{Device, Tensor};
use nnx::params::Value;
use nnx::params::python_text::literal_eval;

use super::array::{self, computing};
use super::failures::{malformed, unsupported};
use crate::failure::Failure;

/// The kind and width in a header, and the dtype.
const DTYPES: [(&str, Dtype); 16] = [
    ("b1", Dtype::Bool),
    ("?", Dtype::Bool),
    ("i1", Dtype::Int8),
    ("i2", Dtype::Int16),
    ("i4", Dtype::Int32),
    ("i8", Dtype::Int64),
    ("u1", Dtype::UInt8),
    ("u2", Dtype::UInt16),
    ("u4", Dtype::UInt32),
    ("u8", Dtype::UInt64),
    ("f2", Dtype::Float16),
    ("f4", Dtype::Float32),
    ("f8", Dtype::Float64),
    ("B", Dtype::UInt8),
    ("b", Dtype::Int8),
    ("f", Dtype::Float32),
];

/// The header of a file, and the bytes after it.
struct Array<'a> {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
    data: &'a [u8],
}

/// The array of a file.
///
/// # Errors
/// When the bytes are not such a file, the elements are not real numbers, or their number does not
/// match the shape.
pub(super) fn read(bytes: &[u8]) -> Result<Tensor, Failure> {
    let array = Array::parse(bytes)?;
    let (is_big, kind) = match array.descr.split_at_checked(1) {
        Some((">", kind)) => (true, kind),
        Some(("<" | "|" | "=", kind)) => (false, kind),
        _ => (false, array.descr.as_str()),
    };
    let Some((_, dtype)) = DTYPES.iter().find(|(name, _)| *name == kind) else {
        return Err(unsupported(format!(
            "expected an array of real numbers or bools, found the dtype `{}`",
            array.descr
        )));
    };
    let width = dtype.size();
    let count = array
        .shape
        .iter()
        .try_fold(width, |bytes, &length| bytes.checked_mul(length));
    if count != Some(array.data.len()) {
        return Err(malformed(format!(
            "the shape `{:?}` of dtype `{}` does not fit the `{}` bytes after the header",
            array.shape,
            array.descr,
            array.data.len()
        )));
    }
    let mut data = array.data.to_vec();
    if is_big {
        data.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    let mut shape = array.shape;
    if array.fortran_order {
        shape.reverse();
    }
    let tensor = array::tensor(&CheckpointTensor::from_bytes(*dtype, &shape, data)?)?;
    if !array.fortran_order {
        return Ok(tensor);
    }
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    let tensor = tensor.permute(axes).and_then(|tensor| tensor.contiguous());
    tensor.map_err(computing)
}

/// A file with a float32 array.
pub(super) fn write(tensor: &Tensor) -> Result<Vec<u8>, Failure> {
    let tensor = tensor.to_device(&Device::Cpu).map_err(computing)?;
    let stored = CheckpointTensor::try_from(&tensor)?;
    let shape = Value::Tuple(stored.shape().iter().map(|&length| int(length)).collect());
    let shape = nnx::params::python_text::repr(&shape);
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version, length and header fill blocks of 64 bytes, and a line feed ends them.
    let filled = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(
        ' ',
        filled.next_multiple_of(64) - filled,
    ));
    header.push('\n');
    let length = u16::try_from(header.len())
        .map_err(|_| unsupported("a shape of so many axes is not written"))?;
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend(length.to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(stored.to_bytes()?.iter());
    Ok(out)
}

impl<'a> Array<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Failure> {
        let file = NpyFile::parse(bytes)?;
        let (header, data) = (
            file.header,
            bytes.get(file.data_offset..).unwrap_or_default(),
        );
        // Versions 1 and 2 are Latin-1; only names of fields could contain other characters than
        // ASCII.
        let header = String::from_utf8_lossy(header);
        let odd = || {
            malformed(format!(
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
            other => nnx::params::python_text::repr(other),
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
            data,
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
            (None, '(' | '[') => depth += 1,
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
