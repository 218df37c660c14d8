//! How a net is trained: optimizers, schedules of the learning rate, and the training itself.

mod momentum;
mod nn_optim_factory_params;
mod nn_optim_params;
mod nn_param_group_spec;
mod nn_scheduler_params;
mod nn_train_params;
mod nn_trainer_params;
mod optim_params;
mod optimizer_class;
mod training_class;

pub use momentum::Momentum;
pub use nn_optim_factory_params::{NNOptimFactoryParams, NNOptimFactoryParamsBuilder};
pub use nn_optim_params::{NNOptimParams, NNOptimParamsBuilder};
pub use nn_param_group_spec::{NNParamGroupSpec, NNParamGroupSpecBuilder};
pub use nn_scheduler_params::{NNSchedulerParams, NNSchedulerParamsBuilder, SchedulerClock};
pub use nn_train_params::{NNTrainParams, NNTrainParamsBuilder, ResumeEpochs};
pub use nn_trainer_params::{NNTrainerParams, NNTrainerParamsBuilder};
pub use optim_params::OptimParams;
pub use training_class::ResumeMode;
pub(crate) use training_class::is_blank;
