//! One file of `torch.save` for each rank, in which tensors are `DTensor` or `ShardedTensor`.

mod dtensor;
mod join;
mod replicas;
mod sharded_tensor;
mod stem;
mod tensor_search;
mod whole;

use std::path::Path;

use self::join::Join;
pub(crate) use self::stem::{RankStem, stems};
use super::files::{self, RankFiles};
use super::state::State;
use super::torch_file::TorchFile;
use crate::error::{DistributedFault, Error, Result, names_in_words};
use crate::open::{OpenOptions, OpenedTorch};
use crate::{CheckpointPart, Format, GlobalRef};

/// Names that an error shows.
const SHOWN: usize = 4;

/// Whether a file with these names in its pickle has pieces of tensors.
pub(crate) fn has_pieces(globals: &[GlobalRef]) -> bool {
    globals.iter().any(|global| {
        matches!(global.name.as_str(), "DTensor" | "ShardedTensor")
            && global.module.starts_with("torch.distributed.")
    })
}

/// Opens the files of one stem together.
///
/// # Errors
/// When ranks are missing or disagree, values would have to be added, or a module's parameters are
/// one flat tensor.
pub(super) fn open(folder: &Path, stem: &RankStem, options: &OpenOptions) -> Result<OpenedTorch> {
    let files = RankFiles::new(folder);
    let (names, _) = files::names(folder)?;
    let listed = stem.files(&names);
    let mut ranks = Vec::new();
    for (_, name) in &listed {
        ranks.push(TorchFile::open(&files, &folder.join(name), options)?);
    }
    let numbers: Vec<u64> = listed.iter().map(|(rank, _)| *rank).collect();
    let part = options.part;
    if part == CheckpointPart::Model && stem.is_optimizer() {
        return Err(no_part("a model", stem));
    }
    // The whole of an optimizer's files is of that part.
    let state = if stem.is_optimizer() {
        State::default()
    } else {
        State::new(part)
    };
    let mut join = Join::new(&ranks, state, &options.limits);
    let stated = [stem.world(), join.world()?];
    // Where nothing states the number of ranks, none may be missing between those that are there.
    let least = numbers.last().map(|last| last.saturating_add(1));
    for world in stated.into_iter().flatten().chain(least) {
        files::check_ranks("the files", &numbers, world)?;
    }
    join.walk_roots()?;
    if !join.flat.is_empty() {
        let names: Vec<&str> = join.flat.iter().map(String::as_str).collect();
        return Err(Error::distributed(
            DistributedFault::FsdpFlatParameters,
            format!(
                "{} hold all parameters of a module one behind the other; only the model's code \
                 knows their names and shapes: load them with it, and save a full or a sharded \
                 state dict (`StateDictType.SHARDED_STATE_DICT`)",
                names_in_words(&names, SHOWN)
            ),
        ));
    }
    let differing = join.differing;
    let mut state = join.state;
    if part == CheckpointPart::Optimizer && state.is_empty() {
        return Err(no_part("an optimizer", stem));
    }
    for (file, (_, name)) in ranks.iter().zip(&listed) {
        state.name_globals(name, file.globals.clone());
    }
    state.notes.push(format!(
        "the tensors are joined from the files of {} ranks; a value that is no tensor, or that every \
         rank has whole, is that of the lowest rank",
        ranks.len()
    ));
    if !differing.is_empty() {
        let names: Vec<&str> = differing.iter().map(String::as_str).collect();
        state.notes.push(format!(
            "the ranks have other values of {}; those of the lowest rank are taken",
            names_in_words(&names, SHOWN)
        ));
    }
    state.finish(Format::RankPickles, options.nested)
}

#[cold]
fn no_part(what: &str, stem: &RankStem) -> Error {
    Error::unsupported(format!(
        "expected the files of {what}, found `{}` without it; leave the part out, or give a file of \
         it",
        stem.in_words()
    ))
}
