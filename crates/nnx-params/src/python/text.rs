//! The texts that Python writes states as: `repr`, JSON, YAML floats, literals and shell patterns.
//!
//! Run ids are hashes of [`repr`](fn@repr) texts, checkpoints hold [`json_dumps`] texts, and some fields of
//! a state are [`literal_eval`] texts, so each is reproduced to the character.

mod cursor;
mod fnmatch;
mod json_read;
mod json_write;
mod limits;
mod literal;
mod literal_string;

pub use fnmatch::fnmatchcase;
pub use json_read::json_loads;
pub use json_write::json_dumps;
pub use limits::{MAX_DEPTH, MAX_VALUES};
pub use literal::literal_eval;

pub use crate::repr::float::{float_repr, yaml_float};
pub use crate::repr::repr;

#[cfg(test)]
mod tests;
