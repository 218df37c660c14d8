//! Values of a `.metadata` in eight bytes each.

/// What a value is. The number with it is an index, but for [`Kind::Int`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(super) enum Kind {
    /// `None`, a bool, a float, or an object that nothing here needs.
    Opaque,
    /// An integer of 56 bits.
    Int,
    /// An integer of 64 bits: where it is among the large ones.
    LargeInt,
    /// A text.
    Text,
    /// A tuple of integers.
    Ints,
    /// A tuple whose only item is a tuple of integers: the arguments of `torch.Size`.
    IntsAlone,
    /// A `torch.Size`.
    Size,
    /// Another tuple.
    Tuple,
    /// A list.
    List,
    /// A dict.
    Dict,
    /// A class or function.
    Global,
    /// `None`, which is told from other opaque values.
    None,
    /// A `TensorStorageMetadata`.
    Tensor,
    /// A `BytesStorageMetadata`.
    Bytes,
    /// A `ChunkStorageMetadata`.
    Chunk,
    /// A `MetadataIndex`.
    Index,
    /// A `_StorageInfo`.
    Info,
    /// A `TensorProperties`.
    Properties,
    /// A `Metadata`.
    Metadata,
}

impl Kind {
    /// Whether it can be called; an opaque value may be anything.
    pub(super) fn is_callable(self) -> bool {
        matches!(self, Self::Global | Self::Opaque)
    }

    /// Whether it is a tuple, as arguments are.
    pub(super) fn is_tuple(self) -> bool {
        matches!(self, Self::Ints | Self::IntsAlone | Self::Tuple)
    }

    /// Whether it can be given a state.
    pub(super) fn has_state(self) -> bool {
        self == Self::Opaque || self >= Self::Tensor
    }
}

/// The kinds by their numbers; the objects are the last ones.
const KINDS: &[Kind] = &[
    Kind::Opaque,
    Kind::Int,
    Kind::LargeInt,
    Kind::Text,
    Kind::Ints,
    Kind::IntsAlone,
    Kind::Size,
    Kind::Tuple,
    Kind::List,
    Kind::Dict,
    Kind::Global,
    Kind::None,
    Kind::Tensor,
    Kind::Bytes,
    Kind::Chunk,
    Kind::Index,
    Kind::Info,
    Kind::Properties,
    Kind::Metadata,
];

/// Bits of a value below its kind.
const BITS: u32 = 56;
const MASK: u64 = (1 << BITS) - 1;

/// A value: its kind and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(u64);

impl Value {
    pub(super) const OPAQUE: Self = Self::new(Kind::Opaque, 0);
    pub(super) const NONE: Self = Self::new(Kind::None, 0);

    /// The value of a kind with that index.
    pub(super) const fn new(kind: Kind, index: u32) -> Self {
        Self((kind as u64) << BITS | index as u64)
    }

    /// An integer; none for one that needs more bits.
    pub(super) fn int(value: i64) -> Option<Self> {
        const HALF: i64 = 1 << (BITS - 1);
        (-HALF..HALF)
            .contains(&value)
            .then(|| Self((Kind::Int as u64) << BITS | value.cast_unsigned() & MASK))
    }

    pub(super) fn kind(self) -> Kind {
        let kind = usize::try_from(self.0 >> BITS).ok();
        kind.and_then(|kind| KINDS.get(kind).copied())
            .unwrap_or(Kind::Opaque)
    }

    /// The index, of a value that is no [`Kind::Int`].
    pub(super) fn index(self) -> u32 {
        u32::try_from(self.0 & MASK).unwrap_or(u32::MAX)
    }

    /// The index, if it is a value of that kind.
    pub(super) fn index_of(self, kind: Kind) -> Option<u32> {
        (self.kind() == kind).then(|| self.index())
    }

    /// The integer of a [`Kind::Int`].
    pub(super) fn as_int(self) -> Option<i64> {
        // The sign is the highest of the 56 bits.
        (self.kind() == Kind::Int).then(|| (self.0 << 8).cast_signed() >> 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        for (number, &kind) in (0..).zip(KINDS) {
            assert_eq!(kind as u32, number);
            assert_eq!(Value::new(kind, 7).kind(), kind);
            assert_eq!(Value::new(kind, u32::MAX).index_of(kind), Some(u32::MAX));
        }
        for value in [0, 1, -1, (1 << 55) - 1, -(1 << 55)] {
            assert_eq!(Value::int(value).and_then(Value::as_int), Some(value));
        }
        assert_eq!(Value::int(1 << 55), None);
    }
}
