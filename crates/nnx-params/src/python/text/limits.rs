//! How much is read from one text.

/// The deepest nesting that [`json_loads`](super::json_loads) and
/// [`literal_eval`](super::literal_eval) follow, in levels.
///
/// States nest four levels; Python itself stops at a thousand, and each level costs stack.
pub const MAX_DEPTH: usize = 128;

/// The most values that [`json_loads`](super::json_loads) and
/// [`literal_eval`](super::literal_eval) build from one text.
///
/// Each list, tuple and mapping counts as a value, and so does each item in it; keys do not.
/// States hold some hundred values.
/// Two bytes of text make a value of many more bytes, so that the text's length alone would not
/// keep memory small.
pub const MAX_VALUES: usize = 1_000_000;
