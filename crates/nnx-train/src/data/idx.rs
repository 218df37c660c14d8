//! IDX files, the format of MNIST.

use candle_core::{DType, Device, Tensor, WithDType};

use crate::error::{Error, Result};

/// Whether the bytes begin as such a file does.
pub(super) fn is_idx(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, 0x08 | 0x09 | 0x0B | 0x0C | 0x0D | 0x0E, axes, ..] if *axes > 0)
}

/// The array of a file: two zeros, the type of the elements, the number of axes, their sizes, and the
/// elements; all numbers big-endian.
///
/// # Errors
/// When the bytes are no such file, or there are not as many elements as the sizes say.
pub(super) fn read(bytes: &[u8]) -> Result<Tensor> {
    let short = || Error::data("the IDX file ends within its header");
    let ([_, _, kind, axes], mut rest) = bytes.split_first_chunk().ok_or_else(short)?;
    let mut shape = Vec::new();
    for _ in 0..*axes {
        let (size, behind) = rest.split_first_chunk().ok_or_else(short)?;
        shape.push(usize::try_from(u32::from_be_bytes(*size)).map_err(|_| short())?);
        rest = behind;
    }
    match kind {
        0x08 => elements(rest, shape, u8::from_be_bytes),
        0x09 => Ok(elements(rest, shape, |byte| {
            i16::from(i8::from_be_bytes(byte))
        })?),
        0x0B => elements(rest, shape, i16::from_be_bytes),
        0x0C => elements(rest, shape, i32::from_be_bytes),
        0x0D => elements(rest, shape, f32::from_be_bytes),
        0x0E => elements(rest, shape, f64::from_be_bytes),
        other => Err(Error::unsupported(format!(
            "expected the type of an IDX file, found `{other:#04x}`"
        ))),
    }
}

fn elements<T: WithDType, const N: usize>(
    bytes: &[u8],
    shape: Vec<usize>,
    read: impl Fn([u8; N]) -> T,
) -> Result<Tensor> {
    let expected = shape
        .iter()
        .try_fold(N, |bytes, size| bytes.checked_mul(*size));
    // candle multiplies the sizes for its strides, also those beside a zero; a model adds an axis
    // of at most a few channels.
    let strides = shape
        .iter()
        .try_fold(N, |bytes, size| bytes.checked_mul((*size).max(1)));
    let is_small = strides.is_some_and(|bytes| bytes <= isize::MAX.cast_unsigned() / 16);
    if expected != Some(bytes.len()) || !is_small {
        return Err(Error::data(format!(
            "the sizes `{shape:?}` of an IDX file do not fit the `{}` bytes after its header",
            bytes.len()
        )));
    }
    let (elements, _) = bytes.as_chunks::<N>();
    let elements: Vec<T> = elements.iter().map(|bytes| read(*bytes)).collect();
    Ok(Tensor::from_vec(elements, shape, &Device::Cpu)?)
}

/// Images `[N, H, W]` of bytes as `[N, 1, H, W]`; none where the array has another form.
pub(super) fn as_images(array: &Tensor) -> Option<Tensor> {
    match (array.dtype(), array.dims()) {
        (DType::U8, [_, _, _]) => array.unsqueeze(1).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beside_a_zero_are_bounded() {
        let file = |sizes: [u32; 4]| {
            let mut bytes = vec![0, 0, 0x08, 4];
            bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
            bytes
        };
        let large = u32::MAX;
        let error = read(&file([0, large, large, large])).unwrap_err();
        assert_eq!(error.name(), "invalid_data");
        assert_eq!(read(&file([0, 2, 3, 4])).unwrap().dims(), [0, 2, 3, 4]);
    }
}
