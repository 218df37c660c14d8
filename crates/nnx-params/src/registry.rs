//! References to code that a Python program registered or built itself, which nothing here can run.

mod config;
mod metric_spec;
mod model_spec;
mod optimizer_factory_spec;
mod registered;
mod runtime_module;

pub use metric_spec::MetricSpec;
pub(crate) use metric_spec::{RECORD_METRICS, check_unique, metrics_of};
pub use model_spec::ModelSpec;
pub use optimizer_factory_spec::OptimizerFactorySpec;
pub use runtime_module::RuntimeModule;
