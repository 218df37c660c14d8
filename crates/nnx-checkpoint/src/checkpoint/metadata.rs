//! The safetensors form: tensors, and the configuration as JSON texts in the metadata.

use indexmap::IndexMap;
use nnx_params::{
    NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NetDescriptor, NetParams, State,
    Value, python_text,
};

use super::NNCheckpoint;
use crate::error::{Error, Result};
use crate::{StateDict, Tensor};

/// The metadata's format version.
const VERSION: &str = "1";
/// The metadata key that marks a file of an NNx bundle.
const BUNDLE: &str = "nnx.bundle";

/// The metadata keys, in the order in which NNx fills its dict.
mod key {
    pub(super) const VERSION: &str = "nnx_format_version";
    pub(super) const MODEL_PARAMS: &str = "model_params";
    pub(super) const NET_PARAMS: &str = "net_params";
    pub(super) const IDP: &str = "idp";
    pub(super) const TRANSFORMS: &str = "transforms";
    pub(super) const TRAINING_STATE_ID: &str = "training_state_id";
    pub(super) const TRAINING_STATE_PRESENT: &str = "training_state_present";

    pub(super) const ALL: [&str; 7] = [
        VERSION,
        MODEL_PARAMS,
        NET_PARAMS,
        IDP,
        TRANSFORMS,
        TRAINING_STATE_ID,
        TRAINING_STATE_PRESENT,
    ];
}

/// Whether a safetensors file's metadata are those of a checkpoint.
pub(super) fn is_checkpoint(metadata: &IndexMap<String, String>) -> bool {
    metadata.contains_key(key::VERSION)
}

/// Whether a key is one of NNx's own.
pub(super) fn is_own_key(key: &str) -> bool {
    key == BUNDLE || key::ALL.contains(&key)
}

/// Reads the safetensors form.
pub(super) fn checkpoint(
    metadata: &IndexMap<String, String>,
    mut tensors: Vec<(&str, Tensor)>,
) -> Result<NNCheckpoint> {
    if metadata.contains_key(BUNDLE) {
        return Err(Error::unsupported(
            "a file of an NNx bundle, which is read as a whole; give a checkpoint file instead",
        )
        .in_entry(BUNDLE));
    }
    match metadata.get(key::VERSION).map(String::as_str) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(Error::unsupported(format!(
                "the format version must be `{VERSION}`, got `{other}`"
            ))
            .in_entry(key::VERSION));
        }
        None => {
            return Err(Error::unsupported(
                "a safetensors file without the metadata of an NNCheckpoint",
            )
            .in_entry(key::VERSION));
        }
    }
    let required = |name: &str| {
        metadata.get(name).map(String::as_str).ok_or_else(|| {
            Error::malformed("the metadata of an NNCheckpoint lacks this key").in_entry(name)
        })
    };

    tensors.sort_by_key(|(name, _)| *name);
    let net_params = match json(key::NET_PARAMS, required(key::NET_PARAMS)?)? {
        Value::None => None,
        state => Some(typed(
            key::NET_PARAMS,
            &state,
            NetParams::resolve_from_state,
        )?),
    };
    let model_params = json(key::MODEL_PARAMS, required(key::MODEL_PARAMS)?)?;
    let idp = json(key::IDP, required(key::IDP)?)?;
    let mut checkpoint = NNCheckpoint::new(
        net_params,
        tensors.into_iter().collect(),
        typed(key::MODEL_PARAMS, &model_params, NNModelParams::from_state)?,
        typed(key::IDP, &idp, NNIterationDataPoint::from_state)?,
    );
    if let Some(text) = metadata.get(key::TRANSFORMS) {
        checkpoint.transforms = transforms(&json(key::TRANSFORMS, text)?)?;
    }
    let extra = metadata
        .iter()
        .filter(|(name, _)| !key::ALL.contains(&name.as_str()));
    checkpoint.extra_metadata = extra
        .map(|(name, text)| (name.clone(), text.clone()))
        .collect();
    checkpoint.training_state_id = metadata
        .get(key::TRAINING_STATE_ID)
        .filter(|id| !id.is_empty())
        .cloned();
    checkpoint.training_state_present = match metadata.get(key::TRAINING_STATE_PRESENT) {
        None => None,
        Some(text) => match json(key::TRAINING_STATE_PRESENT, text)? {
            Value::None => None,
            Value::Bool(present) => Some(present),
            other => {
                return Err(expected(
                    key::TRAINING_STATE_PRESENT,
                    "null or a bool",
                    &other,
                ));
            }
        },
    };
    Ok(checkpoint)
}

