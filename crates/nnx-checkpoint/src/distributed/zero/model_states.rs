//! The model states: the module in the training dtype, the shapes of its parameters, and what was not
//! trained.

use std::collections::HashSet;
use std::path::Path;

use super::flat::{FlatGroup, element_count};
use super::folder::SaveFiles;
use super::optim_states::{OptimStates, Shapes};
use super::{Tensors, as_float32, tied};
use crate::distributed::files::{self, RankFiles};
use crate::distributed::state::joined_flat;
use crate::distributed::torch_file::{TorchFile, shape};
use crate::error::{DistributedFault, Error, Result};
use crate::open::OpenOptions;
use crate::pickle::NodeId;
use crate::{Limits, Tensor};

/// The model states: one file, or one for each rank in stage 3.
#[derive(Debug)]
pub(super) struct ModelStates {
    pub(super) files: Vec<TorchFile>,
    pub(super) shapes: Vec<Shapes>,
    is_three: bool,
}

impl ModelStates {
    /// Opens the files.
    ///
    /// # Errors
    /// When there is not one for each rank that has one, or the first has no shapes.
    pub(super) fn open(
        files: &RankFiles,
        save: &Path,
        listed: &SaveFiles,
        optim: &OptimStates,
        options: &OpenOptions,
    ) -> Result<Self> {
        let is_three = optim.is_three();
        let (names, world) = if is_three {
            (&listed.rank_models, optim.world())
        } else {
            (&listed.model, 1)
        };
        let numbers: Vec<u64> = names.iter().map(|(rank, _)| *rank).collect();
        files::check_ranks(
            "the model states (`…_model_states.pt`)",
            &numbers,
            world as u64,
        )
        .map_err(|error| error.in_path(save))?;
        let mut opened = Vec::new();
        for (_, name) in names {
            opened.push(TorchFile::open(files, &files.path(name)?, options)?);
        }
        let shapes = {
            let first = opened.first();
            let in_model = first.and_then(|file| Some((file, file.get("param_shapes")?)));
            let (file, node) = in_model.or_else(|| optim.shapes()).ok_or_else(|| {
                Error::malformed("expected the shapes of the parameters, found none").in_path(save)
            })?;
            shapes_of(file, node)?
        };
        Ok(Self {
            files: opened,
            shapes,
            is_three,
        })
    }

    fn first(&self) -> Result<&TorchFile> {
        let missing = || Error::distributed(DistributedFault::MissingRank, "no model states");
        self.files.first().ok_or_else(missing)
    }

    /// The tensors of the module, in the dtype of the training.
    fn module(&self) -> Result<Vec<(String, Tensor)>> {
        let file = self.first()?;
        let Some(module) = file.get("module") else {
            return Ok(Vec::new());
        };
        let mut tensors = Vec::new();
        for (name, value) in file.pairs(module)? {
            if let Some(tensor) = file.tensor(value)? {
                tensors.push((name, tensor));
            }
        }
        Ok(tensors)
    }

    /// Adds the buffers; those of floats as float32.
    pub(super) fn buffers(&self, tensors: &mut Tensors, limits: &Limits) -> Result<()> {
        let file = self.first()?;
        let graph = file.graph();
        let names = file.get("buffer_names");
        let names = names.and_then(|names| graph.sequence(names));
        for &name in names.unwrap_or_default() {
            let Some(name) = graph.text(name) else {
                continue;
            };
            let module = file.get("module");
            let value = module.and_then(|module| graph.get(module, name));
            let value = value.ok_or_else(|| {
                Error::malformed("the file names a buffer that its module does not have")
                    .in_tensor(name)
                    .in_path(&file.path)
            })?;
            let tensor = file.expect_tensor(value, "a buffer")?;
            tensors.add(name, as_float32(&tensor, limits)?)?;
        }
        Ok(())
    }

    /// Adds the parameters that were not trained.
    pub(super) fn frozen(&self, tensors: &mut Tensors) -> Result<()> {
        let file = self.first()?;
        let Some(shapes) = file.get("frozen_param_shapes") else {
            return Ok(());
        };
        for (name, node) in file.pairs(shapes)? {
            let shape = sizes(file, node).map_err(|error| error.in_tensor(&name))?;
            let tensor = self
                .frozen_parameter(&name, &shape)
                .map_err(|error| error.in_tensor(&name))?;
            tensors.add(&name, tensor)?;
        }
        Ok(())
    }

