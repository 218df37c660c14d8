//! Saves of DeepSpeed's ZeRO: the float32 state dict, as `zero_to_fp32.py` makes it.
//!
//! Source: `deepspeed/utils/zero_to_fp32.py` and the writers `engine.py`, `stage_1_and_2.py`,
//! `stage3.py` and `bf16_optimizer.py` of DeepSpeed 0.4 to 0.19.

mod flat;
mod folder;
mod model_states;
mod optim_states;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use indexmap::IndexMap;

use self::flat::{FlatGroup, element_count};
use self::folder::SaveFiles;
pub(super) use self::folder::tag;
pub(crate) use self::folder::{is_latest, is_rank_file, is_save, single_save};
use self::model_states::ModelStates;
use self::optim_states::OptimStates;
use super::files::RankFiles;
use super::paths::PathPart;
use super::state::{State, joined_flat};
use super::torch_file::TorchFile;
use crate::error::{DistributedFault, Error, Result, names_in_words};
use crate::open::{OpenOptions, OpenedTorch};
use crate::tensor::DerivedTensor;
use crate::{CheckpointPart, Dtype, Format, Limits, Storage, Tensor};

/// Names that a note shows.
const SHOWN: usize = 4;

/// Opens a save, or the folder of several whose file `latest` says which one is meant.
///
/// # Errors
/// When ranks are missing, disagree, or do not have what the shapes of the parameters ask for, and
/// when the model was split in ways that only its code knows.
pub(super) fn open(folder: &Path, options: &OpenOptions) -> Result<OpenedTorch> {
    let (save, note) = folder::find(folder)?;
    let files = RankFiles::new(&save);
    let listed = SaveFiles::list(&save)?;
    let mut state = State::default();
    state.notes.extend(note);
    if options.part == CheckpointPart::Optimizer {
        return Err(Error::unsupported(
            "the moments of a ZeRO save are not joined; take the model, or let DeepSpeed write a \
             universal checkpoint (`ds_to_universal`)",
        ));
    }
    if listed.optim.is_empty() {
        return whole_module(&save, &files, &listed, state, options);
    }
    let optim = OptimStates::open(&files, &listed.optim, options)?;
    optim.check()?;
    let model = ModelStates::open(&files, &save, &listed, &optim, options)?;
    for file in model.files.iter().chain(optim.files()) {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        state.name_globals(&name, file.globals.clone());
    }
    let mut tensors = Tensors::default();
    model.buffers(&mut tensors, &options.limits)?;
    model.frozen(&mut tensors)?;
    trained(&model, &optim, &mut tensors)?;
    model.aliases(&mut tensors)?;
    let left = model.left(&tensors)?;
    let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    let names = (!names.is_empty()).then(|| names_in_words(&names, SHOWN));
    // The vendor's script leaves these out as well, but of these saves they have no other source.
    let is_taken = optim.has_frozen_in_module();
    state.notes.extend(names.map(|names| {
        if optim.is_three() {
            format!(
                "{names} have no data of their own in the files, and no other name is known to share \
                 theirs; they are left out"
            )
        } else if is_taken {
            format!("{names} are in the module alone, and have its dtype")
        } else {
            format!(
                "{names} are in the module alone, in the dtype of the training, and left out; the file \
                 `mp_rank_00_model_states.pt` has them"
            )
        }
    }));
    if is_taken {
        for (name, tensor) in left {
            tensors.add(&name, tensor)?;
        }
    }
    for (name, tensor) in &tensors.by_name {
        state.tensor(name, PathPart::top(name), tensor)?;
    }
    state.notes.push(format!(
        "the float32 state of {} is joined from {} ranks; the state of the optimizer is left out",
        optim.stage_in_words(),
        optim.world()
    ));
    state.finish(Format::DeepSpeedZero, options.nested)
}

/// Tensors by their names, in their order.
#[derive(Debug, Default)]
pub(super) struct Tensors {
    by_name: IndexMap<String, Tensor>,
}

impl Tensors {
    /// Adds a tensor.
    ///
    /// # Errors
    /// When there is one of its name.
    fn add(&mut self, name: &str, tensor: Tensor) -> Result<()> {
        if self.by_name.insert(name.to_owned(), tensor).is_none() {
            return Ok(());
        }
        Err(Error::distributed(
            DistributedFault::DuplicatePath,
            "the parameter is in two groups",
        )
        .in_tensor(name))
    }

    fn get(&self, name: &str) -> Option<&Tensor> {
        self.by_name.get(name)
    }
}

