//! YAML as PyYAML's `safe_dump` writes it and its `safe_load` reads it: the rules of YAML 1.1.

mod read;

#[cfg(test)]
mod tests;

pub use nnx_params::yaml::to_yaml;
pub use read::from_yaml;
