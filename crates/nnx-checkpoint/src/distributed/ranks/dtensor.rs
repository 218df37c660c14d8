//! `DTensor`: the elements of a rank, and by which placements on a mesh they are of the whole.
//!
//! Source: `torch/distributed/tensor/placement_types.py` and `device_mesh.py`.

use std::collections::HashSet;

use super::whole::WholeTensor;
use crate::Dtype;
use crate::Tensor;
use crate::distributed::cover::{ChunkBox, product, signed};
use crate::distributed::torch_file::{TorchFile, attribute, attribute_of_state, shape};
use crate::error::{DistributedFault, Error, Result};
use crate::pickle::{Graph, NodeId};
use crate::tensor::TensorChunk;
use crate::torch::TensorInfo;

/// Pieces that a strided split may make along one dimension.
const MAX_RUNS: usize = 1 << 16;
/// Ranks of a mesh.
const MAX_MESH_BYTES: usize = 1 << 24;

/// What one rank has of a tensor.
pub(super) struct DTensor<'a> {
    file: &'a TorchFile,
    dtype: Dtype,
    shape: Vec<usize>,
    local: Tensor,
    placements: Vec<Placement>,
    mesh: NodeId,
}

/// How a tensor is on one dimension of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Placement {
    Replicate,
    /// Each rank has a part along a dimension.
    Shard(usize),
    /// The dimension is cut in so many pieces, and each of them is split.
    StridedShard(usize, usize),
    /// The values of the ranks are to be added.
    Partial,
}

/// Consecutive places along a dimension: the first, and how many.
type Run = (usize, usize);

impl<'a> DTensor<'a> {
    pub(super) fn new(file: &'a TorchFile, info: &TensorInfo) -> Result<Self> {
        let graph = file.graph();
        let unfit = |what: &str| {
            Error::malformed(format!("expected a DTensor, found one without its {what}"))
                .in_path(&file.path)
        };
        let state = info.attributes.ok_or_else(|| unfit("state"))?;
        let local = attribute_of_state(graph, state, "_local_tensor");
        let local = local.ok_or_else(|| unfit("local tensor"))?;
        let spec = attribute_of_state(graph, state, "_spec").ok_or_else(|| unfit("spec"))?;
        let mesh = attribute(graph, spec, "mesh").ok_or_else(|| unfit("mesh"))?;
        let placements = attribute(graph, spec, "placements");
        let placements = placements.and_then(|placements| {
            let all = graph.sequence(placements)?.iter();
            all.map(|&one| placement(graph, one)).collect()
        });
        Ok(Self {
            file,
            dtype: info.dtype,
            shape: info.shape.clone(),
            local: file.expect_tensor(local, "the local tensor of a DTensor")?,
            placements: placements.ok_or_else(|| unfit("placements"))?,
            mesh,
        })
    }

