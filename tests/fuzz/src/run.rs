//! The texts of a run: YAML and the history.

use nnx_params::{NNIterationDataPoint, Value, python_text};
use nnx_run::history::{from_csv, to_csv};
use nnx_run::yaml::{from_yaml, to_yaml};

/// A mapping that is read is written and read again, and is the same.
///
/// # Panics
/// When a promise is broken.
pub fn yaml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(Value::Map(state)) = from_yaml(&text) else {
        return;
    };
    let written = to_yaml(&state);
    let again = from_yaml(&written).expect("what was written is read");
    let again = again.as_map().expect("a mapping stays one");
    assert_eq!(to_yaml(again), written, "the second writing differs");
}

/// A history that is read is written and read again, and has the same records.
///
/// # Panics
/// When a promise is broken.
pub fn history(data: &[u8]) {
    let Ok(records) = from_csv(data) else {
        return;
    };
    let written = to_csv(&records).expect("what was read is written");
    let again = from_csv(written.as_bytes()).expect("what was written is read");
    let texts = |records: &[NNIterationDataPoint]| -> Vec<String> {
        let states = records.iter().map(|record| Value::from(record.state()));
        states.map(|state| python_text::repr(&state)).collect()
    };
    assert_eq!(texts(&records), texts(&again));
}
