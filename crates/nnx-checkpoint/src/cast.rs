//! Casts between dtypes, with the results of PyTorch's `tensor.to(dtype)` on the CPU.

mod decode;
mod encode;

use crate::{Dtype, Error, Result};

/// Elements that pass through the stack at a time: the cast's only working memory.
const BLOCK: usize = 512;

/// Casts elements of one dtype into another, piece by piece, in bounded memory.
///
/// The result is that of PyTorch's `tensor.to(dtype)` on the CPU, bit for bit.
/// The rules, as torch 2.15 shows them:
///
/// - Every cast to a float passes through `float32`, so that `float64` and the longer integers round
///   twice on their way to anything shorter; only integers go to `float64` in one step.
/// - Rounding is to nearest, ties to even; subnormal results are kept.
///   `float8_e8m0fnu` alone rounds a tie up, except the one between its two smallest values; it
///   drops the sign, and takes zero to its smallest value, 2⁻¹²⁷.
/// - Beyond the largest value, infinity included: `float16`, `bfloat16`, `float32` and
///   `float8_e5m2` give infinity, `float8_e4m3fn` gives its largest value (448), and
///   `float8_e4m3fnuz`, `float8_e5m2fnuz` and `float8_e8m0fnu` give NaN.
/// - NaN keeps its sign and the upper bits of its payload and becomes quiet, where the target has
///   them; a `bfloat16` that widens to `float32` keeps even a signalling one.
///   In `bfloat16` every NaN is `0xffff` from `float32` and `float64`, `0x7fc0` from all others,
///   complex dtypes included.
/// - A byte of `bool` other than zero is one.
///
/// For two pairs these are the rules of torch's vector code (AVX2 or AVX-512).
/// The last few elements of a tensor, and a single one, pass through scalar code there, which gives
/// other NaN: `0x7fffffff` for `float16` → `float32`, `0x7fc0` for `float64` → `bfloat16`.
/// Here every element is treated alike.
///
/// ```
/// use nnx_checkpoint::{Caster, Dtype};
///
/// let caster = Caster::new(Dtype::Float32, Dtype::Float8E4M3Fn)?;
/// let mut target = Vec::new();
/// caster.cast_into(&1.0_f32.to_le_bytes(), &mut target)?;
/// caster.cast_into(&1e9_f32.to_le_bytes(), &mut target)?;
/// assert_eq!(target, [0x38, 0x7e]);
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Caster {
    from: Dtype,
    to: Dtype,
    route: Route,
}

/// The two steps of a cast, each over a block of elements.
#[derive(Clone, Copy, Debug)]
enum Route {
    /// The bytes stay as they are.
    Copy,
    /// Through the bits of a `float32`.
    Single(Decode<u32>, Encode<u32>),
    /// Through 64 bits: those of a `float64` or of an integer.
    Double(Decode<u64>, Encode<u64>),
}

/// Reads whole elements into as many numbers.
type Decode<T> = fn(&[u8], &mut [T]);
/// Writes numbers as as many whole elements.
type Encode<T> = fn(&[T], &mut [u8]);

impl Caster {
    /// The cast from one dtype to another: from `bool`, integers and floats to floats, from `bool`
    /// and integers to integers that hold every value of theirs, among complex dtypes, and from
    /// any dtype to itself.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for any other pair.
    pub fn new(from: Dtype, to: Dtype) -> Result<Self> {
        let route = Route::find(from, to).ok_or_else(|| {
            Error::unsupported(format!(
                "no cast from `{from}` to `{to}`: numbers cast to floats, integers to wider \
                 integers, and complex numbers to complex numbers"
            ))
        })?;
        Ok(Self { from, to, route })
    }

    /// The dtype of the elements read.
    pub fn from(&self) -> Dtype {
        self.from
    }

    /// The dtype of the elements written.
    pub fn to(&self) -> Dtype {
        self.to
    }

    /// Appends to `target` the cast of `bytes`: contiguous little-endian elements.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if `bytes` ends within an element; `target` is
    /// then unchanged.
    pub fn cast_into(&self, bytes: &[u8], target: &mut Vec<u8>) -> Result<()> {
        let (from, to) = (self.from, self.to);
        let elements = bytes.len().checked_div(from.size()).unwrap_or(0);
        if elements.saturating_mul(from.size()) != bytes.len() {
            return Err(Error::malformed(format!(
                "expected whole elements of `{from}`, {} bytes each, found {} bytes",
                from.size(),
                bytes.len()
            )));
        }
        target.reserve(elements.saturating_mul(to.size()));
        match self.route {
            Route::Copy => target.extend_from_slice(bytes),
            Route::Single(decode, encode) => {
                self.through_blocks(bytes, target, decode, encode);
            }
            Route::Double(decode, encode) => {
                self.through_blocks(bytes, target, decode, encode);
            }
        }
        Ok(())
    }