    fn graph(&self) -> &'a Graph {
        self.file.graph()
    }

    fn unfit(&self, what: &str) -> Error {
        Error::malformed(format!("expected the mesh of a DTensor, found one {what}"))
            .in_path(&self.file.path)
    }

    /// The number of ranks: one more than the largest of the mesh.
    pub(super) fn world(&self) -> Result<u64> {
        let graph = self.graph();
        let attribute =
            |name: &str| attribute(graph, self.mesh, name).filter(|&id| !graph.is_none(id));
        let ranks = match (
            attribute("mesh"),
            attribute("_flatten_rank_map"),
            attribute("_rank_map"),
        ) {
            (Some(mesh), _, _) | (None, None, Some(mesh)) => self.integers(mesh)?,
            (None, Some(map), _) => shape(graph, map).ok_or_else(|| self.unfit("without ranks"))?,
            (None, None, None) => return Err(self.unfit("without ranks")),
        };
        let largest = ranks
            .into_iter()
            .max()
            .and_then(|rank| u64::try_from(rank).ok());
        largest
            .and_then(|rank| rank.checked_add(1))
            .ok_or_else(|| self.unfit("without ranks"))
    }

    /// The elements of a tensor of integers.
    fn integers(&self, id: NodeId) -> Result<Vec<i64>> {
        let tensor = self.file.expect_tensor(id, "the ranks of a mesh")?;
        if tensor.byte_len() > MAX_MESH_BYTES {
            return Err(self.unfit("of millions of ranks"));
        }
        let bytes = tensor.to_bytes()?;
        let (fours, eights) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
        match tensor.dtype() {
            Dtype::Int32 => Ok(fours
                .iter()
                .map(|&b| i32::from_le_bytes(b).into())
                .collect()),
            Dtype::Int64 => Ok(eights.iter().map(|&b| i64::from_le_bytes(b)).collect()),
            _ => Err(self.unfit("whose ranks are no integers")),
        }
    }

    /// The sizes of the mesh.
    fn mesh_shape(&self) -> Result<Vec<usize>> {
        let graph = self.graph();
        let present =
            |id: NodeId, name: &str| attribute(graph, id, name).filter(|&id| !graph.is_none(id));
        // To PyTorch 2.9.
        if let Some(mesh) = present(self.mesh, "mesh") {
            let mesh = self.file.expect_tensor(mesh, "the ranks of a mesh")?;
            return Ok(mesh.shape().to_vec());
        }
        let sizes = || {
            let layout = present(self.mesh, "_layout")?;
            // From PyTorch 2.13.
            if let Some(axes) = present(layout, "axes") {
                let axes = graph.sequence(axes)?.iter();
                return axes
                    .map(|&axis| nested_product(graph, attribute(graph, axis, "shape")?))
                    .collect::<Option<Vec<usize>>>();
            }
            let sizes = attribute(graph, layout, "shape")?;
            match graph.sequence(sizes) {
                Some(sizes) => sizes
                    .iter()
                    .map(|&size| nested_product(graph, size))
                    .collect(),
                None => Some(vec![nested_product(graph, sizes)?]),
            }
        };
        sizes().ok_or_else(|| self.unfit("without sizes"))
    }

    /// Where on the mesh the rank is; none where it is not on it.
    fn coordinates(&self) -> Result<Option<Vec<usize>>> {
        let graph = self.graph();
        let coordinates = attribute(graph, self.mesh, "_coordinate_on_dim");
        let coordinates = coordinates.ok_or_else(|| self.unfit("without the rank's place"))?;
        if graph.is_none(coordinates) {
            return Ok(None);
        }
        let all = graph.sequence(coordinates).and_then(|all| {
            let all = all.iter().map(|&one| usize::try_from(graph.int(one)?).ok());
            all.collect::<Option<Vec<usize>>>()
        });
        all.map(Some)
            .ok_or_else(|| self.unfit("without the rank's place"))
    }

    /// The places of the whole that the rank has, along each dimension and in their order.
    fn places(&self, coordinates: &[usize]) -> Result<Vec<Vec<Run>>> {
        let sizes = self.mesh_shape()?;
        let mut places: Vec<Vec<Run>> = self.shape.iter().map(|&size| vec![(0, size)]).collect();
        if sizes.len() != self.placements.len() || coordinates.len() != sizes.len() {
            return Err(self.unfit("of another number of dimensions than placements"));
        }
        for ((&size, &coordinate), placement) in sizes.iter().zip(coordinates).zip(&self.placements)
        {
            let dim = match placement {
                Placement::Replicate => continue,
                Placement::Partial => {
                    return Err(Error::distributed(
                        DistributedFault::PartialPlacement,
                        "the values of the ranks would have to be added (`Partial`); redistribute \
                         the tensor before it is saved",
                    ));
                }
                Placement::Shard(dim) | Placement::StridedShard(dim, _) => *dim,
            };
            let runs = places
                .get_mut(dim)
                .ok_or_else(|| self.unfit("whose split is along a dimension that is not there"))?;
            *runs = match placement {
                Placement::StridedShard(_, factor) => {
                    // Each piece is cut out of all runs.
                    if factor.saturating_mul(runs.len()) > MAX_RUNS {
                        return Err(Error::distributed(
                            DistributedFault::Limit,
                            format!(
                                "a dimension of {} runs in {factor} strided pieces",
                                runs.len()
                            ),
                        ));
                    }
                    let pieces = (0..*factor).map(|piece| cut(runs, *factor, piece));
                    pieces
                        .flat_map(|piece| cut(&piece, size, coordinate))
                        .collect()
                }
                _ => cut(runs, size, coordinate),
            };
            merge(runs);
        }
        Ok(places)
    }
}

/// The elements of all runs.
fn total(runs: &[Run]) -> usize {
    let lens = runs.iter().map(|run| run.1);
    lens.fold(0, usize::saturating_add)
}

/// Piece `number` of `count`, as `torch.chunk` cuts: equal ceilings, the last ones short or empty.
fn cut(runs: &[Run], count: usize, number: usize) -> Vec<Run> {
    let len = total(runs);
    let part = len.div_ceil(count.max(1));
    let (mut skip, mut left) = (part.saturating_mul(number), part);
    let mut cut = Vec::new();
    for &(start, len) in runs {
        let skipped = skip.min(len);
        skip = skip.saturating_sub(skipped);
        let now = len.saturating_sub(skipped).min(left);
        if now > 0 {
            cut.push((start.saturating_add(skipped), now));
        }
        left = left.saturating_sub(now);
    }
    cut
}

/// Joins runs that follow one another.
fn merge(runs: &mut Vec<Run>) {
    let mut merged: Vec<Run> = Vec::new();
    for &(start, len) in runs.iter() {
        match merged.last_mut() {
            Some(last) if last.0.saturating_add(last.1) == start => {
                last.1 = last.1.saturating_add(len);
            }
            _ => merged.push((start, len)),
        }
    }
    *runs = merged;
}

