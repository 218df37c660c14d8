//! Graphs and state dicts that no file held, made from an input.

mod graph;
mod state_dict;

pub(crate) use graph::graph;
pub(crate) use state_dict::state_dict;