    fn through_blocks<T: Copy + Default>(
        &self,
        bytes: &[u8],
        target: &mut Vec<u8>,
        decode: Decode<T>,
        encode: Encode<T>,
    ) {
        // A number is a component: what has two to the element has them in both dtypes.
        let (from, to) = (self.from.component_size(), self.to.component_size());
        let mut numbers = [T::default(); BLOCK];
        let mut written = [0; BLOCK * size_of::<u64>()];
        for block in bytes.chunks(BLOCK.saturating_mul(from)) {
            let count = block.len().checked_div(from).unwrap_or(0);
            let (numbers, _) = numbers.split_at_mut(count);
            let (written, _) = written.split_at_mut(count.saturating_mul(to));
            decode(block, numbers);
            encode(numbers, written);
            target.extend_from_slice(written);
        }
    }
}

/// The cast of contiguous little-endian elements, by the rules of [`Caster`].
///
/// ```
/// use nnx_checkpoint::{Dtype, cast};
///
/// let halves = cast(&65520.0_f32.to_le_bytes(), Dtype::Float32, Dtype::Float16)?;
/// assert_eq!(halves, 0x7c00_u16.to_le_bytes(), "overflow is infinity");
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) if there is no cast between the dtypes,
/// [`Malformed`](crate::ErrorKind::Malformed) if `bytes` ends within an element.
pub fn cast(bytes: &[u8], from: Dtype, to: Dtype) -> Result<Vec<u8>> {
    let mut target = Vec::new();
    Caster::new(from, to)?.cast_into(bytes, &mut target)?;
    Ok(target)
}

impl Route {
    fn find(from: Dtype, to: Dtype) -> Option<Self> {
        if from == to {
            return Some(Self::Copy);
        }
        if let (Some(from), Some(to)) = (component(from), component(to)) {
            return Some(Self::Single(decode::single(from)?, encode::single(to)?));
        }
        if let (Some(source), Some(target)) = (Integer::from_dtype(from), Integer::from_dtype(to)) {
            return target
                .holds(source)
                .then(|| Some(Self::Double(decode::integer(from)?, encode::integer(to)?)))
                .flatten();
        }
        if to == Dtype::Float64
            && let Some(decode) = decode::integer_as_double(from)
        {
            return Some(Self::Double(decode, encode::integer(Dtype::UInt64)?));
        }
        let encode = match (from, to) {
            (Dtype::Float32 | Dtype::Float64, Dtype::BFloat16) => encode::bfloat16_all_ones_nan,
            _ => encode::single(to)?,
        };
        Some(Self::Single(decode::single(from)?, encode))
    }
}

/// The dtype of the two parts of a complex dtype.
fn component(dtype: Dtype) -> Option<Dtype> {
    match dtype {
        Dtype::Complex32 => Some(Dtype::Float16),
        Dtype::Complex64 => Some(Dtype::Float32),
        Dtype::Complex128 => Some(Dtype::Float64),
        Dtype::BComplex32 => Some(Dtype::BFloat16),
        _ => None,
    }
}

/// The values of an integer dtype.
#[derive(Clone, Copy)]
struct Integer {
    signed: bool,
    /// Without the sign.
    bits: u8,
}

impl Integer {
    fn from_dtype(dtype: Dtype) -> Option<Self> {
        let (signed, bits) = match dtype {
            Dtype::Bool => (false, 1),
            Dtype::UInt8 => (false, 8),
            Dtype::UInt16 => (false, 16),
            Dtype::UInt32 => (false, 32),
            Dtype::UInt64 => (false, 64),
            Dtype::Int8 => (true, 7),
            Dtype::Int16 => (true, 15),
            Dtype::Int32 => (true, 31),
            Dtype::Int64 => (true, 63),
            _ => return None,
        };
        Some(Self { signed, bits })
    }

    fn holds(self, other: Self) -> bool {
        self.bits >= other.bits && (self.signed || !other.signed)
    }
}
