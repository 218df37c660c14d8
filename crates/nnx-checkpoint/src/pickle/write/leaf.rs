//! Objects without parts.

use super::super::graph::{Node, NodeId};
use super::super::{big_int, opcode};
use super::Writer;
use crate::{Error, Result};

/// Bytes of an integer whose decimal digits CPython prints (protocol 1 stores such as text).
const MAX_PRINTED_BYTES: usize = 1_785;

impl<'a> Writer<'a> {
    /// Writes what the memo never holds; says whether the object was such.
    pub(super) fn atom(&mut self, node: &Node) -> Result<bool> {
        match node {
            Node::None => self.op(opcode::NONE),
            Node::Bool(value) => self.bool(*value),
            Node::Int(value) => self.int(*value),
            Node::BigInt(bytes) => self.big_int(bytes)?,
            Node::Float(value) => {
                self.op(opcode::BINFLOAT);
                self.out.write(&value.to_be_bytes());
            }
            Node::Tuple(items) if items.is_empty() => self.op(opcode::EMPTY_TUPLE),
            Node::Extension(code) => self.extension(*code)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn bool(&mut self, value: bool) {
        match (self.protocol >= 2, value) {
            (true, true) => self.op(opcode::NEWTRUE),
            (true, false) => self.op(opcode::NEWFALSE),
            (false, true) => self.out.write(b"I01\n"),
            (false, false) => self.out.write(b"I00\n"),
        }
    }

    fn int(&mut self, value: i64) {
        if let Ok(small) = u8::try_from(value) {
            self.out.write(&[opcode::BININT1, small]);
        } else if let Ok(small) = u16::try_from(value) {
            self.op(opcode::BININT2);
            self.out.write(&small.to_le_bytes());
        } else if let Ok(small) = i32::try_from(value) {
            self.op(opcode::BININT);
            self.out.write(&small.to_le_bytes());
        } else if self.protocol >= 2 {
            let bytes = value.to_le_bytes();
            self.long(big_int::shortest(&bytes));
        } else {
            self.out.write(format!("L{value}L\n").as_bytes());
        }
    }

    fn big_int(&mut self, bytes: &[u8]) -> Result<()> {
        let bytes = big_int::shortest(bytes);
        if self.protocol >= 2 {
            self.long(bytes);
            return Ok(());
        }
        if bytes.len() > MAX_PRINTED_BYTES {
            return Err(Error::unsupported(format!(
                "an integer of {} bytes needs pickle protocol 2, found `{}`",
                bytes.len(),
                self.protocol
            )));
        }
        self.out.write(format!("L{}L\n", decimal(bytes)).as_bytes());
        Ok(())
    }

    /// An integer in two's complement of that many bytes.
    fn long(&mut self, bytes: &[u8]) {
        if let Ok(length) = u8::try_from(bytes.len()) {
            self.out.write(&[opcode::LONG1, length]);
        } else {
            // A pickle of 4 GiB was refused when it was read, and no one can push such an integer.
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            self.op(opcode::LONG4);
            self.out.write(&length.to_le_bytes());
        }
        self.out.write(bytes);
    }

    fn extension(&mut self, code: u32) -> Result<()> {
        self.require(2, "an extension code")?;
        if let Ok(code) = u8::try_from(code) {
            self.out.write(&[opcode::EXT1, code]);
        } else if let Ok(code) = u16::try_from(code) {
            self.op(opcode::EXT2);
            self.out.write(&code.to_le_bytes());
        } else {
            self.op(opcode::EXT4);
            self.out.write(&code.to_le_bytes());
        }
        Ok(())
    }

    /// Writes texts and bytes.
    pub(super) fn leaf(&mut self, id: NodeId, node: &Node) -> Result<()> {
        match node {
            Node::Str(text) => self.text(text.as_bytes())?,
            Node::ByteString(bytes) => match u8::try_from(bytes.len()) {
                Ok(length) => {
                    let header = [opcode::SHORT_BINSTRING, length];
                    self.out.write_payload(&header, bytes);
                }
                Err(_) => {
                    let length = i32::try_from(bytes.len())
                        .map_err(|_| too_long("a byte string", bytes.len()))?;
                    self.payload(opcode::BINSTRING, &length.to_le_bytes(), bytes);
                }
            },
            Node::Bytes(bytes) => {
                self.require(3, "`bytes`")?;
                if let Ok(length) = u8::try_from(bytes.len()) {
                    self.payload(opcode::SHORT_BINBYTES, &[length], bytes);
                } else if let Ok(length) = u32::try_from(bytes.len()) {
                    self.payload(opcode::BINBYTES, &length.to_le_bytes(), bytes);
                } else {
                    self.require(4, "`bytes` beyond 4 GiB")?;
                    let length = bytes.len() as u64;
                    self.payload(opcode::BINBYTES8, &length.to_le_bytes(), bytes);
                }
            }
            Node::ByteArray(bytes) => {
                self.require(5, "a bytearray")?;
                let length = bytes.len() as u64;
                self.payload(opcode::BYTEARRAY8, &length.to_le_bytes(), bytes);
            }
            _ => {
                return Err(Error::unsupported(format!(
                    "expected a text or bytes, found {}",
                    self.graph.describe(id)
                )));
            }
        }
        self.memoize(id)
    }

    fn text(&mut self, bytes: &[u8]) -> Result<()> {
        match (u8::try_from(bytes.len()), u32::try_from(bytes.len())) {
            (Ok(length), _) if self.protocol >= 4 => {
                self.payload(opcode::SHORT_BINUNICODE, &[length], bytes);
            }
            (_, Ok(length)) => self.payload(opcode::BINUNICODE, &length.to_le_bytes(), bytes),
            _ => {
                self.require(4, "a text beyond 4 GiB")?;
                let length = bytes.len() as u64;
                self.payload(opcode::BINUNICODE8, &length.to_le_bytes(), bytes);
            }
        }
        Ok(())
    }

    fn payload(&mut self, opcode: u8, length: &[u8], payload: &[u8]) {
        let header = [&[opcode], length].concat();
        self.out.write_payload(&header, payload);
    }

    /// Writes a class or function by its name.
    pub(super) fn global(&mut self, id: NodeId, module: &'a str, name: &'a str) -> Result<()> {
        if self.protocol >= 4 {
            let names = self.graph.extra(id).and_then(|extra| extra.names);
            // The strings it was read from, unless the node was changed since.
            let names = names.filter(|&(a, b)| {
                self.graph.text(a) == Some(module) && self.graph.text(b) == Some(name)
            });
            match names {
                Some((module, name)) => {
                    self.save(module)?;
                    self.save(name)?;
                }
                None => {
                    self.name(module)?;
                    self.name(name)?;
                }
            }
            self.op(opcode::STACK_GLOBAL);
        } else {
            if module.contains('\n') || name.contains('\n') {
                return Err(Error::unsupported(format!(
                    "expected a name of one line for pickle protocol {}, found {}",
                    self.protocol,
                    self.graph.describe(id)
                )));
            }
            self.out
                .write(&[b"c", module.as_bytes(), b"\n", name.as_bytes(), b"\n"].concat());
        }
        self.memoize(id)
    }

    /// Writes a name that is no object of the graph; Python holds one string for all its uses.
    fn name(&mut self, name: &'a str) -> Result<()> {
        self.out.boundary();
        if let Some(&key) = self.names.get(name) {
            self.fetch(key);
            return Ok(());
        }
        self.text(name.as_bytes())?;
        let key = self.next_key()?;
        self.names.insert(name, key);
        Ok(())
    }
}

/// The decimal digits of an integer in two's complement, little-endian.
fn decimal(bytes: &[u8]) -> String {
    let negative = big_int::is_negative(bytes);
    let mut magnitude = bytes.to_vec();
    if negative {
        // The bytes suffice: read without a sign, they hold the opposite of the lowest integer too.
        big_int::negate(&mut magnitude);
    }
    let mut digits = Vec::new();
    while !magnitude.is_empty() {
        let mut rest = 0u16;
        for byte in magnitude.iter_mut().rev() {
            let value = (rest << 8) | u16::from(*byte);
            let [low, _] = (value / 10).to_le_bytes();
            *byte = low;
            rest = value % 10;
        }
        let [digit, _] = rest.to_le_bytes();
        digits.push(char::from(b'0' | digit));
        while magnitude.last() == Some(&0) {
            magnitude.pop();
        }
    }
    if negative {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

#[cold]
fn too_long(what: &str, length: usize) -> Error {
    Error::unsupported(format!(
        "expected {what} of at most {} bytes, found {length}",
        i32::MAX
    ))
}
