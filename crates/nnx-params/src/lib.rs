//! The typed configurations of NNx.
//!
//! Every class validates on construction, gives its `state()` in Python's exact key order with
//! integers and floats kept apart, and reads it back with `from_state`, keeping keys that this
//! version does not know.

mod config;
mod enums;
mod error;
mod fields;
mod model_spec;
mod monitor_record;
mod monitor_spec;
mod net_descriptor;
mod net_params;
mod nn_checkpoint_transform;
mod nn_conv_params;
mod nn_evaluation_data_point;
mod nn_iteration_data_point;
mod nn_model_params;
mod nn_moe_params;
mod nn_params;
mod nn_transformer_params;
mod nn_vit_params;
mod number;
mod precision_policy;
pub mod python_text;
mod runtime_module;
mod state;
mod task_spec;
mod value;

pub use enums::{Activations, Checkpoints, Devices, Losses, Nets, Optims, Schedulers};
pub use error::{Error, ErrorKind, Result, TextForm};
pub use model_spec::ModelSpec;
pub use monitor_record::{MonitorRecord, MonitorStatus};
pub use monitor_spec::{MonitorMode, MonitorPolicy, MonitorSpec, MonitorSpecBuilder, MonitorSplit};
pub use net_descriptor::NetDescriptor;
pub use net_params::NetParams;
pub use nn_checkpoint_transform::NNCheckpointTransform;
pub use nn_conv_params::{NNConvParams, NNConvParamsBuilder};
pub use nn_evaluation_data_point::{NNEvaluationDataPoint, NNEvaluationDataPointBuilder};
pub use nn_iteration_data_point::NNIterationDataPoint;
pub use nn_model_params::{NNModelParams, NNModelParamsBuilder};
pub use nn_moe_params::{NNMoEParams, NNMoEParamsBuilder};
pub use nn_params::{NNParams, NNParamsBuilder};
pub use nn_transformer_params::{NNTransformerParams, NNTransformerParamsBuilder};
pub use nn_vit_params::{NNViTParams, NNViTParamsBuilder};
pub use number::Number;
pub use precision_policy::{PrecisionFallback, PrecisionMode, PrecisionPolicy};
pub use runtime_module::RuntimeModule;
pub use state::State;
pub use task_spec::{TaskKind, TaskSpec, TaskSpecBuilder};
pub use value::Value;
