//! The parameters of a net: names, order, and where their first values come from.

use std::collections::HashMap;

use candle_core::{DType, Device, TensorId, Var};
use indexmap::IndexMap;
use nnx_checkpoint::{ShapeMismatch, StateDictMismatch};

use crate::error::{ErrorKind, Result};
use crate::init::Init;
use crate::recipe::{Change, Recipe};
use crate::rng::Generator;
use crate::widen;

/// The parameters of a net under their names, in the order of Python's `state_dict()`, and the
/// paths of its modules.
#[derive(Clone, Debug)]
pub struct Parameters {
    entries: Vec<(String, Var)>,
    modules: Vec<String>,
}

impl Parameters {
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

    /// Each parameter once, under the first of its names: what an optimizer steps.
    ///
    /// A tied parameter stands in [`iter`](Self::iter) under every name that the state dict has.
    pub fn distinct(&self) -> impl Iterator<Item = (&str, &Var)> {
        self.iter().enumerate().filter_map(|(at, (name, var))| {
            let id = var.as_tensor().id();
            let earlier = self.entries.iter().take(at);
            (!{ earlier }.any(|(_, other)| other.as_tensor().id() == id)).then_some((name, var))
        })
    }

    /// Name and value of each parameter, copied to the CPU; tied ones share a storage, as they do
    /// in PyTorch.
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

    /// Sets every parameter that the state dict has, after looking at all of them.
    ///
    /// # Errors
    /// When a tensor has another shape or is none, or, where `strict`, names are missing or
    /// unexpected. Nothing is set then.
    pub(crate) fn load(&self, values: &Values<'_>, strict: bool) -> Result<StateDictMismatch> {
        let mut mismatch = StateDictMismatch::default();
        let mut found = Vec::new();
        for (name, var) in self.iter() {
            let value = values.get(name);
            if let Some(tensor) = fitting(value, name, var.as_tensor().dims(), &mut mismatch) {
                found.push((var, widen::float32(tensor)?));
            }
        }
        mismatch.unexpected = values
            .keys()
            .filter(|name| self.get(name).is_none())
            .map(|name| (*name).to_owned())
            .collect();
        let fits = mismatch.shape_mismatches.is_empty() && mismatch.not_tensors.is_empty();
        if !fits || strict && !mismatch.is_empty() {
            return Err(ErrorKind::StateDict(mismatch).into());
        }
        for (var, value) in found {
            var.set(&value.to_device(var.as_tensor().device())?)?;
        }
        Ok(mismatch)
    }
}

/// The entries of a state dict by name; none for a value that is no tensor.
pub(crate) type Values<'a> = IndexMap<&'a str, Option<&'a nnx_checkpoint::Tensor>>;

/// Hands a net its parameters while it is built, and remembers them in order.
///
/// The order of the calls is the order of the random draws. It is that of the state dict too, unless
/// places were [reserved](Self::reserve).
#[derive(Debug)]
pub(crate) struct Builder<'a> {
    source: Source<'a>,
    recipe: Recipe,
    device: Device,
    entries: IndexMap<String, Option<Var>>,
    modules: Vec<String>,
    mismatch: StateDictMismatch,
}

