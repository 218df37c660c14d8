//! The id of a training run: a hash of everything that it was configured with.

use std::fmt::Write as _;

use md5::{Digest, Md5};

use crate::error::{Error, Result};
use crate::model::{NNCheckpointTransform, NNModelParams};
use crate::net::NetParams;
use crate::repr::repr;
use crate::training::{NNTrainParams, NNTrainerParams, is_blank};
use crate::value::{State, Value};

const CLASS: &str = "NNRun";

/// The configuration from which the id of a run is computed.
///
/// ```
/// use nnx_params::{
///     Activations, NNModelParams, NNParams, NNTrainParams, NetParams, Nets, RunIdentity,
/// };
///
/// let net: NetParams = NNParams::builder(4, 3)
///     .hidden_dims([8])
///     .activation(Activations::Relu)
///     .dropout_prob(0.1)
///     .build()?
///     .into();
/// let model = NNModelParams::builder(Nets::FeedFwd).build()?;
/// let train = NNTrainParams::builder(8).build()?;
/// let identity = RunIdentity::new(&model, &train).net(&net);
/// assert_eq!(identity.run_id()?, "cbcb83e7e2b607e54bb9725aa8d31d75");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RunIdentity<'a> {
    model: &'a NNModelParams,
    net: Option<&'a NetParams>,
    train: &'a NNTrainParams,
    trainer: Option<&'a NNTrainerParams>,
    salt: Option<&'a str>,
    transforms: &'a [NNCheckpointTransform],
}

impl<'a> RunIdentity<'a> {
    /// Starts from the parameters that every run has.
    pub fn new(model: &'a NNModelParams, train: &'a NNTrainParams) -> Self {
        Self {
            model,
            net: None,
            train,
            trainer: None,
            salt: None,
            transforms: &[],
        }
    }

    /// The parameters of the net. Default: none, as for a registered or runtime net.
    pub fn net(mut self, net: &'a NetParams) -> Self {
        self.net = Some(net);
        self
    }

    /// The parameters of several optimizers. Default: none.
    pub fn trainer(mut self, trainer: &'a NNTrainerParams) -> Self {
        self.trainer = Some(trainer);
        self
    }

    /// A text that tells equal configurations apart. Default: none.
    pub fn salt(mut self, salt: &'a str) -> Self {
        self.salt = Some(salt);
        self
    }

    /// The steps that changed the net. Default: none.
    pub fn transforms(mut self, transforms: &'a [NNCheckpointTransform]) -> Self {
        self.transforms = transforms;
        self
    }

    /// The state that is hashed, without the keys that this version does not know.
    ///
    /// # Errors
    ///
    /// The model has no net, or the salt is blank.
    pub fn state(&self) -> Result<State> {
        let mut state = State::from_iter([("model", self.model.state()?)]);
        if let Some(net) = self.net {
            state.insert("net", net.state());
        }
        state.insert("train", self.train.state());
        if let Some(trainer) = self.trainer {
            state.insert("trainer", trainer.state());
        }
        if let Some(salt) = self.salt {
            validate_salt(&salt.into())?;
            state.insert("salt", salt);
        }
        if !self.transforms.is_empty() {
            let transforms: Vec<Value> = self
                .transforms
                .iter()
                .map(|transform| sorted(&transform.state().into()))
                .collect();
            state.insert("transforms", transforms);
        }
        Ok(state)
    }

    /// The id of the run: 32 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// As [`state`](Self::state).
    pub fn run_id(&self) -> Result<String> {
        self.state().map(|state| run_id(&state))
    }
}

/// The value that Python makes of it by way of JSON: keys sorted at every level, tuples as lists.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(state) => {
            let mut entries: Vec<_> = state.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, value)| (key, sorted(value)));
            Value::Map(entries.collect())
        }
        Value::List(items) | Value::Tuple(items) => Value::List(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// The hash of a run's state: the md5 of its `repr`, as 32 hexadecimal digits.
///
/// The order of the keys counts, so that a state read from a sorted file gives another id;
/// [`RunIdentity`] gives the right order.
pub fn run_id(state: &State) -> String {
    let text = repr(&state.clone().into());
    let mut id = String::with_capacity(32);
    for byte in Md5::digest(text.as_bytes()) {
        // Writing to a `String` cannot fail; the trait only allows for writers that can.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

/// Checks that a run id names nothing but an entry of the folder of runs.
///
/// # Errors
///
/// The id is empty, `.` or `..`, or holds a slash, a backslash, a NUL or one of `*`, `?`, `[`.
///
/// ```
/// assert!(nnx_params::validate_run_id("best").is_ok());
/// assert!(nnx_params::validate_run_id("../best").is_err());
/// ```
pub fn validate_run_id(run_id: &str) -> Result<()> {
    let domain = if run_id.is_empty() {
        "a text that is not empty"
    } else if run_id.contains(['/', '\\', '\0']) || matches!(run_id, "." | "..") {
        "a single path component other than `.` and `..`"
    } else if run_id.contains(['*', '?', '[']) {
        "free of the wildcards `*`, `?` and `[`"
    } else {
        return Ok(());
    };
    Err(Error::invalid(CLASS, "id", domain, &run_id.into()))
}

/// Checks that a salt is `None` or a text that is not blank.
///
/// # Errors
///
/// It is something else.
pub fn validate_salt(salt: &Value) -> Result<()> {
    match salt {
        Value::None => Ok(()),
        Value::Str(text) if !is_blank(text) => Ok(()),
        _ => {
            let domain = "None or a text that is not blank";
            Err(Error::invalid(CLASS, "salt", domain, salt))
        }
    }
}

#[cfg(test)]
mod tests;
