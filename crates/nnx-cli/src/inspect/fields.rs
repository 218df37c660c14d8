//! A configuration as lines of a table.

use nnx::params::Value;

use super::nn_checkpoint::Configuration;
use crate::flatten;
use crate::table::{Side, Table};

/// Every value with the path of keys that leads to it.
pub(super) fn table(configuration: &Configuration) -> Table {
    let mut table = Table::new(&[("Field", Side::Left), ("Value", Side::Left)]);
    let none = Value::None;
    match &configuration.net_params {
        Some(params) => add(&mut table, "net_params", &params.as_value()),
        None => add(&mut table, "net_params", &none),
    }
    add(
        &mut table,
        "model_params",
        &configuration.model_params.as_value(),
    );
    add(&mut table, "idp", &configuration.idp.as_value());
    for (index, transform) in configuration.transforms.iter().enumerate() {
        add(
            &mut table,
            &format!("transforms.{index}"),
            &transform.as_value(),
        );
    }
    let id = Value::from(configuration.training_state_id.clone());
    add(&mut table, "training_state_id", &id);
    let present = Value::from(configuration.training_state_present);
    add(&mut table, "training_state_present", &present);
    table
}

fn add(table: &mut Table, path: &str, value: &Value) {
    for (path, text) in flatten::fields(path, value) {
        table.push([path, text]);
    }
}