#[derive(Debug)]
enum Source<'a> {
    /// Each parameter by its own rule.
    Random(&'a mut Generator),
    /// Values that exist already.
    StateDict(Values<'a>),
}

impl<'a> Builder<'a> {
    /// Fresh parameters, drawn from the generator.
    pub(crate) fn random(generator: &'a mut Generator, device: &Device) -> Self {
        Self::new(Source::Random(generator), device)
    }

    /// Parameters of the layers that the recipe makes, with the values of a state dict, converted
    /// to float32.
    pub(crate) fn from_values(values: Values<'a>, recipe: Recipe, device: &Device) -> Self {
        Self::new(Source::StateDict(values), device).with_recipe(recipe)
    }

    /// Makes the layers that the recipe makes.
    pub(crate) fn with_recipe(self, recipe: Recipe) -> Self {
        Self { recipe, ..self }
    }

    fn new(source: Source<'a>, device: &Device) -> Self {
        Self {
            source,
            recipe: Recipe::default(),
            device: device.clone(),
            entries: IndexMap::new(),
            // The root is a module too.
            modules: vec![String::new()],
            mismatch: StateDictMismatch::default(),
        }
    }

    /// Enters a module into the module tree.
    pub(crate) fn module(&mut self, path: impl Into<String>) {
        self.modules.push(path.into());
    }

    /// What the recipe makes of the linear layer at that path.
    pub(crate) fn change(&mut self, path: &str) -> Option<Change> {
        self.recipe.take(path)
    }

    /// Takes the next places in the state dict for parameters that are drawn later.
    pub(crate) fn reserve(&mut self, names: impl IntoIterator<Item = String>) {
        self.entries
            .extend(names.into_iter().map(|name| (name, None)));
    }

    /// Draws values that the library draws and throws away.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn discard(&mut self, shape: &[usize], init: Init) -> Result<()> {
        if let Source::Random(generator) = &mut self.source {
            init.draw(shape, generator)?;
        }
        Ok(())
    }

    /// The next parameter, float32. One that the state dict cannot provide comes back empty, and
    /// [`finish`](Self::finish) reports it.
    ///
    /// # Errors
    /// When there is no memory for it, its values have a dtype that is not supported, or the state
    /// dict lacks more names than a report can be about.
    pub(crate) fn parameter(&mut self, name: String, shape: &[usize], init: Init) -> Result<Var> {
        let var = match &mut self.source {
            Source::Random(generator) => {
                Var::from_vec(init.draw(shape, generator)?, shape, &self.device)?
            }
            Source::StateDict(values) => {
                match fitting(values.get(name.as_str()), &name, shape, &mut self.mismatch) {
                    Some(tensor) => {
                        Var::from_tensor(&widen::float32(tensor)?.to_device(&self.device)?)?
                    }
                    // Nothing is allocated by a shape that no tensor in the file has.
                    None => Var::zeros(0, DType::F32, &self.device)?,
                }
            }
        };
        self.enter(name, var.clone())?;
        Ok(var)
    }

    /// Another name of a parameter. Where the state dict has different values under the two, this
    /// one's hold, as in PyTorch, which copies them last.
    ///
    /// # Errors
    /// When the values have a dtype that is not supported.
    pub(crate) fn tie(&mut self, name: String, of: &str, var: &Var, shape: &[usize]) -> Result<()> {
        if let Source::StateDict(values) = &mut self.source {
            let first = values.get(of).copied().flatten();
            let own = fitting(values.get(name.as_str()), &name, shape, &mut self.mismatch);
            if let (Some(first), Some(own)) = (first, own)
                && var.as_tensor().dims() == shape
                && !is_same_view(first, own)
            {
                var.set(&widen::float32(own)?.to_device(&self.device)?)?;
            }
        }
        self.enter(name, var.clone())
    }

    fn enter(&mut self, name: String, var: Var) -> Result<()> {
        self.entries.insert(name, Some(var));
        // The numbers of layers and experts come from a file: it may not make the report huge.
        if self.mismatch.missing.len() > MOST_MISSING {
            return Err(ErrorKind::StateDict(std::mem::take(&mut self.mismatch)).into());
        }
        Ok(())
    }

    /// The parameters in order.
    ///
    /// # Errors
    /// When the recipe names a layer that was not built, or the state dict did not have exactly the
    /// parameters that were asked for, each in its shape.
    pub(crate) fn finish(mut self) -> Result<Parameters> {
        self.recipe.finish()?;
        if let Source::StateDict(values) = &mut self.source {
            for name in self.entries.keys() {
                values.shift_remove(name.as_str());
            }
            self.mismatch.unexpected = values.keys().map(|name| (*name).to_owned()).collect();
        }
        if !self.mismatch.is_empty() {
            let place = |name: &String| self.entries.get_index_of(name);
            self.mismatch.missing.sort_by_key(place);
            self.mismatch.not_tensors.sort_by_key(place);
            self.mismatch
                .shape_mismatches
                .sort_by_key(|one| place(&one.name));
            return Err(ErrorKind::StateDict(self.mismatch).into());
        }
        Ok(Parameters {
            entries: self
                .entries
                .into_iter()
                .filter_map(|(name, var)| Some((name, var?)))
                .collect(),
            modules: self.modules,
        })
    }
}

/// More names than this are not looked for in a state dict that lacks them.
const MOST_MISSING: usize = 10_000;

/// Whether two tensors are the same elements of the same storage.
fn is_same_view(a: &nnx_checkpoint::Tensor, b: &nnx_checkpoint::Tensor) -> bool {
    a.storage().identity() == b.storage().identity()
        && (a.dtype(), a.offset(), a.strides()) == (b.dtype(), b.offset(), b.strides())
}

/// The tensor behind a name when it has the parameter's shape; else a note of what is wrong.
fn fitting<'a>(
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
