//! The contents of a checkpoint as this workspace reads them.

use std::path::Path;

use candle_core::{DType, Device, Tensor as CandleTensor};
use nnx_checkpoint::pickle::{Graph, Node, NodeId};
use nnx_checkpoint::{CheckpointFormat, NNCheckpoint, StateValue, Tensor, TensorClass};
use nnx_net::NNModel;
use nnx_params::{
    Activations, Devices, Losses, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams,
    NNParams, Nets, State, Value, python_text,
};

use super::compare::Form;
use super::facts::{Argument, Content, Entry, Facts, Forward, Input, Layout, TensorFacts, sha256};
use crate::Result;

/// Opens a file and runs the model in it.
///
/// # Errors
/// When the file cannot be read. It is not an error if the model cannot be rebuilt.
pub(super) fn open(path: &Path, input: &Input) -> Result<(NNCheckpoint, Facts)> {
    let checkpoint = NNCheckpoint::from_file(path)?;
    let facts = facts(&checkpoint, input)?;
    Ok((checkpoint, facts))
}

/// The contents of a checkpoint and the output of its model.
///
/// # Errors
/// When a tensor's bytes cannot be read, or an entry has no JSON form.
pub(super) fn facts(checkpoint: &NNCheckpoint, input: &Input) -> Result<Facts> {
    let NNCheckpoint {
        net_params,
        model_params,
        idp,
        transforms,
        training_state_id,
        training_state_present,
        ..
    } = checkpoint;
    let transforms = transforms.iter().map(|one| one.state().into());
    let text = |id: &String| Value::Str(id.clone());
    let values = [
        (
            "net_params",
            net_params
                .as_ref()
                .map_or(Value::None, |params| params.state().into()),
        ),
        ("model_params", model_params.state()?.into()),
        ("idp", idp.state().into()),
        ("transforms", Value::List(transforms.collect())),
        (
            "training_state_id",
            training_state_id.as_ref().map_or(Value::None, text),
        ),
        (
            "training_state_present",
            training_state_present.map_or(Value::None, Value::Bool),
        ),
    ];
    Ok(Facts {
        states: values
            .map(|(name, value)| (name, python_text::json_dumps(&value)))
            .into(),
        entries: entries(checkpoint)?,
        forward: Some(forward(checkpoint, input)),
    })
}

fn entries(checkpoint: &NNCheckpoint) -> Result<Vec<Entry>> {
    let entry = |(name, value): (&str, &StateValue)| {
        let content = match value {
            StateValue::Tensor(one) => tensor(one).map(Content::Tensor),
            StateValue::Object(object) => plain(object.whole().graph(), object.id())
                .map(|value| Content::Object(python_text::json_dumps(&value))),
        };
        Ok(Entry {
            name: name.into(),
            content: content.map_err(|error| format!("`{name}`: {error}"))?,
        })
    };
    checkpoint.net_state.iter().map(entry).collect()
}

fn tensor(tensor: &Tensor) -> Result<TensorFacts> {
    let bytes = tensor.to_bytes()?.into_owned();
    let parameter = tensor.class() == TensorClass::Parameter;
    Ok(TensorFacts {
        dtype: tensor.dtype().to_string(),
        shape: tensor.shape().into(),
        sha256: sha256(&bytes),
        bytes: Some(bytes),
        layout: Layout {
            strides: tensor.strides().into(),
            offset: tensor.offset(),
            storage: tensor.storage().identity(),
        },
        class: Some((parameter, tensor.requires_grad())),
    })
}

/// The value of an entry that is not a tensor, if JSON has one.
fn plain(graph: &Graph, id: NodeId) -> Result<Value> {
    let list =
        |ids: &[NodeId]| -> Result<Vec<Value>> { ids.iter().map(|&id| plain(graph, id)).collect() };
    Ok(match graph.node(id) {
        Node::None => Value::None,
        Node::Bool(flag) => Value::Bool(*flag),
        Node::Int(number) => Value::Int((*number).into()),
        Node::Float(number) => Value::Float(*number),
        Node::Str(text) => Value::Str(text.as_str().ok_or("a lone surrogate")?.into()),
        Node::List(ids) => Value::List(list(ids)?),
        Node::Tuple(ids) => Value::Tuple(list(ids)?),
        Node::Dict(pairs) => {
            let pair = |&(key, value): &(NodeId, NodeId)| match plain(graph, key)? {
                Value::Str(key) => Ok((key, plain(graph, value)?)),
                _ => Err("a key that is no text".into()),
            };
            Value::Map(pairs.iter().map(pair).collect::<Result<State>>()?)
        }
        _ => return Err("an object without a JSON form".into()),
    })
}

/// Rebuilds the model on the CPU and runs it.
fn forward(checkpoint: &NNCheckpoint, input: &Input) -> Forward {
    let answer = || -> Result<Forward> {
        let model = NNModel::from_checkpoint_on(checkpoint, Devices::Cpu)?;
        answer(&model, input)
    };
    answer().unwrap_or_else(|error| Forward::Refused(error.to_string()))
}

/// The output of a model in evaluation mode.
///
/// # Errors
/// When the forward pass fails.
pub(super) fn answer(model: &NNModel, input: &Input) -> Result<Forward> {
    let arguments: Vec<CandleTensor> = input.0.iter().map(argument).collect::<Result<_>>()?;
    let output = model.forward(&arguments)?;
    Ok(Forward::Output {
        shape: output.dims().into(),
        data: output.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?,
        reference: None,
    })
}

fn argument(argument: &Argument) -> Result<CandleTensor> {
    let dtype = match &*argument.dtype {
        "float32" => DType::F32,
        "int64" => DType::I64,
        // candle has no bool.
        "bool" => DType::U8,
        other => return Err(format!("an input of dtype `{other}` is not read here").into()),
    };
    let tensor = CandleTensor::from_slice(&argument.data, &*argument.shape, &Device::Cpu)?;
    Ok(tensor.to_dtype(dtype)?)
}

/// The form in [`NNCheckpoint::to_file`], and the suffix that NNx users give it.
pub(super) fn format(form: Form) -> (CheckpointFormat, &'static str) {
    match form {
        Form::Pickle => (CheckpointFormat::Pickle, "pt"),
        Form::SafeTensors => (CheckpointFormat::SafeTensors, "safetensors"),
    }
}

/// The model that the library's documentation builds, and a checkpoint of it.
///
/// # Errors
/// When it cannot be built.
pub(super) fn example() -> Result<(NNModel, NNCheckpoint)> {
    let net_params = NNParams::builder(4, 2)
        .hidden_dims([8])
        .dropout_prob(0.0)
        .activation(Activations::Relu)
        .build()?;
    let params = NNModelParams::builder(Nets::FeedFwd)
        .loss(Losses::CrossEntropy)
        .device(Devices::Cpu)
        .build()?;
    let model = NNModel::new(net_params.into(), params, 42)?;
    let train_edp = NNEvaluationDataPoint::builder().loss(0.4).build()?;
    let idp = NNIterationDataPoint::new(0.001, 7, 2, 1, train_edp);
    let checkpoint = model.checkpoint(idp)?;
    Ok((model, checkpoint))
}
