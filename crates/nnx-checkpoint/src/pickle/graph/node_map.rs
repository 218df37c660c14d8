//! Maps keyed by objects of a graph.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::NodeId;

/// A map keyed by objects of a graph. Their ids count up from one, so that a multiplication spreads
/// them and nobody outside can choose them to collide.
pub(crate) type NodeMap<V> = HashMap<NodeId, V, BuildHasherDefault<NodeHasher>>;

/// The hash of an id: its number times the golden ratio.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeHasher(u64);

impl Hasher for NodeHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(GOLDEN_RATIO);
    }

    fn finish(&self) -> u64 {
        // The map takes both ends of the number; the upper half is the better spread one.
        self.0.rotate_left(32)
    }
}
