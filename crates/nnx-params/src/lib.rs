//! The typed configurations of NNx.
//!
//! Every class validates on construction, gives its `state()` in Python's exact key order with
//! integers and floats kept apart, and reads it back with `from_state`, keeping keys that this
//! version does not know.
//!
//! The folders of the crate follow the classes: `net` (the parameters of nets), `model`,
//! `training`, `record` (what training records) and `registry` (references to registered code).
//! `class` has the declaration that all of them are written in, `python` the texts of Python.

mod class;
mod enums;
mod error;
mod model;
mod net;
mod number;
mod python;
mod record;
mod registry;
mod repr;
mod run_id;
mod training;
mod value;

pub use class::{ClassTable, PickleForm, PickledInstance, PickledValue, PythonClass};
pub use enums::{Activations, Checkpoints, Devices, Losses, Optims, Schedulers};
pub use error::{Error, ErrorKind, Result, TextForm};
pub use model::*;
pub use net::*;
pub use number::Number;
pub use python::{text as python_text, yaml};
pub use record::*;
pub use registry::{MetricSpec, ModelSpec, OptimizerFactorySpec, RuntimeModule};
pub use run_id::{RunIdentity, run_id, validate_run_id, validate_salt};
pub use training::{
    Momentum, NNOptimFactoryParams, NNOptimFactoryParamsBuilder, NNOptimParams,
    NNOptimParamsBuilder, NNParamGroupSpec, NNParamGroupSpecBuilder, NNSchedulerParams,
    NNSchedulerParamsBuilder, NNTrainParams, NNTrainParamsBuilder, NNTrainerParams,
    NNTrainerParamsBuilder, OptimParams, ResumeEpochs, ResumeMode, SchedulerClock,
};
pub use value::{State, Value};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
