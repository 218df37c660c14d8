//! A folder that `NNModel.save_pretrained` wrote: `config.json` beside the weights.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nnx::checkpoint::{CheckpointReader, Error, NNCheckpoint, StateDict};
use nnx::params::python_text::json_loads;
use nnx::params::{
    NNCheckpointTransform, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams, NetParams,
    State, Value,
};

use super::failures::malformed;
use crate::failure::Failure;

/// The configuration.
const CONFIG: &str = "config.json";
/// Bytes of it that are read; real ones have some hundred.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// A model and the name of its tokenizer's file, if one is named.
pub(super) fn read(folder: &Path) -> Result<(NNCheckpoint, Option<String>), Failure> {
    let path = folder.join(CONFIG);
    let config = config(&path).map_err(|failure| failure.in_path(&path))?;
    let mut checkpoint = configured(&config).map_err(|failure| failure.in_path(&path))?;
    let reader = CheckpointReader::open(folder)?;
    let mut weights = StateDict::new();
    for entry in reader.tensors() {
        weights.insert(entry.name(), reader.tensor(entry.name())?);
    }
    checkpoint.net_state = weights;
    let tokenizer = config.get("tokenizer").and_then(Value::as_map);
    let file = tokenizer.and_then(|tokenizer| tokenizer.get("filename")?.as_str());
    Ok((checkpoint, file.map(ToOwned::to_owned)))
}

fn config(path: &Path) -> Result<State, Failure> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new(
            "not_found",
            "a folder that holds a model has a `config.json`, this one has none",
        ),
        _ => Failure::new("io", error.to_string()),
    };
    let mut text = String::new();
    let file = File::open(path).map_err(refused)?;
    file.take(MAX_CONFIG_BYTES)
        .read_to_string(&mut text)
        .map_err(refused)?;
    match json_loads(&text).map_err(Error::from)? {
        Value::Map(state) => Ok(state),
        other => Err(not_an_object("the configuration", &other)),
    }
}

/// The configurations, each an object of its own or flat in the file, without weights.
fn configured(config: &State) -> Result<NNCheckpoint, Failure> {
    let part = |key: &str| match config.get(key) {
        None => Ok(config),
        Some(Value::Map(state)) => Ok(state),
        Some(other) => Err(not_an_object(key, other)),
    };
    let net_params = NetParams::resolve_from_state(part("net_params")?).map_err(Error::from)?;
    let params = NNModelParams::from_state(part("params")?).map_err(Error::from)?;
    let point = NNEvaluationDataPoint::builder()
        .build()
        .map_err(Error::from)?;
    let point = NNIterationDataPoint::new(0.0, 0, 0, 0, point);
    let mut checkpoint = NNCheckpoint::new(Some(net_params), StateDict::new(), params, point);
    let transforms = config.get("transforms").and_then(Value::as_items);
    for transform in transforms.unwrap_or_default() {
        let Value::Map(state) = transform else {
            return Err(not_an_object("an entry of `transforms`", transform));
        };
        let transform = NNCheckpointTransform::from_state(state).map_err(Error::from)?;
        checkpoint.transforms.push(transform);
    }
    Ok(checkpoint)
}

fn not_an_object(what: &str, found: &Value) -> Failure {
    malformed(format!(
        "{what} should be an object, is a `{}`",
        found.type_name()
    ))
}
