//! `nnx predict`: runs a model on inputs.

use std::path::Path;

use nnx::NNModel;
use nnx::checkpoint::{npy, save_atomic};
use nnx::net::candle_core::{DType, Tensor};
use nnx::net::{Prediction, ProbabilitySpec};
use nnx::params::{Losses, Nets};
use serde::Serialize;

use super::data::Data;
use super::failures::{computing, unsupported};
use super::model;
use super::nested::Nested;
use crate::arguments::networks::Predict;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::table::{Side, Table};
use crate::terminal::Page;

/// The number of values in a row of the table.
const SHOWN: usize = 8;

#[derive(Debug, Serialize)]
struct PredictReport {
    logits: Nested,
    classes: Nested,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<Nested>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: Vec<String>,
}

pub(super) fn run(arguments: &Predict) -> Result<Outcome, Failure> {
    if let Some(path) = &arguments.output {
        check_target(path, arguments.overwrite)?;
    }
    let loaded = model::load(&arguments.model)?;
    let model = &loaded.model;
    let data = Data::read(&arguments.input, arguments.header)?;
    let notes = data.notes();
    let inputs = data.inputs(model);
    let inputs = inputs.map_err(|failure| failure.in_path(&arguments.input))?;
    let predicted = model.predict(&inputs);
    let predicted = predicted.map_err(|error| Failure::from(error).in_path(&arguments.input))?;
    let probabilities = if arguments.proba {
        Some(probabilities(model, &inputs)?)
    } else {
        None
    };
    if let Some(path) = &arguments.output {
        let array = probabilities.as_ref().unwrap_or(&predicted.logits);
        let bytes = npy::write(&array.try_into()?)?;
        save_atomic(path, |out| {
            out.write_all(&bytes).map_err(nnx::checkpoint::Error::from)
        })
        .map_err(|error| Failure::from(error).in_path(path))?;
    }
    let text = if arguments.json {
        json::object(&PredictReport {
            logits: Nested::new(&predicted.logits)?,
            classes: Nested::new(&predicted.classes)?,
            probabilities: probabilities.as_ref().map(Nested::new).transpose()?,
            notes: notes.clone(),
        })
    } else if let Some(path) = &arguments.output {
        let what = if arguments.proba {
            "probabilities"
        } else {
            "logits"
        };
        let dims = predicted.logits.dims();
        format!(
            "{}: {what}, float32 {dims:?}\n",
            crate::escape::escaped(&path.display().to_string())
        )
    } else {
        table(model, &predicted, probabilities.as_ref())?
    };
    Ok(Outcome::success(text).with_notes(&notes))
}

fn check_target(path: &Path, overwrite: bool) -> Result<(), Failure> {
    if path.extension().is_none_or(|extension| extension != "npy") {
        return Err(Failure::usage("expected a `.npy` file after `--output`").in_path(path));
    }
    Failure::if_exists(path, overwrite)
}

/// The probabilities by the model's task, or without a task by its loss.
fn probabilities(model: &NNModel, inputs: &[Tensor]) -> Result<Tensor, Failure> {
    let net = model.net().kind();
    let spec = match (model.params().task(), model.params().loss(), net) {
        (Some(_), ..) => None,
        (None, _, Nets::Vit) => {
            return Err(unsupported(
                "net `vit` gives features, which have no probabilities",
            ));
        }
        (None, Losses::BinaryCrossEntropy, _) => Some(ProbabilitySpec::bernoulli()),
        (None, Losses::CrossEntropy | Losses::NegativeLogLikelihood, _) => {
            Some(ProbabilitySpec::categorical())
        }
        (None, Losses::MeanSquaredError, _) => {
            return Err(unsupported(
                "a model with the loss `mean_squared_error` gives no probabilities",
            ));
        }
    };
    let result = model.predict_proba(inputs, spec.as_ref())?;
    let none = || unsupported("a model of a regression gives no probabilities");
    result.probabilities.ok_or_else(none)
}

/// A row for each sample or token.
fn table(
    model: &NNModel,
    predicted: &Prediction,
    probabilities: Option<&Tensor>,
) -> Result<String, Failure> {
    let (title, values) = match probabilities {
        Some(probabilities) => ("Probabilities", probabilities),
        None => ("Logits", &predicted.logits),
    };
    let columns = [
        ("Row", Side::Left),
        ("Class", Side::Right),
        ("Label", Side::Left),
        (title, Side::Left),
    ];
    let mut table = Table::new(&columns);
    let labels = model.params().task().and_then(|task| task.labels());
    let (dims, width) = match values.dims().split_last() {
        Some((&width, outer)) => (outer, width.max(1)),
        None => (&[][..], 1),
    };
    let flat: Vec<f32> = values
        .flatten_all()
        .and_then(|flat| flat.to_vec1())
        .map_err(computing)?;
    let classes = classes(predicted, dims)?;
    for (row, values) in flat.chunks(width).enumerate() {
        let class = classes
            .as_ref()
            .and_then(|(each, all)| all.chunks(*each).nth(row));
        let class = class.unwrap_or_default();
        let label = |&class: &i64| labels?.get(usize::try_from(class).ok()?).cloned();
        let named: Vec<String> = match class {
            [class] => label(class).into_iter().collect(),
            // Each output is a label that applies or does not apply.
            all => (0..)
                .zip(all)
                .filter(|(_, holds)| **holds == 1)
                .filter_map(|(place, _)| label(&place))
                .collect(),
        };
        let class: Vec<String> = class.iter().map(ToString::to_string).collect();
        table.push([
            place(row, dims),
            class.join(" "),
            named.join(", "),
            shown(values),
        ]);
    }
    Ok(table.render(&Page::for_stdout()))
}

/// The classes of rows, and their number in each row; `None` if they do not belong to rows.
fn classes(predicted: &Prediction, dims: &[usize]) -> Result<Option<(usize, Vec<i64>)>, Failure> {
    let classes = &predicted.classes;
    let each = if classes.dims() == dims {
        1
    } else if classes.dims() == predicted.logits.dims() {
        classes.dims().last().copied().unwrap_or(1).max(1)
    } else {
        return Ok(None);
    };
    if classes.dtype() != DType::I64 {
        return Ok(None);
    }
    let all = classes.flatten_all().and_then(|flat| flat.to_vec1());
    Ok(Some((each, all.map_err(computing)?)))
}

/// The index of a row along the axes before the last.
fn place(row: usize, dims: &[usize]) -> String {
    let mut left = row;
    let mut places: Vec<String> = Vec::new();
    for &length in dims.iter().rev() {
        places.push((left % length.max(1)).to_string());
        left /= length.max(1);
    }
    places.reverse();
    places.join(",")
}

fn shown(values: &[f32]) -> String {
    let mut cells: Vec<String> = values
        .iter()
        .take(SHOWN)
        .map(|value| format!("{value:>9.4}"))
        .collect();
    if let Some(more) = values.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        cells.push(format!("… {more} more"));
    }
    cells.join(" ")
}
