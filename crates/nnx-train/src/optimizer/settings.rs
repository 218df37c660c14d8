//! Reading the settings of a group of parameters.

use nnx_run::{Data, GroupSettings};

use crate::error::{Error, Result};

/// A setting that is a number.
pub(super) fn number(settings: &GroupSettings, name: &str) -> Result<f64> {
    settings
        .number(name)
        .ok_or_else(|| missing(name, "a number"))
}

/// A setting that is a number, or is not there.
pub(super) fn number_or(settings: &GroupSettings, name: &str, default: f64) -> Result<f64> {
    match settings.get(name) {
        None | Some(Data::None) => Ok(default),
        Some(_) => number(settings, name),
    }
}

/// A setting that is a flag; one that is not there is off.
pub(super) fn flag(settings: &GroupSettings, name: &str) -> Result<bool> {
    match settings.get(name) {
        None | Some(Data::None) => Ok(false),
        Some(Data::Bool(flag)) => Ok(*flag),
        Some(Data::Int(flag)) => Ok(*flag != 0),
        Some(_) => Err(missing(name, "a bool")),
    }
}

/// The decay rates of the moments.
pub(super) fn betas(settings: &GroupSettings) -> Result<(f64, f64)> {
    settings
        .betas()
        .ok_or_else(|| missing("betas", "two numbers"))
}

#[cold]
fn missing(name: &str, expected: &str) -> Error {
    Error::configuration(format!(
        "expected {expected} as `{name}` of a group of parameters, found another value or none"
    ))
}
