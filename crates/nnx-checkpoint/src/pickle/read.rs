//! Pickle bytes to an object graph.

use super::graph::Graph;
use crate::{Error, Limits, Result};

/// Reads one pickle from the start of `bytes` through its `STOP` and returns what it describes and
/// how many bytes it occupies.
///
/// # Errors
/// When the bytes are no pickle.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<(Graph, usize)> {
    Err(Error::unsupported(format!(
        "{} bytes under {limits:?}",
        bytes.len()
    )))
}
