//! One file of `torch.save` for each rank, in which tensors are `DTensor` or `ShardedTensor`.

mod dtensor;
mod sharded_tensor;
mod stem;
mod whole;

use std::path::Path;

use self::dtensor::DTensor;
use self::sharded_tensor::ShardedTensor;
pub(crate) use self::stem::{RankStem, stems};
use self::whole::WholeTensor;
use super::files::{self, RankFiles};
use super::paths::PathPart;
use super::state::State;
use super::torch_file::{TorchFile, key_text};
use crate::error::{DistributedFault, Error, Result, names_in_words};
use crate::open::{OpenOptions, OpenedTorch};
use crate::pickle::{Node, NodeId};
use crate::torch::Layout;
use crate::{CheckpointPart, Format, GlobalRef};

/// Containers within one another that are followed.
const MAX_DEPTH: usize = 64;
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
    let mut join = Join {
        ranks: &ranks,
        state: State::default(),
        flat: Vec::new(),
        path: Vec::new(),
    };
    let roots = ranks.iter().map(|file| file.graph().root());
    let roots: Vec<(usize, NodeId)> = roots.enumerate().collect();
    let world = join.world_of(&roots)?;
    for world in [stem.world(), world].into_iter().flatten() {
        files::check_ranks("the files", &numbers, world)?;
    }
    join.walk("", &roots, 0)?;
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
    let mut state = join.state;
    for (file, (_, name)) in ranks.iter().zip(&listed) {
        state.name_globals(name, file.globals.clone());
    }
    state.notes.push(format!(
        "the tensors are joined from the files of {} ranks; a value that is no tensor, or that every \
         rank has whole, is that of the lowest rank",
        ranks.len()
    ));
    // The part was chosen by the names of the files.
    state.finish(Format::RankPickles, &options.part(CheckpointPart::All))
}

/// What an object of a file is to the join.
enum Piece<'a> {
    DTensor(Box<DTensor<'a>>),
    Sharded(Box<ShardedTensor<'a>>),
    Plain,
    Mapping(Vec<(String, NodeId)>),
    List(Vec<NodeId>),
    Value,
}

struct Join<'a> {
    ranks: &'a [TorchFile],
    state: State,
    /// Names of flat parameters.
    flat: Vec<String>,
    path: Vec<PathPart>,
}

