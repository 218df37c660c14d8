//! The classes that a pickle of an `NNCheckpoint` is made of.

use nnx_params::{
    ClassTable, NNCheckpointTransform, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams,
    NNParams, NetParams, PythonClass,
};

/// The class of the lists of NNx's frozen dataclasses, with its module.
pub(super) const IMMUTABLE_LIST: (&str, &str) = (NNParams::MODULE, "_ImmutableList");
/// The class of the metrics of a record, with its module.
pub(super) const FROZEN_METRICS: (&str, &str) = (NNEvaluationDataPoint::MODULE, "_FrozenMetrics");

/// The classes of the fields of an `NNCheckpoint`; their tables name the classes within them.
pub(super) fn tables() -> impl Iterator<Item = &'static ClassTable> {
    let others = [
        NNModelParams::TABLE,
        NNIterationDataPoint::TABLE,
        NNCheckpointTransform::TABLE,
    ];
    NetParams::TABLES.iter().copied().chain(others)
}
