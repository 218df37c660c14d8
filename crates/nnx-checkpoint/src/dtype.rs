//! Element types, as PyTorch names them.

use std::fmt;

/// The element type of a tensor: every dtype that PyTorch can save.
///
/// Displayed and parsed by PyTorch's name:
///
/// ```
/// use nnx_checkpoint::Dtype;
///
/// assert_eq!(Dtype::BFloat16.to_string(), "bfloat16");
/// assert_eq!(Dtype::from_name("float8_e4m3fn"), Some(Dtype::Float8E4M3Fn));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// One byte, 0 or 1.
    Bool,
    /// 8 bits, unsigned.
    UInt8,
    /// 8 bits, signed.
    Int8,
    /// 16 bits, unsigned.
    UInt16,
    /// 16 bits, signed.
    Int16,
    /// 32 bits, unsigned.
    UInt32,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, unsigned.
    UInt64,
    /// 64 bits, signed.
    Int64,
    /// IEEE half precision.
    Float16,
    /// The upper half of a float32.
    BFloat16,
    /// IEEE single precision.
    Float32,
    /// IEEE double precision.
    Float64,
    /// Two halves, real part first.
    Complex32,
    /// Two singles, real part first.
    Complex64,
    /// Two doubles, real part first.
    Complex128,
    /// Two upper halves of a float32, real part first.
    BComplex32,
    /// 4 exponent bits, 3 mantissa bits, no infinities.
    Float8E4M3Fn,
    /// 5 exponent bits, 2 mantissa bits.
    Float8E5M2,
    /// 4 exponent bits, 3 mantissa bits, no infinities, no negative zero.
    Float8E4M3FnUz,
    /// 5 exponent bits, 2 mantissa bits, no infinities, no negative zero.
    Float8E5M2FnUz,
    /// 8 exponent bits alone: a power of two.
    Float8E8M0Fnu,
    /// Two 4-bit floats a byte; shapes count bytes.
    Float4E2M1FnX2,
    /// Eight opaque fields of one bit a byte; shapes count bytes.
    Bits1x8,
    /// Four opaque fields of two bits a byte; shapes count bytes.
    Bits2x4,
    /// Two opaque fields of four bits a byte; shapes count bytes.
    Bits4x2,
    /// 8 opaque bits.
    Bits8,
    /// 16 opaque bits.
    Bits16,
    /// 8 bits, unsigned, with scale and zero point beside them.
    QUInt8,
    /// 8 bits, signed, with scale and zero point beside them.
    QInt8,
    /// 32 bits, signed, with scale and zero point beside them.
    QInt32,
    /// 4 bits, unsigned, with scale and zero point beside them; shapes count elements, of which a
    /// byte holds two, the first in its lower bits. Rows follow each other without a gap.
    QUInt4x2,
    /// 2 bits, unsigned, with scale and zero point beside them; shapes count elements, of which a
    /// byte holds four, the first in its lowest bits. Rows follow each other without a gap.
    QUInt2x4,
}

/// Dtype, PyTorch's name, bytes an element, bytes a number within it, PyTorch's typed storage class
/// (none: saved through `UntypedStorage`), the name in a safetensors header (none: no such type).
///
/// Sources: the names are attributes of the module `torch`; the storage classes those of
/// `torch.storage`; the header names those of the safetensors format, version 0.8.
type Row = (
    Dtype,
    &'static str,
    usize,
    usize,
    Option<&'static str>,
    Option<&'static str>,
);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    (Dtype::Bool,           "bool",             1,  1, Some("BoolStorage"),          Some("BOOL")),
    (Dtype::UInt8,          "uint8",            1,  1, Some("ByteStorage"),          Some("U8")),
    (Dtype::Int8,           "int8",             1,  1, Some("CharStorage"),          Some("I8")),
    (Dtype::UInt16,         "uint16",           2,  2, None,                         Some("U16")),
    (Dtype::Int16,          "int16",            2,  2, Some("ShortStorage"),         Some("I16")),
    (Dtype::UInt32,         "uint32",           4,  4, None,                         Some("U32")),
    (Dtype::Int32,          "int32",            4,  4, Some("IntStorage"),           Some("I32")),
    (Dtype::UInt64,         "uint64",           8,  8, None,                         Some("U64")),
    (Dtype::Int64,          "int64",            8,  8, Some("LongStorage"),          Some("I64")),
    (Dtype::Float16,        "float16",          2,  2, Some("HalfStorage"),          Some("F16")),
    (Dtype::BFloat16,       "bfloat16",         2,  2, Some("BFloat16Storage"),      Some("BF16")),
    (Dtype::Float32,        "float32",          4,  4, Some("FloatStorage"),         Some("F32")),
    (Dtype::Float64,        "float64",          8,  8, Some("DoubleStorage"),        Some("F64")),
    (Dtype::Complex32,      "complex32",        4,  2, None,                         None),
    (Dtype::Complex64,      "complex64",        8,  4, Some("ComplexFloatStorage"),  Some("C64")),
    (Dtype::Complex128,     "complex128",       16, 8, Some("ComplexDoubleStorage"), None),
    (Dtype::BComplex32,     "bcomplex32",       4,  2, None,                         None),
    (Dtype::Float8E4M3Fn,   "float8_e4m3fn",    1,  1, None,                         Some("F8_E4M3")),
    (Dtype::Float8E5M2,     "float8_e5m2",      1,  1, None,                         Some("F8_E5M2")),
    (Dtype::Float8E4M3FnUz, "float8_e4m3fnuz",  1,  1, None,                         Some("F8_E4M3FNUZ")),
    (Dtype::Float8E5M2FnUz, "float8_e5m2fnuz",  1,  1, None,                         Some("F8_E5M2FNUZ")),
    (Dtype::Float8E8M0Fnu,  "float8_e8m0fnu",   1,  1, None,                         Some("F8_E8M0")),
    (Dtype::Float4E2M1FnX2, "float4_e2m1fn_x2", 1,  1, None,                         Some("F4")),
    (Dtype::Bits1x8,        "bits1x8",          1,  1, None,                         None),
    (Dtype::Bits2x4,        "bits2x4",          1,  1, None,                         None),
    (Dtype::Bits4x2,        "bits4x2",          1,  1, None,                         None),
    (Dtype::Bits8,          "bits8",            1,  1, None,                         None),
    (Dtype::Bits16,         "bits16",           2,  2, None,                         None),
    (Dtype::QUInt8,         "quint8",           1,  1, Some("QUInt8Storage"),        None),
    (Dtype::QInt8,          "qint8",            1,  1, Some("QInt8Storage"),         None),
    (Dtype::QInt32,         "qint32",           4,  4, Some("QInt32Storage"),        None),
    (Dtype::QUInt4x2,       "quint4x2",         1,  1, Some("QUInt4x2Storage"),      None),
    (Dtype::QUInt2x4,       "quint2x4",         1,  1, Some("QUInt2x4Storage"),      None),
];

