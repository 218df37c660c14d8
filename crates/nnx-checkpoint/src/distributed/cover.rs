//! Whether chunks make a whole: each element of a tensor is in exactly one of them.

use crate::error::{DistributedFault, Error, Result};

/// Pairs of chunks that are compared for one tensor. Chunks of a sound tensor are compared with few
/// others; this keeps a made-up one from taking for ever.
const MAX_COMPARED: u64 = 1 << 27;

/// A box in a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChunkBox {
    pub(super) offsets: Vec<i64>,
    pub(super) sizes: Vec<i64>,
}

impl ChunkBox {
    /// How many elements there are; none where the sizes are negative or their product overflows.
    pub(super) fn elements(&self) -> Option<u64> {
        product(&self.sizes)
    }

    fn overlaps(&self, other: &Self) -> bool {
        let mine = self.offsets.iter().zip(&self.sizes);
        let theirs = other.offsets.iter().zip(&other.sizes);
        // Bounds were checked, so no sum wraps.
        mine.zip(theirs)
            .all(|((&a, &m), (&b, &n))| a < b.saturating_add(n) && b < a.saturating_add(m))
    }
}

/// Sizes as the numbers of a file.
pub(super) fn signed(sizes: &[usize]) -> Vec<i64> {
    let sizes = sizes.iter();
    sizes
        .map(|&size| i64::try_from(size).unwrap_or(i64::MAX))
        .collect()
}

/// The product of sizes; none where one is negative or the product overflows.
pub(super) fn product(sizes: &[i64]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |product, &size| {
        product.checked_mul(u64::try_from(size).ok()?)
    })
}

/// Checks that the chunks of a tensor of that shape cover it, each element once.
///
/// # Errors
/// When a chunk has another number of dimensions or is not within the tensor, two chunks overlap, or
/// elements are in none.
pub(super) fn check(shape: &[i64], chunks: &[ChunkBox]) -> Result<()> {
    for chunk in chunks {
        check_box(shape, chunk)?;
    }
    let whole = product(shape).ok_or_else(|| {
        Error::distributed(
            DistributedFault::Limit,
            format!("the shape {shape:?} has more elements than can be counted"),
        )
    })?;
    // What is empty carries nothing, and may be anywhere.
    let mut full: Vec<&ChunkBox> = chunks
        .iter()
        .filter(|chunk| !chunk.sizes.contains(&0))
        .collect();
    check_disjoint(&mut full)?;
    let counts = full.iter().filter_map(|chunk| chunk.elements());
    let count = counts.fold(0u64, u64::saturating_add);
    if count != whole {
        return Err(Error::distributed(
            DistributedFault::Hole,
            format!(
                "the {} chunks of a tensor of shape {shape:?} have {count} of its {whole} elements",
                full.len()
            ),
        ));
    }
    Ok(())
}

/// Checks that a chunk is within a tensor of that shape.
///
/// # Errors
/// When it is not, or has another number of dimensions.
pub(super) fn check_box(shape: &[i64], chunk: &ChunkBox) -> Result<()> {
    let ChunkBox { offsets, sizes } = chunk;
    if offsets.len() != shape.len() || sizes.len() != shape.len() {
        return Err(Error::distributed(
            DistributedFault::ChunkRank,
            format!(
                "a chunk with the offsets {offsets:?} and the sizes {sizes:?} in a tensor of shape \
                 {shape:?}"
            ),
        ));
    }
    let is_inside = offsets
        .iter()
        .zip(sizes)
        .zip(shape)
        .all(|((&offset, &size), &whole)| {
            let end = offset.checked_add(size);
            offset >= 0 && size >= 0 && end.is_some_and(|end| end <= whole)
        });
    if is_inside {
        return Ok(());
    }
    Err(Error::distributed(
        DistributedFault::ChunkOutside,
        format!(
            "a chunk with the offsets {offsets:?} and the sizes {sizes:?} is not within a tensor of \
             shape {shape:?}"
        ),
    ))
}

