//! Following opcodes behind one that was refused.
//!
//! The stack and the memo stay as they are in every unpickler, because how many objects an opcode
//! takes and leaves does not depend on their kinds. An object that cannot be understood is `None`.

use super::super::graph::{Call, Node, NodeId, Text};
use super::super::opcode;
use super::{Reader, number, text};
use crate::Result;

/// Whether the opcode is one that may be refused for its operands.
pub(super) fn is_followed(opcode: u8) -> bool {
    matches!(
        opcode,
        opcode::INT
            | opcode::LONG
            | opcode::FLOAT
            | opcode::STRING
            | opcode::UNICODE
            | opcode::PERSID
            | opcode::GLOBAL
            | opcode::INST
            | opcode::BINUNICODE
            | opcode::SHORT_BINUNICODE
            | opcode::BINUNICODE8
            | opcode::DICT
            | opcode::STACK_GLOBAL
            | opcode::EXT1
            | opcode::EXT2
            | opcode::EXT4
            | opcode::APPEND
            | opcode::APPENDS
            | opcode::SETITEM
            | opcode::SETITEMS
            | opcode::ADDITEMS
            | opcode::BUILD
            | opcode::FRAME
            | opcode::NEXT_BUFFER
            | opcode::READONLY_BUFFER
    )
}

impl Reader<'_> {
    /// Takes and leaves as many objects as the opcode does in every unpickler.
    ///
    /// # Errors
    /// When there are not so many, or the bytes end: no unpickler goes on then.
    pub(super) fn follow(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            opcode::INST => {
                let global = self.named()?;
                let args = self.take_marked()?.into();
                let class = self.new_node(global)?;
                self.push_call(Call::Instance { class, args })
            }
            opcode::STACK_GLOBAL => self.stack_named(),
            opcode::APPEND | opcode::BUILD => {
                self.pop()?;
                self.top().map(drop)
            }
            opcode::SETITEM => {
                self.pop_array::<2>()?;
                self.top().map(drop)
            }
            opcode::APPENDS | opcode::SETITEMS | opcode::ADDITEMS => {
                self.take_marked()?;
                self.top().map(drop)
            }
            opcode::READONLY_BUFFER => self.top().map(drop),
            opcode::FRAME => self.input.u64().map(drop),
            _ => {
                let node = self.value(opcode)?;
                self.push(node)
            }
        }
    }

    /// The object of an opcode that takes nothing from the stack, but for marked objects.
    fn value(&mut self, opcode: u8) -> Result<Node> {
        let found = match opcode {
            opcode::INT => number::int(self.input.line()?),
            opcode::LONG => number::long(self.input.line()?),
            opcode::FLOAT => number::float(self.input.line()?),
            opcode::STRING => {
                text::quoted(self.input.line()?).map(|bytes| Node::ByteString(bytes.into()))
            }
            opcode::UNICODE => text::raw_unicode_escape(self.input.line()?).map(Node::Str),
            opcode::GLOBAL => return self.named(),
            opcode::PERSID => {
                let line = String::from_utf8_lossy(self.input.line()?);
                let pid = self.new_node(Node::Str(Text::Utf8(line.into())))?;
                Ok(Node::Persistent(pid))
            }
            opcode::SHORT_BINUNICODE => {
                let length = u64::from(self.input.u8()?);
                text::utf8(self.input.take(length)?).map(Node::Str)
            }
            opcode::BINUNICODE => {
                let length = u64::from(self.input.u32()?);
                text::utf8(self.input.take(length)?).map(Node::Str)
            }
            opcode::BINUNICODE8 => {
                let length = self.input.u64()?;
                text::utf8(self.input.take(length)?).map(Node::Str)
            }
            opcode::EXT1 => Ok(Node::Extension(u32::from(self.input.u8()?))),
            opcode::EXT2 => Ok(Node::Extension(u32::from(self.input.u16()?))),
            opcode::EXT4 => Ok(Node::Extension(self.input.u32()?)),
            opcode::DICT => {
                let items = self.take_marked()?;
                let (pairs, _) = items.as_chunks::<2>();
                Ok(Node::Dict(pairs.iter().map(|&[k, v]| (k, v)).collect()))
            }
            _ => Ok(Node::None),
        };
        Ok(found.unwrap_or(Node::None))
    }

    /// The global that `GLOBAL` and `INST` name.
    fn named(&mut self) -> Result<Node> {
        let module = text::name(self.input.line()?);
        let name = text::name(self.input.line()?);
        Ok(match (module, name) {
            (Ok(module), Ok(name)) => Node::Global { module, name },
            _ => Node::None,
        })
    }

    fn stack_named(&mut self) -> Result<()> {
        let [module, name]: [NodeId; 2] = *self.stack.last().ok_or_else(|| self.underflow(2))?;
        if self.graph.text(module).is_some() && self.graph.text(name).is_some() {
            return self.stack_global();
        }
        self.pop_array::<2>()?;
        self.push(Node::None)
    }
}