impl Dtype {
    /// Every dtype, in the order of the declaration.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// PyTorch's name: `float32` for `torch.float32`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The dtype of that PyTorch name, without `torch.`; aliases such as `half` are not names.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Bytes an element occupies; of the dtypes that [pack](Self::is_packed) several elements into
    /// a byte, bytes a unit of their storage does.
    pub fn size(self) -> usize {
        self.row().2
    }

    /// Bytes of each number within an element (half of it for complex dtypes): the unit in which
    /// byte order matters.
    pub fn component_size(self) -> usize {
        self.row().3
    }

    /// Whether the elements are real floating-point numbers: PyTorch's `dtype.is_floating_point`.
    pub fn is_floating_point(self) -> bool {
        matches!(
            self,
            Self::Float16
                | Self::BFloat16
                | Self::Float32
                | Self::Float64
                | Self::Float8E4M3Fn
                | Self::Float8E5M2
                | Self::Float8E4M3FnUz
                | Self::Float8E5M2FnUz
                | Self::Float8E8M0Fnu
                | Self::Float4E2M1FnX2
        )
    }

    /// Whether an element is a pair of numbers, real part first.
    ///
    /// ```
    /// use nnx_checkpoint::Dtype;
    ///
    /// assert!(Dtype::Complex64.is_complex());
    /// assert!(!Dtype::Float64.is_complex());
    /// ```
    pub fn is_complex(self) -> bool {
        self.size() != self.component_size()
    }

    /// Whether the elements are integers that a scale and a zero point turn into numbers.
    pub fn is_quantized(self) -> bool {
        matches!(
            self,
            Self::QUInt8 | Self::QInt8 | Self::QInt32 | Self::QUInt4x2 | Self::QUInt2x4
        )
    }

    /// Whether a byte holds several of the elements that shapes count, so that an element has no
    /// address of its own.
    pub fn is_packed(self) -> bool {
        self.elements_per_unit() > 1
    }

    /// Elements, as shapes count them, in the [`size`](Self::size) bytes of one unit of a storage.
    ///
    /// ```
    /// use nnx_checkpoint::Dtype;
    ///
    /// assert_eq!(Dtype::Float32.elements_per_unit(), 1);
    /// assert_eq!(Dtype::QUInt4x2.elements_per_unit(), 2);
    /// ```
    pub fn elements_per_unit(self) -> usize {
        match self {
            Self::QUInt4x2 => 2,
            Self::QUInt2x4 => 4,
            _ => 1,
        }
    }

    /// The class in module `torch` that a saved storage of this dtype names, where there is one;
    /// the others are saved through `torch.storage.UntypedStorage`.
    pub fn storage_class(self) -> Option<&'static str> {
        self.row().4
    }

    /// The dtype of a storage class of module `torch`.
    pub fn from_storage_class(name: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| row.4 == Some(name))
            .map(|row| row.0)
    }

    /// The name in a safetensors header, if that format has the dtype.
    pub fn safetensors_name(self) -> Option<&'static str> {
        self.row().5
    }

    /// The dtype of that name in a safetensors header.
    pub fn from_safetensors_name(name: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| row.5 == Some(name))
            .map(|row| row.0)
    }

    /// The table lists the variants in declaration order (checked by a test), so a variant's
    /// discriminant is its row.
    #[expect(
        clippy::indexing_slicing,
        reason = "a test checks that every variant has its row"
    )]
    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_at_its_discriminant() {
        // The last variant of the declaration: a new one must be added to the table and here.
        assert_eq!(TABLE.len(), Dtype::QUInt2x4 as usize + 1);
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{}", row.1);
            assert_eq!(row.0.size() % row.0.component_size(), 0);
        }
    }

    #[test]
    fn names_lead_back_to_their_dtype() {
        for dtype in Dtype::all() {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
            if let Some(class) = dtype.storage_class() {
                assert_eq!(Dtype::from_storage_class(class), Some(dtype));
            }
            if let Some(name) = dtype.safetensors_name() {
                assert_eq!(Dtype::from_safetensors_name(name), Some(dtype));
            }
        }
        assert_eq!(Dtype::from_name("half"), None);
    }
}
