//! The opcodes of protocols 0 to 5.
//!
//! Source: the opcode table of Python's standard module `pickletools`.

/// An opcode of the pickle format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opcode {
    /// The name, as Python's `pickletools` has it.
    pub name: &'static str,
    /// The byte.
    pub byte: u8,
    /// The protocol in which it is used first.
    pub protocol: u8,
}

/// Every opcode that is read: all of protocols 0 to 5, by protocol.
///
/// ```
/// use nnx_checkpoint::pickle::opcodes;
///
/// let stop = opcodes().find(|opcode| opcode.byte == b'.').map(|opcode| opcode.name);
/// assert_eq!(stop, Some("STOP"));
/// ```
pub fn opcodes() -> impl ExactSizeIterator<Item = Opcode> {
    ALL.iter().copied()
}

macro_rules! opcodes {
    ($($protocol:literal { $($name:ident = $byte:literal),* $(,)? })*) => {
        $($(pub(crate) const $name: u8 = $byte;)*)*

        const ALL: &[Opcode] = &[
            $($(Opcode { name: stringify!($name), byte: $byte, protocol: $protocol },)*)*
        ];

        /// The opcode's name as `pickletools` has it, or none when the byte is no opcode.
        pub(crate) fn name(opcode: u8) -> Option<&'static str> {
            match opcode {
                $($($name => Some(stringify!($name)),)*)*
                _ => None,
            }
        }

        /// The protocol that brought the opcode (0 for a byte that is none).
        pub(super) fn protocol(opcode: u8) -> u8 {
            match opcode {
                $($($name)|* => $protocol,)*
                _ => 0,
            }
        }
    };
}

opcodes! {
    0 {
        MARK = b'(',
        STOP = b'.',
        POP = b'0',
        DUP = b'2',
        FLOAT = b'F',
        INT = b'I',
        LONG = b'L',
        NONE = b'N',
        PERSID = b'P',
        REDUCE = b'R',
        STRING = b'S',
        UNICODE = b'V',
        APPEND = b'a',
        BUILD = b'b',
        GLOBAL = b'c',
        DICT = b'd',
        GET = b'g',
        INST = b'i',
        LIST = b'l',
        PUT = b'p',
        SETITEM = b's',
        TUPLE = b't',
    }
    1 {
        POP_MARK = b'1',
        BINFLOAT = b'G',
        BININT = b'J',
        BININT1 = b'K',
        BININT2 = b'M',
        BINPERSID = b'Q',
        BINSTRING = b'T',
        SHORT_BINSTRING = b'U',
        BINUNICODE = b'X',
        EMPTY_LIST = b']',
        APPENDS = b'e',
        BINGET = b'h',
        LONG_BINGET = b'j',
        OBJ = b'o',
        BINPUT = b'q',
        LONG_BINPUT = b'r',
        EMPTY_TUPLE = b')',
        SETITEMS = b'u',
        EMPTY_DICT = b'}',
        // Younger, but CPython writes it in protocol 1 too, when a state has a setter.
        TUPLE2 = 0x86,
    }
    2 {
        PROTO = 0x80,
        NEWOBJ = 0x81,
        EXT1 = 0x82,
        EXT2 = 0x83,
        EXT4 = 0x84,
        TUPLE1 = 0x85,
        TUPLE3 = 0x87,
        NEWTRUE = 0x88,
        NEWFALSE = 0x89,
        LONG1 = 0x8a,
        LONG4 = 0x8b,
    }
    3 {
        BINBYTES = b'B',
        SHORT_BINBYTES = b'C',
    }
    4 {
        SHORT_BINUNICODE = 0x8c,
        BINUNICODE8 = 0x8d,
        BINBYTES8 = 0x8e,
        EMPTY_SET = 0x8f,
        ADDITEMS = 0x90,
        FROZENSET = 0x91,
        NEWOBJ_EX = 0x92,
        STACK_GLOBAL = 0x93,
        MEMOIZE = 0x94,
        FRAME = 0x95,
    }
    5 {
        BYTEARRAY8 = 0x96,
        NEXT_BUFFER = 0x97,
        READONLY_BUFFER = 0x98,
    }
}