/// A size, or the product of nested sizes.
fn nested_product(graph: &Graph, id: NodeId) -> Option<usize> {
    if let Some(size) = graph.int(id) {
        return usize::try_from(size).ok();
    }
    usize::try_from(product(&shape(graph, id)?)?).ok()
}

fn placement(graph: &Graph, id: NodeId) -> Option<Placement> {
    use crate::pickle::Call;
    let (Call::New { class, args }
    | Call::Reduce {
        callable: class,
        args,
    }) = graph.object(id)?.call
    else {
        return None;
    };
    // `copyreg._reconstructor(class, object, None)` in protocol 2 without slots.
    let class = match graph.global(class)? {
        ("copyreg" | "copy_reg", "_reconstructor") => *graph.sequence(args)?.first()?,
        _ => class,
    };
    let number = |name: &str| {
        let value = attribute(graph, id, name).and_then(|id| graph.int(id))?;
        usize::try_from(value).ok()
    };
    match graph.global(class)?.1 {
        "Replicate" => Some(Placement::Replicate),
        "Shard" => Some(Placement::Shard(number("dim")?)),
        "_StridedShard" => Some(Placement::StridedShard(
            number("dim")?,
            number("split_factor")?.max(1),
        )),
        "Partial" | "_Partial" | "_MaskPartial" => Some(Placement::Partial),
        _ => None,
    }
}

/// The chunks of what all ranks have of a tensor.
///
/// # Errors
/// When the ranks disagree, or do not have what their placements say.
pub(super) fn join(ranks: &[DTensor<'_>]) -> Result<WholeTensor> {
    let Some(first) = ranks.first() else {
        return Err(Error::malformed("a tensor of no rank"));
    };
    let mut seen = HashSet::new();
    let mut boxes = Vec::new();
    let mut chunks = Vec::new();
    for rank in ranks {
        let error = |fault, what: String| Error::distributed(fault, what).in_path(&rank.file.path);
        let form = |of: &DTensor<'_>| (of.dtype, of.shape.clone(), of.placements.clone());
        if form(rank) != form(first) {
            return Err(error(
                DistributedFault::RanksDisagree,
                format!(
                    "the ranks state a tensor of {} of shape {:?} on {:?}, and one of {} of {:?} on \
                     {:?}",
                    first.dtype,
                    first.shape,
                    first.placements,
                    rank.dtype,
                    rank.shape,
                    rank.placements
                ),
            ));
        }
        let Some(coordinates) = rank.coordinates()? else {
            continue;
        };
        let places = rank.places(&coordinates)?;
        let lens: Vec<usize> = places.iter().map(|runs| total(runs)).collect();
        let is_empty = rank.local.elements() == 0 && lens.contains(&0);
        if rank.local.shape() != lens && !is_empty {
            return Err(error(
                DistributedFault::ChunkShape,
                format!(
                    "the rank has a tensor of shape {:?}, by its placements it is of {lens:?}",
                    rank.local.shape()
                ),
            ));
        }
        if rank.local.dtype() != first.dtype {
            return Err(error(
                DistributedFault::ChunkDtype,
                format!(
                    "the rank has {} of a tensor of {}",
                    rank.local.dtype(),
                    first.dtype
                ),
            ));
        }
        // Ranks with equal places are replicas.
        if is_empty || seen.contains(&places) {
            continue;
        }
        add_chunks(&rank.local, &places, &mut boxes, &mut chunks)?;
        seen.insert(places);
    }
    WholeTensor::new(first.dtype, &first.shape, &boxes, chunks)
}

/// A chunk for each combination of runs.
fn add_chunks(
    local: &Tensor,
    places: &[Vec<Run>],
    boxes: &mut Vec<ChunkBox>,
    chunks: &mut Vec<TensorChunk>,
) -> Result<()> {
    let counts = places.iter().map(Vec::len);
    let count = counts.fold(1usize, usize::saturating_mul);
    if count > MAX_RUNS {
        return Err(Error::distributed(
            DistributedFault::Limit,
            format!("the part of a rank in {count} pieces"),
        ));
    }
    for number in 0..count {
        let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
        let (mut rest, mut start) = (number, local.offset());
        for (runs, &stride) in places.iter().zip(local.strides()) {
            let which = rest.checked_rem(runs.len()).unwrap_or(0);
            rest = rest.checked_div(runs.len()).unwrap_or(0);
            let before = total(runs.get(..which).unwrap_or(runs));
            let &(offset, size) = runs.get(which).unwrap_or(&(0, 0));
            start = start.saturating_add(before.saturating_mul(stride));
            offsets.push(offset);
            sizes.push(size);
        }
        let tensor = Tensor::view(
            local.storage().clone(),
            local.dtype(),
            start,
            &sizes,
            local.strides(),
        )?
        .with_lazy_bits(local.is_conj(), local.is_neg())?;
        boxes.push(ChunkBox {
            offsets: signed(&offsets),
            sizes: signed(&sizes),
        });
        chunks.push(TensorChunk { offsets, tensor });
    }
    Ok(())
}