/// Stage 0: nothing was split, and the one file has it all.
fn whole_module(
    save: &Path,
    files: &RankFiles,
    listed: &SaveFiles,
    mut state: State,
    options: &OpenOptions,
) -> Result<OpenedTorch> {
    let missing = || {
        Error::distributed(
            DistributedFault::MissingRank,
            "the folder has no file `…_optim_states.pt`, so that no rank's state is there",
        )
        .in_path(save)
    };
    let [(_, only)] = listed.model.as_slice() else {
        return Err(missing());
    };
    let file = TorchFile::open(files, &save.join(only), options)?;
    if file.get("param_shapes").is_some() {
        return Err(missing());
    }
    let module = file.get("module").ok_or_else(missing)?;
    for (name, value) in file.pairs(module)? {
        let path = PathPart::top(&name);
        match file.tensor(value)? {
            Some(tensor) => state.tensor(&name, path, &tensor)?,
            None => state.value(&name, path, &file.value(value))?,
        }
    }
    state.name_globals(only, file.globals);
    state.finish(Format::DeepSpeedZero, options.nested)
}

/// The parameters that were trained: parts of the flat groups of all ranks.
fn trained(model: &ModelStates, optim: &OptimStates, tensors: &mut Tensors) -> Result<()> {
    let (shapes, groups) = optim.matched(&model.shapes)?;
    let world = optim.world();
    for (number, (shapes, ranks)) in shapes.iter().zip(&groups).enumerate() {
        let dtype = optim.dtype_of(ranks, number)?;
        let padding = optim.paddings(number, shapes.len())?;
        let unfit = |what: String| {
            Error::distributed(
                DistributedFault::SizeMismatch,
                format!("parameter group {number}: {what}"),
            )
        };
        let mut at = 0usize;
        if optim.is_three() {
            let len = ranks.first().map_or(0, FlatGroup::len);
            if ranks.iter().any(|rank| rank.len() != len) {
                return Err(unfit(
                    "the ranks have flat groups of different lengths".to_owned(),
                ));
            }
            for (name, shape) in shapes {
                let count = element_count(shape).map_err(|error| error.in_tensor(name))?;
                let part = count.div_ceil(world);
                let mut chunks = Vec::new();
                let mut left = count;
                for rank in ranks {
                    let now = part.min(left);
                    rank.cut(at, now, count.saturating_sub(left), &mut chunks)
                        .ok_or_else(|| {
                            unfit(format!(
                                "expected {part} elements of a part at element {at}, found a group \
                                 of {len}"
                            ))
                            .in_tensor(name)
                        })?;
                    left = left.saturating_sub(now);
                }
                tensors.add(name, joined_flat(dtype, shape, chunks)?)?;
                at = at.saturating_add(part);
            }
            if at != len {
                return Err(unfit(format!(
                    "the parameters take {at} elements of each rank, the flat group has {len}"
                )));
            }
            continue;
        }
        let total = ranks
            .iter()
            .fold(0usize, |sum, rank| sum.saturating_add(rank.len()));
        let whole = FlatGroup::concatenated(ranks);
        for ((name, shape), padding) in shapes.iter().zip(padding) {
            let count = element_count(shape).map_err(|error| error.in_tensor(name))?;
            let mut chunks = Vec::new();
            whole.cut(at, count, 0, &mut chunks).ok_or_else(|| {
                unfit(format!(
                    "expected {count} elements at element {at}, found {total} in all partitions"
                ))
                .in_tensor(name)
            })?;
            tensors.add(name, joined_flat(dtype, shape, chunks)?)?;
            at = at.saturating_add(count).saturating_add(padding);
        }
        // What is left is padding to twice the number of ranks.
        let align = world.saturating_mul(2);
        if at.div_ceil(align) != total.div_ceil(align) {
            return Err(unfit(format!(
                "the parameters take {at} elements, all partitions have {total}"
            )));
        }
    }
    Ok(())
}

/// The elements as float32, as the vendor's script has buffers.
fn as_float32(tensor: &Tensor, limits: &Limits) -> Result<Tensor> {
    if !tensor.dtype().is_floating_point() || tensor.dtype() == Dtype::Float32 {
        return Ok(tensor.clone());
    }
    let derived = DerivedTensor::new(tensor.clone(), Dtype::Float32, limits)?;
    Tensor::contiguous(
        Dtype::Float32,
        tensor.shape(),
        Storage::from_derived(derived),
    )
}

/// A place in a storage, by which two names are told to be one tensor.
type ViewOf = (usize, usize, Vec<usize>, Vec<usize>);

fn view_of(tensor: &Tensor) -> ViewOf {
    (
        tensor.storage().identity(),
        tensor.offset(),
        tensor.shape().to_vec(),
        tensor.strides().to_vec(),
    )
}

/// Names that share the place of a name with data, each with that name.
fn tied(module: &[(String, Tensor)], with_data: &HashSet<&str>) -> Vec<(String, String)> {
    let known: HashMap<ViewOf, &str> = module
        .iter()
        .filter(|(name, tensor)| with_data.contains(name.as_str()) && tensor.elements() > 0)
        .map(|(name, tensor)| (view_of(tensor), name.as_str()))
        .collect();
    let without = module
        .iter()
        .filter(|(name, _)| !with_data.contains(name.as_str()));
    without
        .filter_map(|(name, tensor)| {
            Some((name.clone(), (*known.get(&view_of(tensor))?).to_owned()))
        })
        .collect()
}
