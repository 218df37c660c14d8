//! YAML as PyYAML's `safe_dump` writes it and its `safe_load` reads it: the rules of YAML 1.1.

mod analysis;
mod read;
mod resolve;
mod scalar;
mod write;

#[cfg(test)]
mod tests;

pub use read::from_yaml;
pub use write::to_yaml;
