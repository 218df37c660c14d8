//! Joining what the ranks have under each name.

use std::collections::{HashMap, HashSet};

use super::dtensor::{self, DTensor};
use super::replicas;
use super::sharded_tensor::{self, ShardedTensor};
use super::tensor_search::TensorSearch;
use super::whole::WholeTensor;
use crate::Limits;
use crate::distributed::paths::PathPart;
use crate::distributed::state::State;
use crate::distributed::torch_file::{TorchFile, key_text};
use crate::error::{DistributedFault, Error, Result, shown};
use crate::pickle::{Node, NodeId};
use crate::torch::Layout;

/// Containers within one another that are followed.
const MAX_DEPTH: usize = 64;
/// Bytes that a further way to a value counts beyond its name, as in a listing.
const WAY_BYTES: usize = 128;

/// What an object of a file is to the join.
enum Piece<'a> {
    DTensor(Box<DTensor<'a>>),
    Sharded(Box<ShardedTensor<'a>>),
    Plain,
    Mapping(Vec<(String, NodeId)>),
    /// A list or a tuple with tensors.
    Sequence(Vec<NodeId>),
    Value,
}

impl Piece<'_> {
    fn is_tensor(&self) -> bool {
        matches!(self, Self::DTensor(_) | Self::Sharded(_) | Self::Plain)
    }
}

/// What a rank has under a name.
struct RankPiece<'a> {
    rank: usize,
    id: NodeId,
    piece: Piece<'a>,
}

/// The join of the files of all ranks.
pub(super) struct Join<'a> {
    ranks: &'a [TorchFile],
    limits: &'a Limits,
    searches: Vec<TensorSearch>,
    /// The containers that a way led to.
    visited: HashSet<(usize, NodeId)>,
    /// Bytes that further ways to them take.
    shared_bytes: u64,
    path: Vec<PathPart>,
    pub(super) state: State,
    /// Names of flat parameters.
    pub(super) flat: Vec<String>,
    /// Names of tensors that the ranks have with other values.
    pub(super) differing: Vec<String>,
}

impl<'a> Join<'a> {
    pub(super) fn new(ranks: &'a [TorchFile], state: State, limits: &'a Limits) -> Self {
        Self {
            ranks,
            limits,
            searches: ranks.iter().map(|_| TensorSearch::default()).collect(),
            visited: HashSet::new(),
            shared_bytes: 0,
            path: Vec::new(),
            state,
            flat: Vec::new(),
            differing: Vec::new(),
        }
    }

    /// Joins all that the ranks have.
    ///
    /// # Errors
    /// When the ranks disagree, or have what cannot be joined.
    pub(super) fn walk_roots(&mut self) -> Result<()> {
        let roots: Vec<(usize, NodeId)> = self.roots().collect();
        self.walk("", &roots, 0)
    }

