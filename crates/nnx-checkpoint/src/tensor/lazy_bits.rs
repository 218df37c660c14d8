//! The lazy conjugate and negative bits of PyTorch.

use crate::Dtype;
use crate::error::{Error, Result};

/// The operations on the numbers of a storage that give the values of a view.
///
/// PyTorch resolves the bits by computing; what its CPU kernels do to each dtype's bits, not-a-number
/// included, is done here: float32 and float64 have the sign bit flipped; so has float16, whose
/// signalling not-a-numbers become quiet on the way; every not-a-number of bfloat16 becomes 0x7fc0;
/// integers wrap. (PyTorch's kernel for eight or more neighbouring complex numbers computes 0 - x, so
/// that it keeps +0; its kernel for the others flips the sign, as is done here.)
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LazyBits {
    conj: bool,
    neg: bool,
    kind: Kind,
}

/// How negating one number changes its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Kind {
    /// Flips the sign bit: IEEE single and double precision.
    #[default]
    Flip,
    /// Flips the sign bit and makes not-a-numbers quiet: IEEE half precision.
    FlipHalf,
    /// Flips the sign bit but that of not-a-numbers, which become the canonical one.
    FlipBFloat16,
    /// Two's complement.
    Wrap,
}

impl LazyBits {
    /// The bits of a view of that dtype.
    ///
    /// # Errors
    /// When PyTorch has no such values: the conjugate of a dtype that is not complex, or the
    /// negative of one that it cannot negate.
    pub(super) fn new(dtype: Dtype, conj: bool, neg: bool) -> Result<Self> {
        if conj && !dtype.is_complex() {
            return Err(Error::malformed(format!(
                "the conjugate bit is set on a {dtype} tensor, which is not complex"
            )));
        }
        let kind = match dtype {
            Dtype::Float32 | Dtype::Float64 | Dtype::Complex64 | Dtype::Complex128 => Kind::Flip,
            Dtype::Float16 | Dtype::Complex32 => Kind::FlipHalf,
            Dtype::BFloat16 => Kind::FlipBFloat16,
            Dtype::UInt8 | Dtype::Int8 | Dtype::Int16 | Dtype::Int32 | Dtype::Int64 => Kind::Wrap,
            _ if conj || neg => {
                return Err(Error::unsupported(format!(
                    "the conjugate or negative bit is set on a {dtype} tensor, which PyTorch \
                     cannot resolve"
                )));
            }
            _ => Kind::Flip,
        };
        Ok(Self { conj, neg, kind })
    }

    /// Whether the conjugate bit is set.
    pub(super) fn conj(self) -> bool {
        self.conj
    }

    /// Whether the negative bit is set.
    pub(super) fn neg(self) -> bool {
        self.neg
    }

    /// Whether the values are those of the storage.
    pub(super) fn is_plain(self) -> bool {
        !self.conj && !self.neg
    }
}

impl LazyBits {
    /// Turns the numbers of a storage into the values of the view.
    pub(super) fn resolve(self, bytes: &mut [u8], dtype: Dtype) {
        match (dtype.component_size(), self.kind) {
            (1, _) => self.each::<1>(bytes, dtype, |[byte]| [byte.wrapping_neg()]),
            (2, Kind::Wrap) => self.each::<2>(bytes, dtype, |number| {
                i16::from_le_bytes(number).wrapping_neg().to_le_bytes()
            }),
            (4, Kind::Wrap) => self.each::<4>(bytes, dtype, |number| {
                i32::from_le_bytes(number).wrapping_neg().to_le_bytes()
            }),
            (8, Kind::Wrap) => self.each::<8>(bytes, dtype, |number| {
                i64::from_le_bytes(number).wrapping_neg().to_le_bytes()
            }),
            (2, Kind::FlipBFloat16) => self.each::<2>(bytes, dtype, |number| {
                negate_bfloat16(u16::from_le_bytes(number)).to_le_bytes()
            }),
            (2, _) => self.each::<2>(bytes, dtype, |number| {
                negate_half(u16::from_le_bytes(number)).to_le_bytes()
            }),
            (4, _) => self.each::<4>(bytes, dtype, |number| {
                (u32::from_le_bytes(number) ^ (1 << 31)).to_le_bytes()
            }),
            _ => self.each::<8>(bytes, dtype, |number| {
                (u64::from_le_bytes(number) ^ (1 << 63)).to_le_bytes()
            }),
        }
    }

    /// Applies `negate` to each number that changes its sign.
    fn each<const S: usize>(
        self,
        bytes: &mut [u8],
        dtype: Dtype,
        negate: impl Fn([u8; S]) -> [u8; S],
    ) {
        let (numbers, _) = bytes.as_chunks_mut::<S>();
        if !dtype.is_complex() {
            for number in numbers {
                *number = negate(*number);
            }
            return;
        }
        // The conjugate has the imaginary part negated, so that it changes its sign twice where
        // both bits are set.
        let (pairs, _) = numbers.as_chunks_mut::<2>();
        for [real, imaginary] in pairs {
            if self.neg {
                *real = negate(*real);
            }
            if self.neg != self.conj {
                *imaginary = negate(*imaginary);
            }
        }
    }
}

/// The sign bit of a 16-bit float.
const SIGN_16: u16 = 0x8000;

fn negate_half(bits: u16) -> u16 {
    const INFINITY: u16 = 0x7c00;
    const QUIET: u16 = 0x0200;
    let flipped = bits ^ SIGN_16;
    if bits & !SIGN_16 > INFINITY {
        flipped | QUIET
    } else {
        flipped
    }
}

fn negate_bfloat16(bits: u16) -> u16 {
    const INFINITY: u16 = 0x7f80;
    const CANONICAL: u16 = 0x7fc0;
    if bits & !SIGN_16 > INFINITY {
        CANONICAL
    } else {
        bits ^ SIGN_16
    }
}
