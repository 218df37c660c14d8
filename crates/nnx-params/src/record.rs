//! The records of a training: metrics of evaluations, iterations, and the choice of the best epoch.

mod labels;
mod monitor_record;
mod monitor_spec;
mod nn_evaluation_data_point;
mod nn_iteration_data_point;

pub use labels::{Average, ConfusionCounts, Indicators, Labels, Scores};
pub use monitor_record::{MonitorRecord, MonitorStatus};
pub use monitor_spec::{MonitorMode, MonitorPolicy, MonitorSpec, MonitorSpecBuilder, MonitorSplit};
pub use nn_evaluation_data_point::{NNEvaluationDataPoint, NNEvaluationDataPointBuilder};
pub use nn_iteration_data_point::NNIterationDataPoint;
