//! The parameters of a net: their names, their order and their values.

use std::collections::{HashMap, HashSet};

use candle_core::{TensorId, Var};
use indexmap::IndexMap;
use nnx_checkpoint::{ShapeMismatch, StateDictMismatch};

use crate::error::{ErrorKind, Result};
use crate::upcast;

/// The parameters of a net under their names, in the order of Python's `state_dict()`, and the
/// paths of its modules.
#[derive(Clone, Debug)]
pub struct Parameters {
    entries: Vec<(String, Var)>,
    modules: Vec<String>,
}

impl Parameters {
    pub(crate) fn new(entries: Vec<(String, Var)>, modules: Vec<String>) -> Self {
        Self { entries, modules }
    }

    /// Name and value of each parameter; the value is shared with the net, not a copy.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Var)> {
        self.entries.iter().map(|(name, var)| (name.as_str(), var))
    }

    /// The parameter of that name.
    pub fn get(&self, name: &str) -> Option<&Var> {
        self.iter().find(|(key, _)| *key == name).map(|(_, v)| v)
    }

    /// The paths of the module tree, parents first: `""`, `layers`, `layers.0`.
    pub fn modules(&self) -> impl ExactSizeIterator<Item = &str> {
        self.modules.iter().map(String::as_str)
    }

    /// Each parameter once, under its first name: the parameters that an optimizer updates.
    ///
    /// [`iter`](Self::iter) repeats a tied parameter under each name that it has in the state dict.
    pub fn distinct(&self) -> impl Iterator<Item = (&str, &Var)> {
        let mut known = HashSet::new();
        self.iter()
            .filter(move |(_, var)| known.insert(var.as_tensor().id()))
    }

    /// Name and value of each parameter, copied to the CPU; tied parameters share a storage, as they
    /// do in PyTorch.
    ///
    /// # Errors
    /// When a value cannot be brought to the CPU.
    pub(crate) fn tensors(&self) -> Result<Vec<(&str, nnx_checkpoint::Tensor)>> {
        let mut copied: HashMap<TensorId, nnx_checkpoint::Tensor> = HashMap::new();
        self.iter()
            .map(|(name, var)| {
                let id = var.as_tensor().id();
                if let Some(tensor) = copied.get(&id) {
                    return Ok((name, tensor.clone()));
                }
                let tensor = nnx_checkpoint::Tensor::try_from(var.as_tensor())?;
                copied.insert(id, tensor.clone());
                Ok((name, tensor))
            })
            .collect()
    }

    /// Sets every parameter that the state dict has, after checking all of them.
    ///
    /// # Errors
    /// When a tensor has another shape, or a value is not a tensor; with `strict` also when names are
    /// missing or unexpected. No parameter is set then.
    pub(crate) fn load(&self, values: &Values<'_>, strict: bool) -> Result<StateDictMismatch> {
        let mut mismatch = StateDictMismatch::default();
        let mut found = Vec::new();
        for (name, var) in self.iter() {
            let value = values.get(name);
            if let Some(tensor) = fitting(value, name, var.as_tensor().dims(), &mut mismatch) {
                found.push((var, upcast::to_float32(tensor)?));
            }
        }
        mismatch.unexpected = values
            .keys()
            .filter(|name| self.get(name).is_none())
            .map(|name| (*name).to_owned())
            .collect();
        let fits = mismatch.shape_mismatches.is_empty() && mismatch.not_tensors.is_empty();
        if !fits || strict && !mismatch.is_empty() {
            return Err(ErrorKind::WrongWeights(mismatch).into());
        }
        for (var, value) in found {
            var.set(&value.to_device(var.as_tensor().device())?)?;
        }
        Ok(mismatch)
    }
}

/// The entries of a state dict by name; `None` for a value that is not a tensor.
pub(crate) type Values<'a> = IndexMap<&'a str, Option<&'a nnx_checkpoint::Tensor>>;

/// The tensor of a parameter if it has the parameter's shape; otherwise `mismatch` records why not.
pub(crate) fn fitting<'a>(
    found: Option<&Option<&'a nnx_checkpoint::Tensor>>,
    name: &str,
    shape: &[usize],
    mismatch: &mut StateDictMismatch,
) -> Option<&'a nnx_checkpoint::Tensor> {
    match found {
        None => mismatch.missing.push(name.to_owned()),
        Some(None) => mismatch.not_tensors.push(name.to_owned()),
        Some(Some(tensor)) if tensor.shape() == shape => return Some(tensor),
        Some(Some(tensor)) => {
            mismatch
                .shape_mismatches
                .push(ShapeMismatch::new(name, shape, tensor.shape()));
        }
    }
    None
}
