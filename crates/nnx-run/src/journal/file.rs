//! Reading the part of a journal's files that counts.

use std::fs;
use std::io::Read;
use std::path::Path;

use nnx_params::python_text::json_loads;
use nnx_params::{State, Value};

use crate::error::{Error, Result, shown};
use crate::layout::open_file;

/// At most `most` bytes from the start of a file; `None` if there is no such file.
fn beginning(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    let other = || {
        Error::history_corruption("expected a file of the history journal, found something else")
    };
    let Some(file) = open_file(path, other)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::from(error).in_path(path))?;
    Ok(Some(bytes))
}

/// All bytes of a file that is not larger than allowed; `None` if there is no such file.
pub(super) fn whole(path: &Path, what: &'static str, most: u64) -> Result<Option<Vec<u8>>> {
    let too_large = || Err(Error::limit(what, most).in_path(path));
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > most) {
        return too_large();
    }
    // One byte more than allowed, because the file may grow while it is read.
    match beginning(path, most.saturating_add(1))? {
        Some(bytes) if bytes.len() as u64 > most => too_large(),
        bytes => Ok(bytes),
    }
}

/// The first bytes of a file, exactly as many as the manifest says. More may follow: those of an
/// epoch that was not finished.
pub(super) fn committed(path: &Path, bytes: u64, what: &'static str, most: u64) -> Result<Vec<u8>> {
    if bytes > most {
        return Err(Error::limit(what, most).in_path(path));
    }
    if bytes == 0 {
        return Ok(Vec::new());
    }
    let found = beginning(path, bytes)?.ok_or_else(|| {
        let what = "a file of the history journal is missing; restore it from a copy";
        Error::history_corruption(what).in_path(path)
    })?;
    if found.len() as u64 != bytes {
        return Err(Error::history_corruption(format!(
            "expected at least {bytes} bytes, as the manifest of the history journal says, found {}",
            found.len()
        ))
        .in_path(path));
    }
    Ok(found)
}

/// The mapping in a line.
pub(super) fn mapping(line: &[u8], what: impl Fn() -> String) -> Result<State> {
    let text = std::str::from_utf8(line).map_err(|error| {
        let at = error.valid_up_to();
        let what = what();
        Error::history_corruption(format!(
            "expected UTF-8 as {what}, found another byte at offset {at} of it"
        ))
    })?;
    match json_loads(text) {
        Ok(Value::Map(state)) => Ok(state),
        Ok(other) => {
            let (what, found) = (what(), other.type_name());
            Err(Error::history_corruption(format!(
                "expected a mapping as {what}, found a value of type {found}"
            )))
        }
        Err(error) => {
            let (what, error) = (what(), shown(&error.to_string()));
            Err(Error::history_corruption(format!(
                "expected JSON as {what}: {error}"
            )))
        }
    }
}

/// The value of a number.
pub(super) fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

/// A whole number from 0; a bool counts as one, as in Python.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Bool(flag) => Some(u64::from(*flag)),
        Value::Int(int) => u64::try_from(*int).ok(),
        _ => None,
    }
}
