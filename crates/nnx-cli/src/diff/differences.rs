//! The differences between two checkpoints; the JSON form is that of `nnx diff --json`.

use std::path::PathBuf;

use nnx::checkpoint::{Dtype, TensorEntry};
use serde::{Serialize, Serializer};

use crate::arguments::Diff;
use crate::opened::Opened;
use crate::path;

#[derive(Debug, Serialize)]
pub(super) struct Differences {
    #[serde(serialize_with = "path::lossy")]
    pub(super) a: PathBuf,
    #[serde(serialize_with = "path::lossy")]
    pub(super) b: PathBuf,
    pub(super) tolerance: Option<f64>,
    /// Whether nothing differs beyond the tolerance.
    pub(super) same: bool,
    /// The number of tensors that are the same bit for bit.
    pub(super) identical: usize,
    pub(super) only_in_a: Vec<Lone>,
    pub(super) only_in_b: Vec<Lone>,
    /// The tensors in both checkpoints that are not the same bit for bit.
    pub(super) different: Vec<DifferentTensor>,
    /// The largest difference of floats; `None` if no floats differ.
    #[serde(serialize_with = "number")]
    pub(super) largest_difference: Option<f64>,
}

/// A tensor that is in only one of the checkpoints.
#[derive(Debug, Serialize)]
pub(super) struct Lone {
    pub(super) name: String,
    #[serde(serialize_with = "dtype")]
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
}

/// A tensor that is in both checkpoints and differs.
#[derive(Debug, Serialize)]
pub(super) struct DifferentTensor {
    pub(super) name: String,
    #[serde(serialize_with = "dtypes")]
    pub(super) dtype: [Dtype; 2],
    pub(super) shape: [Vec<usize>; 2],
    pub(super) layout: [&'static str; 2],
    #[serde(flatten)]
    pub(super) values: Option<Values>,
    pub(super) within_tolerance: bool,
}

/// The difference between the values of two tensors of the same dtype and shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Values {
    pub(super) elements: u64,
    /// Elements that are not the same bit for bit.
    pub(super) elements_different: u64,
    /// The largest absolute difference; NaN if a number is compared with NaN; `None` if the values
    /// are not floats.
    #[serde(serialize_with = "number")]
    pub(super) largest_difference: Option<f64>,
    /// Whether the scale or the zero point of a quantised tensor differs.
    pub(super) scales_differ: bool,
}

impl Differences {
    /// `compared`: for each tensor of `a` that is also in `b` and differs, the difference; and the
    /// number of equal tensors.
    pub(super) fn new(
        arguments: &Diff,
        a: &Opened,
        b: &Opened,
        (different, identical): (Vec<DifferentTensor>, usize),
    ) -> Self {
        let lone = |of: &Opened, other: &Opened| {
            let lone = of.tensors().filter(|(name, _)| other.entry(name).is_none());
            lone.map(|(name, tensor)| Lone::new(name, tensor))
                .collect::<Vec<_>>()
        };
        let (only_in_a, only_in_b) = (lone(a, b), lone(b, a));
        let largest = different
            .iter()
            .filter_map(|pair| pair.values?.largest_difference);
        Self {
            a: arguments.a.clone(),
            b: arguments.b.clone(),
            tolerance: arguments.tolerance,
            same: only_in_a.is_empty()
                && only_in_b.is_empty()
                && different.iter().all(|pair| pair.within_tolerance),
            identical,
            only_in_a,
            only_in_b,
            largest_difference: largest.reduce(super::number::larger),
            different,
        }
    }
}

impl Lone {
    fn new(name: &str, tensor: &TensorEntry) -> Self {
        Self {
            name: name.to_owned(),
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
        }
    }
}

fn dtype<S: Serializer>(dtype: &Dtype, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}

fn dtypes<S: Serializer>(dtypes: &[Dtype; 2], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(dtypes.map(Dtype::name))
}

/// JSON has no infinities and no NaN: they are texts, as in the states of `nnx inspect`.
fn number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        None => serializer.serialize_none(),
        Some(number) => crate::json::float(*number, serializer),
    }
}
