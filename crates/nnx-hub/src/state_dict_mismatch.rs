//! The differences between weights and a model.

use std::fmt;

/// All differences between weights and a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateDictMismatch {
    /// Names that only the model has.
    pub missing: Vec<String>,
    /// Names that only the weights have.
    pub unexpected: Vec<String>,
    /// Tensors whose shapes differ.
    pub shape_mismatches: Vec<ShapeMismatch>,
}

/// A tensor whose shape differs from the model's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShapeMismatch {
    /// The tensor.
    pub name: String,
    /// The shape in the model.
    pub expected: Vec<usize>,
    /// The shape in the weights.
    pub found: Vec<usize>,
}

impl StateDictMismatch {
    /// Whether there are no differences.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.shape_mismatches.is_empty()
    }
}

impl fmt::Display for StateDictMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the weights do not fit the model: ")?;
        let mut separator = "";
        for (what, names) in [("missing", &self.missing), ("unexpected", &self.unexpected)] {
            if !names.is_empty() {
                write!(f, "{separator}{what} `{}`", names.join("`, `"))?;
                separator = "; ";
            }
        }
        for tensor in &self.shape_mismatches {
            write!(
                f,
                "{separator}`{}` should have shape `{:?}`, has `{:?}`",
                tensor.name, tensor.expected, tensor.found
            )?;
            separator = "; ";
        }
        Ok(())
    }
}
