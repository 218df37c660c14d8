//! `ModelHubMixin` for NNx's `NNModel`.

use nnx_checkpoint::{NNCheckpoint, StateDict};
use nnx_net::NNModel;
use nnx_params::{
    Devices, NNCheckpointTransform, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams,
    NetParams, State, Value,
};

use crate::error::BoxError;
use crate::folder::Folder;
use crate::folder_writer::FolderWriter;
use crate::mixin::ModelHubMixin;
use crate::options::LoadOptions;

/// The option with the names of submodules whose weights are not loaded.
const EXCLUDE_SUBMODULES: &str = "exclude_submodules";

/// As in NNx, `config.json` has `net_params`, `params` and `transforms`, and the first two may be
/// flat. Loading is strict by default. The device is the CPU unless the options name another one,
/// whatever was saved. Weights of other float dtypes become float32. A model starts in evaluation
/// mode, see [`NNModel`].
impl ModelHubMixin for NNModel {
    /// `exclude_submodules`: the names of top-level submodules whose weights are in the file but
    /// not in the net.
    const OPTIONS: &'static [&'static str] = &[EXCLUDE_SUBMODULES];

    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        write(self, State::new(), folder)
    }

    fn read_pretrained(folder: &Folder, options: &LoadOptions) -> Result<Self, BoxError> {
        let config = folder.config_state()?;
        let mut checkpoint = checkpoint(folder, &config)?;
        if let Some(names) = options.get(EXCLUDE_SUBMODULES) {
            exclude(&mut checkpoint.net_state, names)?;
        }
        let device = options.device.unwrap_or(Devices::Cpu);
        if options.strict != Some(false) {
            return Ok(NNModel::from_checkpoint_on(&checkpoint, device)?);
        }
        in_part(checkpoint, device, options)
    }
}

/// Writes the weights and the configuration of a model; `more` is added to NNx's own entries of the
/// configuration, as subclasses of `NNModel` do in Python. `GenerativeNNModel` writes its
/// `tokenizer.json` and adds `{"tokenizer": {"filename": "tokenizer.json"}}`.
pub(crate) fn write(
    model: &NNModel,
    more: State,
    folder: &mut FolderWriter,
) -> Result<(), BoxError> {
    let checkpoint = model.checkpoint(no_point_of_training()?)?;
    folder.state_dict(&checkpoint.net_state)?;
    let transforms: Vec<Value> = checkpoint
        .transforms
        .iter()
        .map(|transform| Value::Map(transform.full_state()))
        .collect();
    let mut config = State::from_iter([
        ("params", Value::Map(model.params().full_state()?)),
        ("transforms", Value::List(transforms)),
        ("net_params", Value::Map(model.net_params().full_state())),
    ]);
    for (key, value) in more {
        config.insert(key, value);
    }
    folder.config_state(&config)?;
    Ok(())
}

/// A checkpoint with the contents of the folder.
fn checkpoint(folder: &Folder, config: &State) -> Result<NNCheckpoint, BoxError> {
    let invalid =
        |key: &str, error: nnx_params::Error| folder.config_error(format!("`{key}`: {error}"));
    let params = match part(folder, config, "params")? {
        Some(state) => NNModelParams::from_state(state),
        // A flat file may have other entries, which do not belong to these parameters.
        None => NNModelParams::from_state(config)
            .and_then(|params| NNModelParams::from_state(&params.state()?)),
    };
    let params = params.map_err(|error| invalid("params", error))?;
    let net_params = match part(folder, config, "net_params")? {
        Some(state) => NetParams::resolve_from_state(state),
        None => NetParams::resolve_from_state(config)
            .and_then(|params| NetParams::resolve_from_state(&params.state())),
    };
    let net_params = net_params.map_err(|error| invalid("net_params", error))?;
    let transforms = match config.get("transforms") {
        None | Some(Value::None) => &[][..],
        Some(value) => value.as_items().ok_or_else(|| {
            folder.config_error(format!(
                "`transforms` should be a list, is a `{}`",
                value.type_name()
            ))
        })?,
    };
    let mut checkpoint = NNCheckpoint::new(
        Some(net_params),
        folder.state_dict()?,
        params,
        no_point_of_training()?,
    );
    for transform in transforms {
        let state = transform.as_map().ok_or_else(|| {
            folder.config_error(format!(
                "an entry of `transforms` should be an object, is a `{}`",
                transform.type_name()
            ))
        })?;
        let transform = NNCheckpointTransform::from_state(state)
            .map_err(|error| invalid("transforms", error))?;
        checkpoint.transforms.push(transform);
    }
    Ok(checkpoint)
}

/// An object of the configuration; `None` if it is flat.
fn part<'a>(folder: &Folder, config: &'a State, key: &str) -> Result<Option<&'a State>, BoxError> {
    match config.get(key) {
        None => Ok(None),
        Some(Value::Map(state)) => Ok(Some(state)),
        Some(other) => Err(folder
            .config_error(format!(
                "`{key}` should be an object, is a `{}`",
                other.type_name()
            ))
            .into()),
    }
}

/// A folder has no training position, but a checkpoint requires one.
fn no_point_of_training() -> Result<NNIterationDataPoint, BoxError> {
    let nothing = NNEvaluationDataPoint::builder().build()?;
    Ok(NNIterationDataPoint::new(0.0, 0, 0, 0, nothing))
}

/// Removes the weights of top-level submodules.
fn exclude(state: &mut StateDict, names: &Value) -> Result<(), BoxError> {
    let names: Option<Vec<&str>> = names
        .as_items()
        .and_then(|items| items.iter().map(Value::as_str).collect());
    let names = names.ok_or("`exclude_submodules` is a list of names")?;
    let top = |name: &str| name.split_once('.').map(|(top, _)| top.to_owned());
    for name in &names {
        if !state
            .iter()
            .any(|(key, _)| top(key).as_deref() == Some(name))
        {
            return Err(
                format!("`exclude_submodules` names `{name}`, which the weights lack").into(),
            );
        }
    }
    retain(state, |key| {
        top(key).is_none_or(|top| !names.contains(&top.as_str()))
    });
    Ok(())
}

/// Keeps the entries with those names.
fn retain(state: &mut StateDict, keep: impl Fn(&str) -> bool) {
    let mut kept = StateDict::new();
    for (name, value) in state.iter().filter(|(name, _)| keep(name)) {
        kept.insert_value(name, value.clone());
    }
    *state = kept;
}

/// The model with the weights whose names fit; missing weights are those of a fresh net with seed
/// 0. A note lists both.
fn in_part(
    checkpoint: NNCheckpoint,
    device: Devices,
    options: &LoadOptions,
) -> Result<NNModel, BoxError> {
    let mut params = checkpoint.model_params.full_state()?;
    params.insert("device", device.value());
    let net_params = checkpoint
        .net_params
        .ok_or("the configuration has no net parameters")?;
    let mut model = NNModel::with_transforms(
        net_params,
        NNModelParams::from_state(&params)?,
        &checkpoint.transforms,
        0,
    )?;
    let mismatch = model.load_state_dict(&checkpoint.net_state, false)?;
    if !mismatch.is_empty() {
        options.note(&format!(
            "loaded in part: the state dict does not fit the net: {mismatch}"
        ));
    }
    Ok(model)
}