    fn roots(&self) -> impl Iterator<Item = (usize, NodeId)> + use<'a> {
        let roots = self.ranks.iter().map(|file| file.graph().root());
        roots.enumerate()
    }

    fn piece(&mut self, rank: usize, id: NodeId) -> Result<Piece<'a>> {
        let ranks = self.ranks;
        let (Some(file), Some(search)) = (ranks.get(rank), self.searches.get_mut(rank)) else {
            return Ok(Piece::Value);
        };
        let graph = file.graph();
        if graph.object(id).is_some() {
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
                return Ok(Piece::Mapping(file.pairs(id)?));
            }
        }
        let items = match graph.node(id) {
            Node::List(items) => items.as_slice(),
            Node::Tuple(items) => items,
            _ => return Ok(Piece::Value),
        };
        Ok(if search.has_tensors(file, id)? {
            Piece::Sequence(items.to_vec())
        } else {
            Piece::Value
        })
    }

    /// The number of ranks that the tensors speak of.
    ///
    /// # Errors
    /// When a tensor cannot be told.
    pub(super) fn world(&mut self) -> Result<Option<u64>> {
        let mut world = None;
        let mut seen = HashSet::new();
        let mut waiting: Vec<(usize, NodeId)> = self.roots().collect();
        while let Some((rank, id)) = waiting.pop() {
            if !seen.insert((rank, id)) {
                continue;
            }
            let found = match self.piece(rank, id)? {
                Piece::DTensor(tensor) => Some(tensor.world()?),
                Piece::Sharded(tensor) => tensor.world(),
                Piece::Mapping(pairs) => {
                    waiting.extend(pairs.into_iter().map(|(_, id)| (rank, id)));
                    None
                }
                Piece::Sequence(items) => {
                    waiting.extend(items.into_iter().map(|id| (rank, id)));
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
        let mut pieces = Vec::new();
        for &(rank, id) in values {
            let piece = self.piece(rank, id)?;
            pieces.push(RankPiece { rank, id, piece });
        }
        let Some(first) = pieces.first() else {
            return Ok(());
        };
        let (rank, id) = (first.rank, first.id);
        if let Some(other) = pieces.iter().find(|other| !is_alike(first, other)) {
            for of in &pieces {
                if self.has_tensors(of)? {
                    return Err(self.disagree(other.rank, name));
                }
            }
            return self.lowest(name, rank, id);
        }
        if !first.piece.is_tensor() {
            self.count_way(name, rank, id)?;
        }
        let is_flat = first.piece.is_tensor() && name.ends_with("flat_param");
        match &first.piece {
            Piece::Plain | Piece::Sharded(_) if is_flat => {
                self.flat.push(name.to_owned());
                Ok(())
            }
            Piece::DTensor(_) => {
                let tensors = pieces.into_iter().filter_map(|of| match of.piece {
                    Piece::DTensor(tensor) => Some(*tensor),
                    _ => None,
                });
                let tensors: Vec<DTensor<'_>> = tensors.collect();
                let whole = dtensor::join(&tensors).map_err(|error| error.in_tensor(name))?;
                self.add(name, whole)
            }
            Piece::Sharded(_) => {
                let tensors = pieces.into_iter().filter_map(|of| match of.piece {
                    Piece::Sharded(tensor) => Some(*tensor),
                    _ => None,
                });
                let tensors: Vec<ShardedTensor<'_>> = tensors.collect();
                let whole =
                    sharded_tensor::join(&tensors).map_err(|error| error.in_tensor(name))?;
                self.add(name, whole)
            }
            Piece::Plain => {
                let copies = pieces.iter();
                let copies = copies.filter_map(|of| Some((self.ranks.get(of.rank)?, of.id)));
                let are_equal = replicas::compare(copies);
                if !are_equal.map_err(|error| error.in_tensor(name))? {
                    self.differing.push(name.to_owned());
                }
                self.lowest(name, rank, id)
            }
            Piece::Mapping(_) => {
                let keys = keys(&pieces);
                if keys.is_empty() && !name.is_empty() {
                    return self.lowest(name, rank, id);
                }
                for (key, values) in keys {
                    let part = PathPart::Key(key.to_owned());
                    self.walk_part(name, key, part, &values, depth)?;
                }
                Ok(())
            }
            Piece::Sequence(items) => {
                for index in 0..items.len() {
                    let values = pieces.iter().filter_map(|of| match &of.piece {
                        Piece::Sequence(items) => Some((of.rank, *items.get(index)?)),
                        _ => None,
                    });
                    let values: Vec<(usize, NodeId)> = values.collect();
                    let part = PathPart::Index(i64::try_from(index).unwrap_or(i64::MAX));
                    self.walk_part(name, &index.to_string(), part, &values, depth)?;
                }
                Ok(())
            }
            Piece::Value => self.lowest(name, rank, id),
        }
    }

    /// Joins the values of a key or an index.
    fn walk_part(
        &mut self,
        name: &str,
        key: &str,
        part: PathPart,
        values: &[(usize, NodeId)],
        depth: usize,
    ) -> Result<()> {
        let below = if name.is_empty() {
            key.to_owned()
        } else {
            format!("{name}.{key}")
        };
        self.path.push(part);
        self.walk(&below, values, depth.saturating_add(1))?;
        self.path.pop();
        Ok(())
    }

    /// Counts a further way to a container: mappings that share others have many ways to a tensor, and a
    /// name for each.
    fn count_way(&mut self, name: &str, rank: usize, id: NodeId) -> Result<()> {
        if self.visited.insert((rank, id)) {
            return Ok(());
        }
        let bytes = name.len().saturating_add(WAY_BYTES) as u64;
        self.shared_bytes = self.shared_bytes.saturating_add(bytes);
        let (allowed, found) = (self.limits.max_shared_name_bytes, self.shared_bytes);
        if found <= allowed {
            return Ok(());
        }
        Err(Error::limit("max_shared_name_bytes", allowed, found))
    }

    fn has_tensors(&mut self, of: &RankPiece<'_>) -> Result<bool> {
        match (self.ranks.get(of.rank), self.searches.get_mut(of.rank)) {
            (Some(file), Some(search)) => search.has_tensors(file, of.id),
            _ => Ok(false),
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
        let (Some(file), Some(search)) = (self.ranks.get(rank), self.searches.get_mut(rank)) else {
            return Ok(());
        };
        if search.has_pieces(file, id)? {
            return Err(Error::unsupported(format!(
                "the value `{}` has a tensor in pieces below a key that is no text, or in an object, \
                 where it is not joined; save it in mappings, lists and tuples",
                shown(name)
            ))
            .in_path(&file.path));
        }
        let value = file.value(id);
        let path = self.path.clone();
        self.state.value(name, path, &value)
    }

    fn disagree(&self, rank: usize, name: &str) -> Error {
        let error = Error::distributed(
            DistributedFault::RanksDisagree,
            "a rank has another kind of value than the lowest one, or a list of another length, with \
             tensors in them",
        )
        .in_tensor(name);
        match self.ranks.get(rank) {
            Some(file) => error.in_path(&file.path),
            None => error,
        }
    }
}

/// Whether two ranks have the same kind of value.
fn is_alike(a: &RankPiece<'_>, b: &RankPiece<'_>) -> bool {
    match (&a.piece, &b.piece) {
        (Piece::DTensor(_), Piece::DTensor(_))
        | (Piece::Sharded(_), Piece::Sharded(_))
        | (Piece::Plain, Piece::Plain)
        | (Piece::Mapping(_), Piece::Mapping(_))
        | (Piece::Value, Piece::Value) => true,
        (Piece::Sequence(a), Piece::Sequence(b)) => a.len() == b.len(),
        _ => false,
    }
}

/// Every key that a rank has, in the order of the lowest, with the ranks' values.
fn keys<'p>(pieces: &'p [RankPiece<'_>]) -> Vec<(&'p str, Vec<(usize, NodeId)>)> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut keys: Vec<(&str, Vec<(usize, NodeId)>)> = Vec::new();
    for of in pieces {
        let Piece::Mapping(pairs) = &of.piece else {
            continue;
        };
        for (key, id) in pairs {
            let number = *numbers.entry(key).or_insert_with(|| {
                keys.push((key, Vec::new()));
                keys.len().saturating_sub(1)
            });
            if let Some((_, values)) = keys.get_mut(number) {
                values.push((of.rank, *id));
            }
        }
    }
    keys
}
