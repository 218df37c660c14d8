//! The texts that Python writes states as: `repr`, JSON, YAML floats and literals.
//!
//! Run ids are hashes of [`repr`](fn@repr) texts, checkpoints hold [`json_dumps`] texts, and some fields of
//! a state are [`literal_eval`] texts, so each is reproduced to the character.

mod float;
mod json_read;
mod json_write;
mod literal;
mod literal_string;
mod repr;

pub use float::{float_repr, yaml_float};
pub(crate) use float::{general, scientific};
pub use json_read::json_loads;
pub use json_write::json_dumps;
pub use literal::literal_eval;
pub use repr::repr;

/// The deepest nesting that [`json_loads`] and [`literal_eval`] follow, in levels.
///
/// States nest four levels; Python itself stops at a thousand, and each level costs stack.
pub const MAX_DEPTH: usize = 128;

/// The most values that [`json_loads`] and [`literal_eval`] build from one text.
///
/// Each list, tuple and mapping counts as a value, and so does each item in it; keys do not.
/// States hold some hundred values.
/// Two bytes of text make a value of many more bytes, so that the text's length alone would not
/// keep memory small.
pub const MAX_VALUES: usize = 1_000_000;

#[cfg(test)]
mod tests;