/// Checks that no two chunks share an element: in the order of one dimension, each is compared with
/// those that reach to where it begins.
fn check_disjoint(chunks: &mut Vec<&ChunkBox>) -> Result<()> {
    let dims = chunks.first().map_or(0, |chunk| chunk.offsets.len());
    if dims == 0 && chunks.len() > 1 {
        return Err(overlapping(chunks));
    }
    let offset = |chunk: &ChunkBox, dim: usize| chunk.offsets.get(dim).copied().unwrap_or(0);
    let size = |chunk: &ChunkBox, dim: usize| chunk.sizes.get(dim).copied().unwrap_or(0);
    // In the dimension with the most places the fewest are compared.
    let places = |dim: usize| {
        let mut offsets: Vec<i64> = chunks.iter().map(|chunk| offset(chunk, dim)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets.len()
    };
    let Some(dim) = (0..dims).max_by_key(|&dim| places(dim)) else {
        return Ok(());
    };
    chunks.sort_by_key(|chunk| offset(chunk, dim));
    let mut reaching: Vec<&ChunkBox> = Vec::new();
    let mut compared = 0u64;
    for chunk in chunks.iter() {
        let start = offset(chunk, dim);
        reaching.retain(|other| offset(other, dim).saturating_add(size(other, dim)) > start);
        compared = compared.saturating_add(reaching.len() as u64);
        if compared > MAX_COMPARED {
            return Err(Error::distributed(
                DistributedFault::Limit,
                format!(
                    "a tensor in {} chunks, of which too many lie side by side to compare them",
                    chunks.len()
                ),
            ));
        }
        if let Some(other) = reaching.iter().find(|other| chunk.overlaps(other)) {
            return Err(overlapping(&[chunk, other]));
        }
        reaching.push(chunk);
    }
    Ok(())
}

fn overlapping(chunks: &[&ChunkBox]) -> Error {
    let boxes = chunks
        .iter()
        .take(2)
        .map(|chunk| format!("offsets {:?} with sizes {:?}", chunk.offsets, chunk.sizes));
    let boxes: Vec<String> = boxes.collect();
    Error::distributed(
        DistributedFault::OverlappingChunks,
        format!("two chunks share elements: {}", boxes.join(" and ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(shape: &[i64], boxes: &[(&[i64], &[i64])]) -> Option<&'static str> {
        let boxes: Vec<ChunkBox> = boxes
            .iter()
            .map(|(offsets, sizes)| ChunkBox {
                offsets: offsets.to_vec(),
                sizes: sizes.to_vec(),
            })
            .collect();
        check(shape, &boxes).err().map(|error| error.name())
    }

    #[test]
    fn a_cover_is_told_from_what_is_none() {
        assert_eq!(fault(&[], &[(&[], &[])]), None);
        assert_eq!(fault(&[], &[]), Some("hole"));
        assert_eq!(
            fault(&[], &[(&[], &[]), (&[], &[])]),
            Some("overlapping_chunks")
        );
        assert_eq!(fault(&[0, 3], &[]), None);
        assert_eq!(
            fault(&[0, 3], &[(&[0, 0], &[0, 3]), (&[0, 0], &[0, 3])]),
            None
        );
        assert_eq!(
            fault(&[3, 2], &[(&[0, 0], &[3, 1]), (&[0, 1], &[3, 1])]),
            None
        );
        assert_eq!(fault(&[3], &[(&[0], &[3]), (&[3], &[0])]), None);
        assert_eq!(
            fault(&[3], &[(&[0], &[2]), (&[3], &[1])]),
            Some("chunk_outside")
        );
        assert_eq!(fault(&[3], &[(&[0], &[2])]), Some("hole"));
        assert_eq!(
            fault(&[3], &[(&[0], &[2]), (&[1], &[2])]),
            Some("overlapping_chunks")
        );
        assert_eq!(fault(&[3], &[(&[-1], &[2])]), Some("chunk_outside"));
        assert_eq!(fault(&[3], &[(&[i64::MAX], &[2])]), Some("chunk_outside"));
        assert_eq!(fault(&[3], &[(&[0, 0], &[3, 1])]), Some("chunk_rank"));
        assert_eq!(fault(&[1 << 40, 1 << 40], &[]), Some("limit"));
        // Equal volumes, yet one element twice and another one in no chunk.
        let boxes: [(&[i64], &[i64]); 3] =
            [(&[0, 0], &[2, 1]), (&[0, 1], &[1, 1]), (&[0, 0], &[1, 1])];
        assert_eq!(fault(&[2, 2], &boxes), Some("overlapping_chunks"));
    }
}
