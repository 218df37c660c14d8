//! Python's pickle format: bytes to an object graph and back.
//!
//! This module imports nothing, calls nothing and knows no tensor. A class or function that a
//! pickle names stays a name; a call stays a node that describes the call.
//!
//! This module is for tools that look at the format itself: its types follow the format closely, and
//! change between minor versions where the rest of the crate does not.

pub(crate) mod big_int;
mod graph;
pub(crate) mod opcode;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use graph::NodeMap;
pub use graph::{Call, Change, Graph, Node, NodeId, Object, Text};
pub use opcode::{Opcode, opcodes};
pub(crate) use read::ends_within;
pub use read::{PartialPickle, read, read_lossy};
pub use write::write;
pub(crate) use write::write_with_references;