    fn frozen_parameter(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let mut fragments = Vec::new();
        for file in &self.files {
            let all = file.get("frozen_param_fragments");
            let fragment = all.and_then(|all| file.graph().get(all, name));
            let fragment = fragment.ok_or_else(|| {
                Error::distributed(
                    DistributedFault::SizeMismatch,
                    "a parameter that was not trained has a shape and no elements",
                )
                .in_path(&file.path)
            })?;
            fragments.push(file.expect_tensor(fragment, "a parameter")?);
        }
        let unfit = |found: &[usize]| {
            Error::distributed(
                DistributedFault::SizeMismatch,
                format!(
                    "expected a parameter of shape {shape:?} that was not trained, found elements of \
                     shape {found:?}"
                ),
            )
        };
        let Some(first) = fragments.first() else {
            return Err(unfit(&[]));
        };
        if !self.is_three {
            return if first.shape() == shape {
                Ok(first.clone())
            } else {
                Err(unfit(first.shape()))
            };
        }
        let count = element_count(shape)?;
        let part = count.div_ceil(self.files.len().max(1));
        let mut chunks = Vec::new();
        let mut left = count;
        for fragment in &fragments {
            // What is behind the last element was never set.
            let now = part.min(left);
            let is_flat = fragment.shape().len() == 1 && fragment.dtype() == first.dtype();
            let at = count.saturating_sub(left);
            let cut = FlatGroup::new(fragment.clone()).cut(0, now, at, &mut chunks);
            if !is_flat || cut.is_none() {
                return Err(unfit(fragment.shape()));
            }
            left = left.saturating_sub(now);
        }
        joined_flat(first.dtype(), shape, chunks)
    }

    /// Gives each name that shares its tensor with another one that tensor.
    pub(super) fn aliases(&self, tensors: &mut Tensors) -> Result<()> {
        let file = self.first()?;
        let graph = file.graph();
        let pairs: Vec<(String, String)> = match file.get("shared_params") {
            Some(shared) => {
                let pairs = file.pairs(shared)?.into_iter();
                pairs
                    .filter_map(|(alias, name)| Some((alias, graph.text(name)?.to_owned())))
                    .collect()
            }
            // To DeepSpeed 0.9: one storage under two names.
            None if !self.is_three => {
                let module = self.module()?;
                let with_data: HashSet<&str> = tensors.by_name.keys().map(String::as_str).collect();
                tied(&module, &with_data)
            }
            None => Vec::new(),
        };
        for (alias, name) in pairs {
            // What has values of its own keeps them.
            if tensors.get(&alias).is_none()
                && let Some(tensor) = tensors.get(&name).cloned()
            {
                tensors.add(&alias, tensor)?;
            }
        }
        Ok(())
    }

    /// What the module has and no other source.
    pub(super) fn left(&self, tensors: &Tensors) -> Result<Vec<(String, Tensor)>> {
        let mut module = self.module()?;
        module.retain(|(name, _)| tensors.get(name).is_none());
        Ok(module)
    }
}

/// The shapes of the parameters of each group.
fn shapes_of(file: &TorchFile, node: NodeId) -> Result<Vec<Shapes>> {
    let graph = file.graph();
    // DeepSpeed 0.4 has one mapping.
    let groups = match graph.sequence(node) {
        Some(groups) => groups.to_vec(),
        None => vec![node],
    };
    let mut all = Vec::new();
    for group in groups {
        let mut shapes = Vec::new();
        for (name, node) in file.pairs(group)? {
            let shape = sizes(file, node).map_err(|error| error.in_tensor(&name))?;
            shapes.push((name, shape));
        }
        all.push(shapes);
    }
    Ok(all)
}

fn sizes(file: &TorchFile, node: NodeId) -> Result<Vec<usize>> {
    let sizes = shape(file.graph(), node).and_then(|sizes| {
        let sizes = sizes.into_iter().map(|size| usize::try_from(size).ok());
        sizes.collect::<Option<Vec<usize>>>()
    });
    sizes.ok_or_else(|| {
        Error::malformed(format!(
            "expected the shape of a parameter, got {}",
            file.graph().describe(node)
        ))
        .in_path(&file.path)
    })
}
