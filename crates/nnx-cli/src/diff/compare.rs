//! Compares the tensors that are in both checkpoints.

use nnx::checkpoint::TensorEntry;

use super::differences::{DifferentTensor, Values};
use super::number;
use crate::failure::Failure;
use crate::layout;
use crate::opened::Opened;
use crate::parallel;
use crate::progress::{Progress, Unit};

/// Bytes compared between two steps of the progress bar; a multiple of every element's size.
const STEP: usize = 1 << 22;

/// The tensors in both checkpoints that are not the same bit for bit, in the order of `a`, and the
/// number of tensors that are.
pub(super) fn tensors(
    a: &Opened,
    b: &Opened,
    tolerance: Option<f64>,
) -> Result<(Vec<DifferentTensor>, usize), Failure> {
    let shared: Vec<(&str, &TensorEntry, &TensorEntry)> = a
        .tensors()
        .filter_map(|(name, tensor)| Some((name, tensor, b.entry(name)?)))
        .collect();
    let total = shared.iter().map(|(_, tensor, _)| tensor.byte_len());
    let total = total.fold(0, u64::saturating_add);
    let progress = Progress::new(total, Unit::Bytes, "comparing");
    let pairs = parallel::map(&shared, |&(name, x, y)| {
        let pair = |values| DifferentTensor {
            name: name.to_owned(),
            dtype: [x.dtype(), y.dtype()],
            shape: [x.shape().to_vec(), y.shape().to_vec()],
            layout: [x.layout_name(), y.layout_name()],
            values,
            within_tolerance: is_within(values, tolerance),
        };
        let like =
            (x.dtype(), x.shape(), x.layout_name()) == (y.dtype(), y.shape(), y.layout_name());
        if !like {
            return Ok(Some(pair(None)));
        }
        if x.layout_name() == layout::META {
            return Ok(None);
        }
        let values = values(a, b, name, &progress).map_err(|failure| failure.in_tensor(name))?;
        Ok::<_, Failure>(values.map(|values| pair(Some(values))))
    })?;
    let identical = pairs.iter().filter(|pair| pair.is_none()).count();
    Ok((pairs.into_iter().flatten().collect(), identical))
}

/// The difference between the values of two tensors; `None` if they are the same bit for bit.
fn values(
    a: &Opened,
    b: &Opened,
    name: &str,
    progress: &Progress,
) -> Result<Option<Values>, Failure> {
    let (x, y) = (a.tensor(name)?, b.tensor(name)?);
    let (left, right) = (x.to_bytes()?, y.to_bytes()?);
    let dtype = x.dtype();
    let mut values = Values {
        elements: (left.len() / dtype.size()) as u64,
        elements_different: 0,
        largest_difference: None,
        scales_differ: x.quantizer() != y.quantizer(),
    };
    for (left, right) in left.chunks(STEP).zip(right.chunks(STEP)) {
        if left != right {
            values.add(number::compare(dtype, left, right));
        }
        progress.advance(left.len() as u64);
    }
    let same = values.elements_different == 0 && !values.scales_differ;
    Ok((!same).then_some(values))
}

impl Values {
    fn add(&mut self, (different, largest): (u64, Option<f64>)) {
        self.elements_different += different;
        self.largest_difference = match (self.largest_difference, largest) {
            (Some(a), Some(b)) => Some(number::larger(a, b)),
            (a, b) => a.or(b),
        };
    }
}

/// Whether a difference is within the tolerance. This is possible only for floats, and only if a
/// tolerance is given. A NaN never equals a number.
fn is_within(values: Option<Values>, tolerance: Option<f64>) -> bool {
    match (values, tolerance) {
        (Some(values), Some(tolerance)) if !values.scales_differ => values
            .largest_difference
            .is_some_and(|largest| largest <= tolerance),
        _ => false,
    }
}