impl<'a> Join<'a> {
    fn piece(&self, rank: usize, id: NodeId) -> Result<Piece<'a>> {
        let Some(file) = self.ranks.get(rank) else {
            return Ok(Piece::Value);
        };
        let graph = file.graph();
        let is_call = graph.object(id).is_some();
        if is_call {
            let info = file.object.tensor_info(id);
            let info = info.map_err(|error| error.in_path(&file.path))?;
            if let Some(info) = info {
                let Layout::Wrapper { class, .. } = info.layout else {
                    return Ok(Piece::Plain);
                };
                return match graph.global(class) {
                    Some((_, "DTensor")) => {
                        Ok(Piece::DTensor(Box::new(DTensor::new(file, &info)?)))
                    }
                    Some((_, "ShardedTensor")) => {
                        Ok(Piece::Sharded(Box::new(ShardedTensor::new(file, &info)?)))
                    }
                    _ => Ok(Piece::Plain),
                };
            }
        }
        let is_mapping = match graph.node(id) {
            Node::Dict(_) => true,
            Node::Object(_) => graph
                .reduce(id)
                .is_some_and(|(callable, _)| callable == ("collections", "OrderedDict")),
            _ => false,
        };
        if is_mapping {
            let pairs = graph.dict_pairs(id).unwrap_or_default();
            if pairs.iter().all(|&(key, _)| key_text(graph, key).is_some()) {
                return Ok(Piece::Mapping(file.pairs(id)));
            }
        }
        if let Node::List(items) = graph.node(id) {
            let holds =
                |&item: &NodeId| matches!(graph.node(item), Node::Dict(_) | Node::Object(_));
            if items.iter().any(holds) {
                return Ok(Piece::List(items.clone()));
            }
        }
        Ok(Piece::Value)
    }

    /// The number of ranks that the tensors speak of.
    fn world_of(&self, values: &[(usize, NodeId)]) -> Result<Option<u64>> {
        let mut world = None;
        let mut waiting: Vec<(usize, NodeId, usize)> =
            values.iter().map(|&(rank, id)| (rank, id, 0)).collect();
        while let Some((rank, id, depth)) = waiting.pop() {
            if depth > MAX_DEPTH {
                continue;
            }
            let deeper = depth.saturating_add(1);
            let found = match self.piece(rank, id)? {
                Piece::DTensor(tensor) => Some(tensor.world()?),
                Piece::Sharded(tensor) => tensor.world(),
                Piece::Mapping(pairs) => {
                    waiting.extend(pairs.into_iter().map(|(_, id)| (rank, id, deeper)));
                    None
                }
                Piece::List(items) => {
                    waiting.extend(items.into_iter().map(|id| (rank, id, deeper)));
                    None
                }
                Piece::Plain | Piece::Value => None,
            };
            world = world.max(found);
        }
        Ok(world)
    }

    /// Joins the values that ranks have under one name.
    fn walk(&mut self, name: &str, values: &[(usize, NodeId)], depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::limit("max_depth", MAX_DEPTH as u64, depth as u64));
        }
        let Some(&(rank, first)) = values.first() else {
            return Ok(());
        };
        let deeper = depth.saturating_add(1);
        let below = |key: &str| {
            if name.is_empty() {
                key.to_owned()
            } else {
                format!("{name}.{key}")
            }
        };
        match self.piece(rank, first)? {
            Piece::DTensor(_) => {
                let mut tensors = Vec::new();
                for &(rank, id) in values {
                    match self.piece(rank, id)? {
                        Piece::DTensor(tensor) => tensors.push(*tensor),
                        _ => return Err(self.disagree(rank, name)),
                    }
                }
                let whole = dtensor::join(&tensors).map_err(|error| error.in_tensor(name))?;
                self.add(name, whole)
            }
            Piece::Sharded(_) => {
                let mut tensors = Vec::new();
                for &(rank, id) in values {
                    match self.piece(rank, id)? {
                        Piece::Sharded(tensor) => tensors.push(*tensor),
                        _ => return Err(self.disagree(rank, name)),
                    }
                }
                if name.ends_with("flat_param") {
                    self.flat.push(name.to_owned());
                    return Ok(());
                }
                let whole =
                    sharded_tensor::join(&tensors).map_err(|error| error.in_tensor(name))?;
                self.add(name, whole)
            }
            Piece::Plain => {
                for &(rank, id) in values {
                    if !matches!(self.piece(rank, id)?, Piece::Plain) {
                        return Err(self.disagree(rank, name));
                    }
                }
                if name.ends_with("flat_param") {
                    self.flat.push(name.to_owned());
                    return Ok(());
                }
                self.lowest(name, rank, first)
            }
            Piece::Mapping(pairs) if !pairs.is_empty() || name.is_empty() => {
                // Every key that a rank has, in the order of the lowest.
                let mut keys: Vec<String> = Vec::new();
                let mut by_rank = Vec::new();
                let mut known = std::collections::HashSet::new();
                for &(rank, id) in values {
                    if let Piece::Mapping(pairs) = self.piece(rank, id)? {
                        for (key, _) in &pairs {
                            if known.insert(key.clone()) {
                                keys.push(key.clone());
                            }
                        }
                        let pairs: std::collections::HashMap<String, NodeId> =
                            pairs.into_iter().collect();
                        by_rank.push((rank, pairs));
                    }
                }
                for key in keys {
                    let values: Vec<(usize, NodeId)> = by_rank
                        .iter()
                        .filter_map(|(rank, pairs)| Some((*rank, *pairs.get(&key)?)))
                        .collect();
                    self.path.push(PathPart::Key(key.clone()));
                    self.walk(&below(&key), &values, deeper)?;
                    self.path.pop();
                }
                Ok(())
            }
            Piece::List(items) => {
                let mut lists = Vec::new();
                for &(rank, id) in values {
                    if let Piece::List(items) = self.piece(rank, id)? {
                        lists.push((rank, items));
                    }
                }
                for index in 0..items.len() {
                    let values: Vec<(usize, NodeId)> = lists
                        .iter()
                        .filter_map(|(rank, items)| Some((*rank, *items.get(index)?)))
                        .collect();
                    let number = i64::try_from(index).unwrap_or(i64::MAX);
                    self.path.push(PathPart::Index(number));
                    self.walk(&below(&index.to_string()), &values, deeper)?;
                    self.path.pop();
                }
                Ok(())
            }
            Piece::Mapping(_) | Piece::Value => self.lowest(name, rank, first),
        }
    }

    fn add(&mut self, name: &str, whole: WholeTensor) -> Result<()> {
        let WholeTensor {
            dtype,
            shape,
            chunks,
        } = whole;
        let path = self.path.clone();
        self.state
            .joined(name, path, dtype, &shape, Box::new(chunks))
    }

    /// Adds a value as a rank has it.
    fn lowest(&mut self, name: &str, rank: usize, id: NodeId) -> Result<()> {
        let Some(file) = self.ranks.get(rank) else {
            return Ok(());
        };
        let value = file.value(id);
        let path = self.path.clone();
        self.state.value(name, path, &value)
    }

    fn disagree(&self, rank: usize, name: &str) -> Error {
        let error = Error::distributed(
            DistributedFault::RanksDisagree,
            "a rank has the tensor in another form than the lowest one: whole, as a DTensor or as a \
             ShardedTensor",
        )
        .in_tensor(name);
        match self.ranks.get(rank) {
            Some(file) => error.in_path(&file.path),
            None => error,
        }
    }
}
