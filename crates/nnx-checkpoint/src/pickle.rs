//! Python's pickle format: bytes to an object graph and back.
//!
//! This module imports nothing, calls nothing and knows no tensor. A class or function that a
//! pickle names stays a name; what would be a call stays a node that says which call it would be.

mod graph;
mod opcode;
mod read;
mod twos;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use graph::NodeMap;
pub use graph::{Call, Change, Graph, Node, NodeId, Object, Text};
pub use opcode::{Opcode, opcodes};
pub(crate) use read::ends_within;
pub use read::{Part, read, read_or_part};
pub use write::write;
