//! `nnx summary`: lists the layers of a model.

use nnx::NNModel;
use nnx::net::candle_core::{DType, Device, Tensor};
use nnx::params::NetParams;
use serde::Serialize;

use super::data::Data;
use super::failures::computing;
use super::model;
use crate::arguments::networks::{Header, Summary};
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::size;
use crate::table::{Side, Table};
use crate::terminal::Page;

/// The largest number of tokens in the sample for a transformer.
const TOKENS: usize = 16;
/// The largest number of elements that `--shape` may request.
const MOST_ELEMENTS: usize = 1 << 28;

#[derive(Debug, Serialize)]
struct SummaryReport {
    net: &'static str,
    inputs: Vec<Vec<usize>>,
    layers: Vec<Layer>,
    parameters: usize,
    trainable: usize,
}

#[derive(Debug, Serialize)]
struct Layer {
    path: String,
    class: &'static str,
    output: Vec<usize>,
    parameters: usize,
}

pub(super) fn run(arguments: &Summary) -> Result<Outcome, Failure> {
    let loaded = model::load(&arguments.model)?;
    let model = &loaded.model;
    let mut notes = Vec::new();
    let inputs = match &arguments.input {
        Some(path) => {
            let data = Data::read(path, Header::Auto)?;
            notes = data.notes();
            let inputs = data.inputs(model);
            inputs.map_err(|failure| failure.in_path(path))?
        }
        None => zeros(model, &arguments.shape)?,
    };
    let summary = model.summary(&inputs).map_err(|error| {
        let failure = Failure::from(error);
        match &arguments.input {
            Some(path) => failure.in_path(path),
            None => failure,
        }
    })?;
    let layers = summary.layers.into_iter().map(|layer| Layer {
        path: layer.path,
        class: layer.class,
        output: layer.output,
        parameters: layer.parameters,
    });
    let object = SummaryReport {
        net: model.net().kind().value(),
        inputs: inputs.iter().map(|input| input.dims().to_vec()).collect(),
        layers: layers.collect(),
        parameters: summary.parameters,
        trainable: summary.trainable,
    };
    let text = if arguments.json {
        json::object(&object)
    } else {
        text(&object)
    };
    Ok(Outcome::success(text).with_notes(&notes))
}

fn text(object: &SummaryReport) -> String {
    let mut table = Table::new(&[
        ("Layer", Side::Left),
        ("Class", Side::Left),
        ("Output", Side::Left),
        ("Parameters", Side::Right),
    ]);
    for layer in &object.layers {
        table.push([
            layer.path.clone(),
            layer.class.to_owned(),
            format!("{:?}", layer.output),
            size::grouped(layer.parameters as u128),
        ]);
    }
    let inputs: Vec<String> = object
        .inputs
        .iter()
        .map(|shape| format!("{shape:?}"))
        .collect();
    format!(
        "{} on {}\n\n{}\n{}, {} trainable\n",
        object.net,
        inputs.join(" and "),
        table.render(&Page::for_stdout()),
        size::count(object.parameters, "parameter"),
        size::grouped(object.trainable as u128)
    )
}

/// An input of zeros with that shape or, if it is empty, one sample. A graph gets a loop at its
/// first node.
fn zeros(model: &NNModel, shape: &[usize]) -> Result<Vec<Tensor>, Failure> {
    let (dtype, default) = match model.net_params() {
        NetParams::Transformer(params) => (DType::I64, vec![1, params.max_seq_len().min(TOKENS)]),
        NetParams::Conv(params) => {
            let side = params.image_side();
            (DType::F32, vec![1, params.in_channels(), side, side])
        }
        NetParams::ViT(params) => {
            let side = params.image_size();
            (DType::F32, vec![1, params.in_channels(), side, side])
        }
        other => (DType::F32, vec![1, other.base().input_dim()]),
    };
    let shape = if shape.is_empty() {
        default
    } else {
        shape.to_vec()
    };
    let elements = shape
        .iter()
        .try_fold(1_usize, |product, &length| product.checked_mul(length));
    if elements.is_none_or(|elements| elements > MOST_ELEMENTS) {
        return Err(Failure::usage(&format!(
            "expected a shape of at most `{MOST_ELEMENTS}` elements, found `{shape:?}`"
        )));
    }
    let zeros = |shape, dtype| Tensor::zeros(shape, dtype, &Device::Cpu).map_err(computing);
    let mut inputs = vec![zeros(shape, dtype)?];
    let name = model.net().kind().value();
    if name.starts_with("graph") {
        inputs.push(zeros(vec![2, 1], DType::I64)?);
    }
    Ok(inputs)
}
