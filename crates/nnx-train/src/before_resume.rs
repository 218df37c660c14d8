//! The state of a session before it was resumed.

use nnx_checkpoint::StateDict;
use nnx_net::Generator;

use crate::rng_streams::RngStreams;

/// Weights and random numbers before a resume, which are put back if it fails.
#[derive(Debug)]
pub(crate) struct BeforeResume {
    pub(crate) weights: StateDict,
    pub(crate) default: Generator,
    /// The generators of the loader.
    pub(crate) loader: Vec<Generator>,
    pub(crate) rng: RngStreams,
}
