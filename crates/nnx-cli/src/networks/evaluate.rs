//! `nnx evaluate`: measures a model.

use nnx::net::EvaluateOptions;
use nnx::params::{Average, Value, python_text};
use serde::Serialize;

use super::data::Data;
use super::model;
use crate::arguments::networks::{self, Evaluate};
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::python::JsonState;
use crate::table::{Side, Table};
use crate::terminal::Page;

#[derive(Serialize)]
struct EvaluateReport<'a> {
    #[serde(flatten)]
    state: &'a JsonState,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

pub(super) fn run(arguments: &Evaluate) -> Result<Outcome, Failure> {
    let loaded = model::load(&arguments.model)?;
    let data = Data::read(&arguments.data, arguments.header)?;
    let notes = data.notes();
    let average = match arguments.average {
        networks::Average::Macro => Average::Macro,
        networks::Average::Micro => Average::Micro,
        networks::Average::Weighted => Average::Weighted,
    };
    let evaluation = EvaluateOptions::new().average(average);
    let point = data
        .batches(&loaded.model, &arguments.label, arguments.batch_size)
        .and_then(|batches| Ok(loaded.model.evaluate_with(batches, &evaluation)?))
        .map_err(|failure| failure.in_path(&arguments.data))?;
    let state = JsonState(point.state());
    if arguments.json {
        let object = EvaluateReport {
            state: &state,
            notes: &notes,
        };
        return Ok(Outcome::success(json::object(&object)).with_notes(&notes));
    }
    let mut table = Table::new(&[("Metric", Side::Left), ("Value", Side::Left)]);
    for (name, value) in state.0.iter() {
        match value {
            Value::None => {}
            Value::Map(map) => {
                for (name, value) in map.iter() {
                    table.push([name.to_owned(), shown(value)]);
                }
            }
            other => table.push([name.to_owned(), shown(other)]),
        }
    }
    Ok(Outcome::success(table.render(&Page::for_stdout())).with_notes(&notes))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Float(number) => format!("{number:.6}"),
        Value::Str(text) => text.clone(),
        other => python_text::repr(other),
    }
}