/// The tensors and the metadata of the safetensors form.
#[expect(
    clippy::type_complexity,
    reason = "the two arguments of the safetensors writer"
)]
pub(super) fn parts(
    checkpoint: &NNCheckpoint,
) -> Result<(Vec<(&str, &Tensor)>, IndexMap<String, String>)> {
    if let Some(NetDescriptor::Runtime(_)) = checkpoint.model_params.net() {
        return Err(Error::unsupported(
            "a module that exists only at run time cannot be rebuilt from a safetensors file; \
             write the pickle form instead",
        ));
    }
    if let Some((place, _)) = checkpoint.unknown_fields.first() {
        return Err(Error::unsupported(format!(
            "`{place}` holds values of a newer version of NNx, for which the safetensors form has \
             no place; write the pickle form instead"
        )));
    }
    let extra = checkpoint.extra_metadata.clone();
    if let Some(key) = extra
        .keys()
        .find(|key| *key == BUNDLE || key::ALL.contains(&key.as_str()))
    {
        return Err(Error::unsupported(format!(
            "the extra metadata key `{key}` is one of NNx's own"
        )));
    }
    let tensors = tensors(&checkpoint.net_state)?;
    let net_params = match &checkpoint.net_params {
        Some(params) => Value::Map(params.full_state()),
        None => Value::None,
    };
    let transforms = checkpoint
        .transforms
        .iter()
        .map(|transform| transform.full_state().into());
    let metadata = [
        (key::VERSION, VERSION.to_owned()),
        (
            key::MODEL_PARAMS,
            python_text::json_dumps(&checkpoint.model_params.full_state()?.into()),
        ),
        (key::NET_PARAMS, python_text::json_dumps(&net_params)),
        (
            key::IDP,
            python_text::json_dumps(&checkpoint.idp.full_state().into()),
        ),
        (
            key::TRANSFORMS,
            python_text::json_dumps(&Value::List(transforms.collect())),
        ),
        (
            key::TRAINING_STATE_ID,
            checkpoint.training_state_id.clone().unwrap_or_default(),
        ),
        (
            key::TRAINING_STATE_PRESENT,
            python_text::json_dumps(
                &checkpoint
                    .training_state_present
                    .map_or(Value::None, Value::Bool),
            ),
        ),
    ];
    Ok((
        tensors,
        metadata
            .into_iter()
            .map(|(key, text)| (key.to_owned(), text))
            .chain(extra)
            .collect(),
    ))
}

/// The tensors of a state dict that holds nothing else.
fn tensors(state: &StateDict) -> Result<Vec<(&str, &Tensor)>> {
    let others: Vec<_> = state.other_names().collect();
    if !others.is_empty() {
        return Err(Error::unsupported(format!(
            "a safetensors file holds tensors only; no tensors are `{}`; write the pickle form \
             instead",
            others.join("`, `")
        )));
    }
    Ok(state.tensors().collect())
}

fn transforms(value: &Value) -> Result<Vec<NNCheckpointTransform>> {
    let Value::List(items) = value else {
        return Err(expected(key::TRANSFORMS, "a list", value));
    };
    items
        .iter()
        .map(|item| typed(key::TRANSFORMS, item, NNCheckpointTransform::from_state))
        .collect()
}

/// The value of a metadata text.
fn json(name: &str, text: &str) -> Result<Value> {
    python_text::json_loads(text).map_err(|error| Error::from(error).in_entry(name))
}

/// A configuration class from its state.
fn typed<T>(
    name: &str,
    value: &Value,
    from_state: impl FnOnce(&State) -> Result<T, nnx_params::Error>,
) -> Result<T> {
    match value {
        Value::Map(state) => from_state(state).map_err(|error| Error::from(error).in_entry(name)),
        other => Err(expected(name, "an object", other)),
    }
}

#[cold]
fn expected(name: &str, what: &str, found: &Value) -> Error {
    Error::malformed(format!(
        "expected {what}, got `{}`",
        python_text::json_dumps(found)
    ))
    .in_entry(name)
}
