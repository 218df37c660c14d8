//! The differences between a state dict and a model.

use std::fmt;

/// Everything that keeps a state dict from fitting a model, found in one go.
///
/// ```
/// use nnx_checkpoint::{ShapeMismatch, StateDictMismatch};
///
/// let mut mismatch = StateDictMismatch::default();
/// mismatch.missing.push("bias".to_owned());
/// mismatch.shape_mismatches.push(ShapeMismatch::new("weight", &[2, 3], &[3, 2]));
/// assert_eq!(
///     mismatch.to_string(),
///     "missing `bias`; `weight` should have shape `[2, 3]`, has `[3, 2]`"
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateDictMismatch {
    /// Names that the model has and the state dict lacks, in the model's order.
    pub missing: Vec<String>,
    /// Names that the state dict has and the model lacks, in the state dict's order.
    pub unexpected: Vec<String>,
    /// Tensors whose shapes differ, in the model's order.
    pub shape_mismatches: Vec<ShapeMismatch>,
    /// Names of the model whose value in the state dict is not a tensor.
    pub not_tensors: Vec<String>,
}

/// A tensor whose shape is not that of the model's parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShapeMismatch {
    /// The parameter.
    pub name: String,
    /// Its shape in the model.
    pub expected: Vec<usize>,
    /// The shape of the tensor in the state dict.
    pub found: Vec<usize>,
}

impl ShapeMismatch {
    /// A parameter with its shape in the model and that in the state dict.
    pub fn new(name: impl Into<String>, expected: &[usize], found: &[usize]) -> Self {
        Self {
            name: name.into(),
            expected: expected.to_vec(),
            found: found.to_vec(),
        }
    }
}

impl StateDictMismatch {
    /// Whether the state dict fits.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
            && self.unexpected.is_empty()
            && self.shape_mismatches.is_empty()
            && self.not_tensors.is_empty()
    }
}

/// Writes the differences, separated by semicolons.
impl fmt::Display for StateDictMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (what, names) in [
            ("missing", &self.missing),
            ("unexpected", &self.unexpected),
            ("not a tensor", &self.not_tensors),
        ] {
            if !names.is_empty() {
                write!(f, "{separator}{what} `{}`", names.join("`, `"))?;
                separator = "; ";
            }
        }
        for ShapeMismatch {
            name,
            expected,
            found,
        } in &self.shape_mismatches
        {
            write!(
                f,
                "{separator}`{name}` should have shape `{expected:?}`, has `{found:?}`"
            )?;
            separator = "; ";
        }
        Ok(())
    }
}
