//! NNx for Rust: the checkpoints, models and runs of the Python library NNx, without Python.
//!
//! One crate to depend on, with features for its parts. The package is called `thekaveh-nnx`, as on
//! PyPI; the code says `nnx`.
//!
//! | module | feature | default | what it is for |
//! |---|---|---|---|
//! | [`checkpoint`] | – | | PyTorch and safetensors files, [`NNCheckpoint`] |
//! | [`checkpoint`] | `ndarray` | no | tensors to arrays of the crate ndarray, and back |
//! | [`checkpoint`] | `safetensors` | no | tensors for the functions of the crate safetensors |
//! | [`params`] | – | | typed configurations, their states, the run id |
//! | `net` | `net` | yes | the networks on candle, `NNModel` |
//! | `net` | `generate` | no | `GenerativeNNModel`, with the tokenizer |
//! | `hub` | `folder` | yes | models in folders: `ModelHubMixin` |
//! | `hub` | `hub` | yes | models on the Hub |
//! | `hub` | `xet` | no | large files by way of Xet, the store of the Hub |
//! | `hub` | `hf-hub` | no | a client with the settings of one of the crate hf-hub |
//! | `run` | `run` | yes | runs on disk: history, checkpoints, training state |
//! | `train` | `train` | yes | training: `Training`, optimizers, schedules, data |
//! | `store` | `store` | no | checkpoints in object stores: S3, Google Cloud Storage, Azure, HTTP |
//! | `chart` | `chart` | no | charts of values over epochs, as SVG and HTML |
//! | `chart` | `png` | no | charts as PNG files |
//!
//! The features `cuda` and `metal` let candle compute on a graphics card; building them needs the
//! vendor's toolkit.

#[cfg(feature = "chart")]
pub use nnx_chart as chart;
pub use nnx_checkpoint as checkpoint;
pub use nnx_checkpoint::{CheckpointFormat, CheckpointReader, NNCheckpoint};
#[cfg(feature = "folder")]
pub use nnx_hub as hub;
#[cfg(feature = "folder")]
pub use nnx_hub::ModelHubMixin;
#[cfg(feature = "net")]
pub use nnx_net as net;
#[cfg(feature = "generate")]
pub use nnx_net::GenerativeNNModel;
#[cfg(feature = "net")]
pub use nnx_net::NNModel;
pub use nnx_params as params;
#[cfg(feature = "run")]
pub use nnx_run as run;
#[cfg(feature = "run")]
pub use nnx_run::{CheckpointStore, NNRun};
#[cfg(feature = "store")]
pub use nnx_store as store;
#[cfg(feature = "train")]
pub use nnx_train as train;
#[cfg(feature = "train")]
pub use nnx_train::Training;

#[cfg(all(doctest, feature = "net"))]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(all(doctest, feature = "net"))]
#[doc = include_str!("../../../README.md")]
mod readme_of_the_workspace {}

#[cfg(all(doctest, feature = "train"))]
#[doc = include_str!("../../../docs/training.md")]
mod training_of_the_workspace {}
