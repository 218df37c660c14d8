//! Texts as Python and its packages write and read them.

pub mod text;
pub mod yaml;
