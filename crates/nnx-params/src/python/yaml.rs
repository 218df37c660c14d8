//! YAML as PyYAML's `safe_dump` writes it, and the meaning of its plain scalars: the rules of YAML
//! 1.1.
//!
//! `run.yaml` is such a text, and so is the front matter of a model card.

mod analysis;
mod resolve;
mod scalar;
mod style;
mod write;

pub use resolve::{Resolved, resolve};
pub use write::{to_yaml, to_yaml_in_order};
