//! The Python modules of NNx's classes, as its pickles name them.

pub(super) const CHECKPOINT: &str = "nnx.nn.params.nn_checkpoint";
pub(super) const MODELS: &str = "nnx.models";
pub(super) const MONITORS: &str = "nnx.monitors";
pub(super) const NN_CONV_PARAMS: &str = "nnx.nn.params.nn_conv_params";
pub(super) const NN_EVALUATION_DATA_POINT: &str = "nnx.nn.params.nn_evaluation_data_point";
pub(super) const NN_ITERATION_DATA_POINT: &str = "nnx.nn.params.nn_iteration_data_point";
pub(super) const NN_MODEL_PARAMS: &str = "nnx.nn.params.nn_model_params";
pub(super) const NN_MOE_PARAMS: &str = "nnx.nn.params.nn_moe_params";
pub(super) const NN_PARAMS: &str = "nnx.nn.params.nn_params";
pub(super) const NN_TRANSFORMER_PARAMS: &str = "nnx.nn.params.nn_transformer_params";
pub(super) const NN_VIT_PARAMS: &str = "nnx.nn.params.nn_vit_params";
pub(super) const PRECISION: &str = "nnx.precision";
pub(super) const TASKS: &str = "nnx.tasks";
