//! What keeps weights from fitting a model.

use std::fmt;

/// Everything that keeps weights from fitting a model, found in one go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// Names that the model has and the weights lack.
    pub missing: Vec<String>,
    /// Names that the weights have and the model lacks.
    pub unexpected: Vec<String>,
    /// Names whose shapes differ.
    pub misshaped: Vec<Misshaped>,
}

/// A tensor of another shape than the model wants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misshaped {
    /// The tensor.
    pub name: String,
    /// The shape in the model.
    pub expected: Vec<usize>,
    /// The shape in the weights.
    pub found: Vec<usize>,
}

impl Mismatch {
    /// Whether the weights fit after all.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.misshaped.is_empty()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the weights do not fit the model: ")?;
        let mut separator = "";
        for (what, names) in [("missing", &self.missing), ("unexpected", &self.unexpected)] {
            if !names.is_empty() {
                write!(f, "{separator}{what} `{}`", names.join("`, `"))?;
                separator = "; ";
            }
        }
        for tensor in &self.misshaped {
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
