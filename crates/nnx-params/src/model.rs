//! The parts of a model beside the parameters of its net: the builder of the net, the task and the
//! precision, later changes of the net, and the tokenizer.

mod net_descriptor;
mod nn_checkpoint_transform;
mod nn_model_params;
mod nn_tokenizer_params;
mod precision_policy;
mod task_spec;

pub use net_descriptor::NetDescriptor;
pub use nn_checkpoint_transform::NNCheckpointTransform;
pub use nn_model_params::{NNModelParams, NNModelParamsBuilder};
pub use nn_tokenizer_params::NNTokenizerParams;
pub use precision_policy::{PrecisionFallback, PrecisionMode, PrecisionPolicy};
pub use task_spec::{TaskKind, TaskSpec, TaskSpecBuilder};
