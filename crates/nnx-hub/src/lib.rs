//! `save_pretrained`, `from_pretrained` and `push_to_hub` for any Rust model, interchangeable with
//! Python's.
//!
//! Folders and repositories are those that `PyTorchModelHubMixin` of `huggingface_hub` writes and
//! reads, to the byte where Python is deterministic. A download counts when its size and hash are
//! those that the repository states, and a repository is read at one commit from first byte to last.
//!
//! | to | use |
//! |---|---|
//! | give a model the three verbs | [`ModelHubMixin`] |
//! | load NNx's own | the same, on [`NNModel`](https://docs.rs/nnx-net) (feature `nnx`) |
//! | fetch, list, read and upload without a model | [`Hub`] |
//! | read a folder by hand | [`Folder`] |
//! | use another HTTP client, or none | [`Transport`] |
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `nnx` | yes | the verbs for `NNModel`; nnx-net and candle |
//! | `generate` | no | the verbs for `GenerativeNNModel`; its tokenizers |
//! | `candle` | with `nnx` | a folder's weights as candle's tensors |
//! | `online` | no | the network: a client over HTTPS |
//!
//! Without `online`, folders and the cache are used as ever; what needs the network is an error that
//! names the feature.

mod cache;
mod card;
mod config_json;
mod digest;
mod error;
mod exchange;
mod folder;
mod folder_writer;
#[cfg(feature = "generate")]
mod generative_nn_model;
mod hub;
mod mixin;
#[cfg(feature = "nnx")]
mod nn_model;
mod options;
mod patterns;
mod progress;
mod repo_id;
mod safe_path;
mod setters;
mod settings;
mod token;
mod transport;
mod url;
mod weights;

pub use card::ModelCard;
pub use config_json::config_json;
pub use digest::Digest;
pub use error::{BoxError, Error, ErrorKind, Result};
pub use exchange::Retry;
pub use folder::Folder;
pub use folder_writer::{FolderWriter, copy_files};
pub use hub::{Hub, Identity, RemoteFile, RepoInfo, SnapshotOptions, TreeEntry, Upload};
pub use mixin::ModelHubMixin;
/// What keeps weights from fitting a model.
pub use nnx_checkpoint::{ShapeMismatch, StateDictMismatch};
pub use options::{LoadOptions, MAX_SHARD_BYTES, PushOptions, SaveOptions};
pub use patterns::matches as pattern_matches;
pub use progress::{Direction, Event, Progress};
pub use repo_id::RepoId;
pub use settings::Settings;
pub use token::Token;
#[cfg(feature = "online")]
pub use transport::HttpTransport;
pub use transport::{Body, Header, Method, Request, Response, Transport, TransportError};

#[cfg(all(doctest, feature = "nnx"))]
#[doc = include_str!("../../../docs/hub.md")]
mod guide {}
