//! `save_pretrained`, `from_pretrained` and `push_to_hub` for any Rust model, compatible with
//! Python.
//!
//! Folders and repositories have the form that `PyTorchModelHubMixin` of `huggingface_hub` writes
//! and reads, to the byte where Python is deterministic. A download is accepted only if its size
//! and hash are those that the repository states, and all files of a repository are read at one
//! commit.
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
//! | `xet` | no | large files by way of Xet, the Hub's store |
//! | `hf-hub` | no | a client with the settings of one of the crate `hf-hub` |
//!
//! Without `online`, folders and the cache work as usual; a call that needs the network returns an
//! error that names the feature.

mod api_request;
mod cache;
mod card;
mod client;
mod config_json;
mod digest;
mod error;
mod folder;
mod folder_writer;
#[cfg(feature = "generate")]
mod generative_nn_model;
mod http_date;
#[cfg(feature = "online")]
mod http_transport;
mod hub;
mod mixin;
mod mutex;
#[cfg(feature = "nnx")]
mod nn_model;
mod options;
mod patterns;
mod progress;
mod proxies;
mod repo_id;
mod retry;
mod safe_path;
mod setters;
mod settings;
mod staging;
mod status_error;
mod token;
mod transport;
mod tree_entry;
mod url;
mod weights;

pub use card::ModelCard;
pub use config_json::config_json;
pub use digest::Digest;
pub use error::{BoxError, Error, ErrorKind, Result};
pub use folder::Folder;
pub use folder_writer::{FolderWriter, copy_files};
#[cfg(feature = "online")]
pub use http_transport::HttpTransport;
pub use hub::{
    Hub, Identity, RemoteFile, RepoFolder, RepoInfo, Snapshot, SnapshotOptions, Upload,
    UploadOptions,
};
pub use mixin::ModelHubMixin;
/// The differences between weights and a model.
pub use nnx_checkpoint::{ShapeMismatch, StateDictMismatch};
pub use options::{LoadOptions, MAX_SHARD_BYTES, PushOptions, SaveOptions};
pub use patterns::matches as pattern_matches;
pub use progress::{Direction, Event, Progress};
pub use proxies::Proxies;
pub use repo_id::RepoId;
pub use retry::Retry;
pub use settings::Settings;
pub use staging::remove_abandoned;
pub use token::Token;
pub use transport::{Body, Header, Method, Request, Response, Transport, TransportError};
pub use tree_entry::TreeEntry;

#[cfg(all(doctest, feature = "nnx"))]
#[doc = include_str!("../../../docs/hub.md")]
mod guide {}
