//! Making the parameters of a net while it is built.

use candle_core::{DType, Device, Var};
use indexmap::IndexMap;
use nnx_checkpoint::StateDictMismatch;

use crate::error::{ErrorKind, Result};
use crate::init::Init;
use crate::parameters::{Parameters, Values, fitting};
use crate::rng::Generator;
use crate::transforms::{LayerTransform, LayerTransforms};
use crate::upcast;

/// More missing names than this are not looked for in a state dict: the numbers of layers and
/// experts come from a file, which must not make the report huge.
const MOST_MISSING: usize = 10_000;

/// Makes the parameters of a net while it is built, and keeps them in order.
///
/// The order of the calls is the order of the random draws. It is also the order of the state dict,
/// except for names that were [reserved](Self::reserve) earlier.
#[derive(Debug)]
pub(crate) struct ParamBuilder<'a> {
    source: ParamSource<'a>,
    transforms: LayerTransforms,
    device: Device,
    entries: IndexMap<String, Option<Var>>,
    modules: Vec<String>,
    mismatch: StateDictMismatch,
}

#[derive(Debug)]
enum ParamSource<'a> {
    /// Values drawn by the rule of each parameter.
    Random(&'a mut Generator),
    /// Values that exist already.
    StateDict(Values<'a>),
}

impl<'a> ParamBuilder<'a> {
    /// Fresh parameters, drawn from the generator.
    pub(crate) fn random(generator: &'a mut Generator, device: &Device) -> Self {
        Self::new(ParamSource::Random(generator), device)
    }

    /// Parameters with the values of a state dict, converted to float32, for a net whose layers are
    /// transformed.
    pub(crate) fn from_values(
        values: Values<'a>,
        transforms: LayerTransforms,
        device: &Device,
    ) -> Self {
        Self::new(ParamSource::StateDict(values), device).with_transforms(transforms)
    }

    /// Transforms the linear layers that are built.
    pub(crate) fn with_transforms(self, transforms: LayerTransforms) -> Self {
        Self { transforms, ..self }
    }

    fn new(source: ParamSource<'a>, device: &Device) -> Self {
        Self {
            source,
            transforms: LayerTransforms::default(),
            device: device.clone(),
            entries: IndexMap::new(),
            // The root is a module too.
            modules: vec![String::new()],
            mismatch: StateDictMismatch::default(),
        }
    }

    /// Adds a module to the module tree.
    pub(crate) fn module(&mut self, path: impl Into<String>) {
        self.modules.push(path.into());
    }

    /// The transform of the linear layer at that path.
    pub(crate) fn transform(&mut self, path: &str) -> Option<LayerTransform> {
        self.transforms.take(path)
    }

    /// Reserves the next positions in the state dict for parameters that are drawn later.
    pub(crate) fn reserve(&mut self, names: impl IntoIterator<Item = String>) {
        self.entries
            .extend(names.into_iter().map(|name| (name, None)));
    }

    /// Draws values that NNx draws and discards, so that the later draws are NNx's.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn discard(&mut self, shape: &[usize], init: Init) -> Result<()> {
        if let ParamSource::Random(generator) = &mut self.source {
            init.draw(shape, generator)?;
        }
        Ok(())
    }

    /// The next parameter, float32. A parameter that the state dict does not have is returned empty,
    /// and [`finish`](Self::finish) reports it.
    ///
    /// # Errors
    /// When there is no memory for it, its values have a dtype that is not supported, or the state
    /// dict lacks more names than are reported.
    pub(crate) fn parameter(&mut self, name: String, shape: &[usize], init: Init) -> Result<Var> {
        let var = match &mut self.source {
            ParamSource::Random(generator) => {
                Var::from_vec(init.draw(shape, generator)?, shape, &self.device)?
            }
            ParamSource::StateDict(values) => {
                match fitting(values.get(name.as_str()), &name, shape, &mut self.mismatch) {
                    Some(tensor) => {
                        Var::from_tensor(&upcast::to_float32(tensor)?.to_device(&self.device)?)?
                    }
                    // A shape that no tensor of the file has must not allocate memory.
                    None => Var::zeros(0, DType::F32, &self.device)?,
                }
            }
        };
        self.register(name, var.clone())?;
        Ok(var)
    }

    /// Another name of a parameter. If the state dict has different values under the two names, the
    /// value under this name is used: PyTorch copies it last.
    ///
    /// # Errors
    /// When the values have a dtype that is not supported.
    pub(crate) fn tie(&mut self, name: String, of: &str, var: &Var, shape: &[usize]) -> Result<()> {
        if let ParamSource::StateDict(values) = &mut self.source {
            let first = values.get(of).copied().flatten();
            let own = fitting(values.get(name.as_str()), &name, shape, &mut self.mismatch);
            if let (Some(first), Some(own)) = (first, own)
                && var.as_tensor().dims() == shape
                && !is_same_view(first, own)
            {
                var.set(&upcast::to_float32(own)?.to_device(&self.device)?)?;
            }
        }
        self.register(name, var.clone())
    }

    fn register(&mut self, name: String, var: Var) -> Result<()> {
        self.entries.insert(name, Some(var));
        if self.mismatch.missing.len() > MOST_MISSING {
            return Err(ErrorKind::WrongWeights(std::mem::take(&mut self.mismatch)).into());
        }
        Ok(())
    }

    /// The parameters in order.
    ///
    /// # Errors
    /// When a transform names a layer that was not built, or the state dict did not have exactly the
    /// parameters that were asked for, each in its shape.
    pub(crate) fn finish(mut self) -> Result<Parameters> {
        self.transforms.finish()?;
        if let ParamSource::StateDict(values) = &mut self.source {
            for name in self.entries.keys() {
                values.shift_remove(name.as_str());
            }
            self.mismatch.unexpected = values.keys().map(|name| (*name).to_owned()).collect();
        }
        if !self.mismatch.is_empty() {
            let index = |name: &String| self.entries.get_index_of(name);
            self.mismatch.missing.sort_by_key(index);
            self.mismatch.not_tensors.sort_by_key(index);
            self.mismatch
                .shape_mismatches
                .sort_by_key(|one| index(&one.name));
            return Err(ErrorKind::WrongWeights(self.mismatch).into());
        }
        let entries = self.entries.into_iter();
        let entries = entries.filter_map(|(name, var)| Some((name, var?)));
        Ok(Parameters::new(entries.collect(), self.modules))
    }
}

/// Whether two tensors are the same elements of the same storage.
fn is_same_view(a: &nnx_checkpoint::Tensor, b: &nnx_checkpoint::Tensor) -> bool {
    a.storage().identity() == b.storage().identity()
        && (a.dtype(), a.offset(), a.strides()) == (b.dtype(), b.offset(), b.strides())
}
