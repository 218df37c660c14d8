//! The opcodes that name, make and change objects.

use super::super::graph::{Call, Change, Node, NodeId};
use super::super::opcode;
use super::{Reader, text};
use crate::{Error, Result};

/// `STACK_GLOBAL` copies texts that the memo repeats at no cost to the file, so the copies are
/// bounded: so many bytes for each byte read …
const NAMES_PER_BYTE: u64 = 64;
/// … and so many to begin with.
const NAMES_FREE: u64 = 64 * 1024;

impl Reader<'_> {
    /// The opcodes that name or make an object.
    pub(super) fn call_or_global(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            opcode::REDUCE => {
                let [callable, args] = self.pop_array()?;
                self.expect_callable(callable)?;
                self.expect_args(args)?;
                self.push_call(Call::Reduce { callable, args })
            }
            opcode::NEWOBJ => {
                let [class, args] = self.pop_array()?;
                self.expect_callable(class)?;
                self.expect_args(args)?;
                self.push_call(Call::New { class, args })
            }
            opcode::NEWOBJ_EX => {
                let [class, args, kwargs] = self.pop_array()?;
                self.expect_callable(class)?;
                self.expect_args(args)?;
                self.expect_kwargs(kwargs)?;
                self.push_call(Call::NewEx {
                    class,
                    args,
                    kwargs,
                })
            }
            opcode::OBJ => {
                let taken = self.take_marked()?;
                let Some((&class, args)) = taken.split_first() else {
                    return Err(Error::malformed(
                        "`OBJ` needs a class after the mark, found nothing",
                    ));
                };
                self.expect_callable(class)?;
                self.push_call(Call::Instance {
                    class,
                    args: args.into(),
                })
            }
            opcode::INST => {
                let global = self.global_lines()?;
                let args = self.take_marked()?.into();
                let class = self.new_node(global)?;
                self.push_call(Call::Instance { class, args })
            }
            opcode::GLOBAL => {
                let global = self.global_lines()?;
                self.push(global)
            }
            opcode::STACK_GLOBAL => self.stack_global(),
            opcode::EXT1 => {
                let code = u32::from(self.input.u8()?);
                self.extension(code)
            }
            opcode::EXT2 => {
                let code = u32::from(self.input.u16()?);
                self.extension(code)
            }
            _ => {
                let code = self.input.u32()?;
                self.extension(code)
            }
        }
    }

    /// Codes are positive numbers of 31 bits (PEP 307).
    fn extension(&mut self, code: u32) -> Result<()> {
        if code == 0 || code > i32::MAX.unsigned_abs() {
            return Err(Error::malformed(format!(
                "expected an extension code from 1 to {}, found `{code}`",
                i32::MAX
            )));
        }
        self.push(Node::Extension(code))
    }

    fn global_lines(&mut self) -> Result<Node> {
        let module = text::name(self.input.line()?)?;
        let name = text::name(self.input.line()?)?;
        Ok(Node::Global { module, name })
    }

    pub(super) fn stack_global(&mut self) -> Result<()> {
        let [module_id, name_id] = self.pop_array()?;
        let text = |id: NodeId| self.graph.text(id);
        let module =
            text(module_id).ok_or_else(|| self.unexpected("a module's name", module_id))?;
        let name = text(name_id).ok_or_else(|| self.unexpected("a global's name", name_id))?;
        let length = (module.len() as u64).saturating_add(name.len() as u64);
        let copied = self.names_copied.saturating_add(length);
        let read = self.input.position() as u64;
        if copied
            > read
                .saturating_mul(NAMES_PER_BYTE)
                .saturating_add(NAMES_FREE)
        {
            return Err(Error::unsupported(format!(
                "expected names about as long as the pickle, found {copied} bytes of them in \
                 {read} bytes: a long text is used as a name over and over"
            )));
        }
        let (module, name) = (module.into(), name.into());
        self.names_copied = copied;
        let id = self.new_node(Node::Global { module, name })?;
        self.graph.extra_mut(id).names = Some((module_id, name_id));
        self.stack.push(id);
        Ok(())
    }

    /// The opcodes that change an object that is there.
    pub(super) fn mutate(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            opcode::APPEND => {
                let item = self.pop()?;
                self.append(&[item])
            }
            opcode::APPENDS => {
                let items = self.take_marked()?;
                self.append(&items)
            }
            opcode::SETITEM => {
                let [key, value] = self.pop_array()?;
                self.set_items(&[(key, value)])
            }
            opcode::SETITEMS => {
                let pairs = self.take_marked_pairs()?;
                self.set_items(&pairs)
            }
            opcode::ADDITEMS => {
                let items = self.take_marked()?;
                let target = self.top()?;
                match self.graph.node_mut(target) {
                    _ if items.is_empty() => Ok(()),
                    Node::Set(members) => {
                        members.extend_from_slice(&items);
                        Ok(())
                    }
                    _ => Err(self.unexpected("a set", target)),
                }
            }
            _ => self.build(),
        }
    }

    /// With nothing to add, CPython accepts any object.
    fn append(&mut self, items: &[NodeId]) -> Result<()> {
        let target = self.top()?;
        match self.graph.node_mut(target) {
            _ if items.is_empty() => {}
            Node::List(members) => members.extend_from_slice(items),
            Node::Object(object) => object.items.extend_from_slice(items),
            _ => return Err(self.unexpected("a list or an object that this pickle made", target)),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[(NodeId, NodeId)]) -> Result<()> {
        let target = self.top()?;
        match self.graph.node_mut(target) {
            _ if items.is_empty() => {}
            Node::Dict(pairs) => pairs.extend_from_slice(items),
            Node::Object(object) => object.pairs.extend_from_slice(items),
            _ => return Err(self.unexpected("a dict or an object that this pickle made", target)),
        }
        Ok(())
    }

    /// CPython refuses to `BUILD` plain data, for it has no attributes. It would set those of a
    /// class, a function or a persistent object, and so change what the pickle did not make: no
    /// pickler asks for that, so it is refused here too.
    fn build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let target = self.top()?;
        let Node::Object(object) = self.graph.node(target) else {
            if self.is_no_state(state) {
                return Ok(());
            }
            return Err(self.unexpected("an object that this pickle made", target));
        };
        let first = object.state.is_none();
        if first && self.graph.changes(target).is_empty() {
            if let Node::Object(object) = self.graph.node_mut(target) {
                object.state = Some(state);
            }
        } else {
            self.graph
                .extra_mut(target)
                .changes
                .push(Change::Build(state));
        }
        Ok(())
    }

    /// `None`, or no attributes and no slots, which CPython gives to any object.
    fn is_no_state(&self, state: NodeId) -> bool {
        match self.graph.node(state) {
            Node::None => true,
            Node::Tuple(both) => match **both {
                [attributes, slots] => {
                    self.graph.is_none(attributes)
                        && matches!(self.graph.node(slots), Node::Dict(pairs) if pairs.is_empty())
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// A call whose first argument is the object below and whose result is dropped: the setter of
    /// a `__reduce__` result's sixth member. Returns the object if it is no such call.
    pub(super) fn keep_setter_call(&mut self, popped: NodeId) -> Option<NodeId> {
        let found = (|| {
            let Call::Reduce { callable, args } = self.graph.object(popped)?.call else {
                return None;
            };
            let target = self.stack.top()?;
            let Node::Tuple(members) = self.graph.node(args) else {
                return None;
            };
            let &[first, state] = &**members else {
                return None;
            };
            // A call that contains itself is dropped as well, but its arguments are older: they were
            // fetched from the memo.
            let fresh = args.index().saturating_add(1) == popped.index();
            let is_setter = first == target && fresh && self.is_last(popped);
            let setter = is_setter.then_some(callable)?;
            self.graph.object(target)?;
            Some((target, Change::Call { setter, state }))
        })();
        let Some((target, change)) = found else {
            return Some(popped);
        };
        self.graph.extra_mut(target).changes.push(change);
        None
    }

    /// A pickler that meets an object within the arguments of the very call that makes it drops
    /// the outer call's result and fetches the inner one's. Writing needs to know the outer call.
    pub(super) fn keep_discarded_call(&mut self, popped: NodeId, kept: NodeId) {
        let (Some(outer), Some(inner)) = (self.graph.object(popped), self.graph.object(kept))
        else {
            return;
        };
        let same = match (&outer.call, &inner.call) {
            (Call::Reduce { callable: a, .. }, Call::Reduce { callable: b, .. }) => a == b,
            (Call::New { class: a, .. }, Call::New { class: b, .. }) => a == b,
            (Call::NewEx { class: a, .. }, Call::NewEx { class: b, .. }) => a == b,
            _ => false,
        };
        if same && popped != kept && self.is_last(popped) {
            let call = outer.call.clone();
            self.graph.extra_mut(kept).discarded.push(call);
        }
    }

    /// Whether nothing was made after that object.
    fn is_last(&self, id: NodeId) -> bool {
        id.index().saturating_add(1) == self.graph.len()
    }

    /// Checks that an object can be called. Like the two checks below, it is left out behind an opcode
    /// that was refused.
    fn expect_callable(&self, id: NodeId) -> Result<()> {
        match self.graph.node(id) {
            _ if self.is_recovering => Ok(()),
            Node::Global { .. } | Node::Object(_) | Node::Extension(_) | Node::Persistent(_) => {
                Ok(())
            }
            _ => Err(self.unexpected("a class or function", id)),
        }
    }

    /// Checks that CPython can make a view of the top: it is bytes, or an object or something outside
    /// that may be a buffer.
    pub(super) fn expect_buffer(&self) -> Result<()> {
        let id = self.top()?;
        match self.graph.node(id) {
            Node::Bytes(_) | Node::ByteArray(_) | Node::Object(_) | Node::Persistent(_) => Ok(()),
            _ => Err(self.unexpected("bytes", id)),
        }
    }

    fn expect_args(&self, id: NodeId) -> Result<()> {
        match self.graph.node(id) {
            _ if self.is_recovering => Ok(()),
            Node::Tuple(_) => Ok(()),
            _ => Err(self.unexpected("a tuple of arguments", id)),
        }
    }

    fn expect_kwargs(&self, id: NodeId) -> Result<()> {
        match self.graph.node(id) {
            _ if self.is_recovering => Ok(()),
            Node::Dict(_) => Ok(()),
            _ => Err(self.unexpected("a dict of keyword arguments", id)),
        }
    }

    #[cold]
    fn unexpected(&self, expected: &str, found: NodeId) -> Error {
        Error::malformed(format!(
            "`{}` expected {expected}, found {}",
            self.input.name(),
            self.graph.describe(found)
        ))
    }
}
