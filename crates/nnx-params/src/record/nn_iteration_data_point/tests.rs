//! States in the form that NNx 0.4.1 nests them in checkpoints.

use crate::python::text::{json_dumps, json_loads};
use crate::{NNIterationDataPoint, Result, State};

fn read(text: &str) -> Result<(State, NNIterationDataPoint)> {
    let value = json_loads(text).unwrap();
    let state = value.as_map().unwrap().clone();
    NNIterationDataPoint::from_state(&state).map(|point| (state, point))
}

const EDP: &str = r#"{"f1": 0.5, "recall": NaN, "accuracy": 1, "precision": null, "loss": Infinity, "error": 0.25, "extra": {"a": 2.0, "b": 1.0}}"#;
const RECORD: &str = r#"{"f1": null, "recall": null, "accuracy": null, "precision": null, "loss": 0.5, "error": null, "kind": "regression", "count": 3, "status": "ok", "metrics": {"mae": 0.25, "mse": 0.5}}"#;
const SELECTION: &str = r#"{"monitor": {"metric": "loss", "split": "val", "mode": "min", "min_delta": 0.5, "on_missing": "skip", "on_nonfinite": "error"}, "value": 0.5, "status": "ok", "improved": true}"#;

fn full() -> String {
    format!(
        r#"{{"lr": 0.01, "iter_idx": 7, "epoch_idx": 1, "batch_idx": 3, "train_edp": {EDP}, "val_edp": {RECORD}, "train_summary": {EDP}, "selection": {SELECTION}, "update_count": 4}}"#
    )
}

#[test]
fn every_field_comes_back() {
    let (state, point) = read(&full()).unwrap();
    assert_eq!(point.state(), state);
    assert_eq!(json_dumps(&point.state().into()), full());
    assert_eq!(point.val_edp().unwrap().count(), Some(3));
    assert!(point.selection().unwrap().improved());
    assert_eq!(point.train_edp().extra().len(), 2);
}

#[test]
fn unknown_keys_stay_at_their_level() {
    let text = full()
        .replace(r#""update_count": 4"#, r#""update_count": 4, "later": [1]"#)
        .replace(r#""b": 1.0}}"#, r#""b": 1.0}, "later": {"x": null}}"#)
        .replace(
            r#""on_nonfinite": "error""#,
            r#""on_nonfinite": "error", "later": "m""#,
        )
        .replace(r#""improved": true"#, r#""improved": true, "later": "r""#);
    assert_eq!(text.matches("later").count(), 5);
    let (state, point) = read(&text).unwrap();
    assert_eq!(point.full_state(), state);
    assert_eq!(json_dumps(&point.state().into()), full());
    assert_eq!(point.unknown().keys().collect::<Vec<_>>(), ["later"]);
}

#[track_caller]
fn check_fails(from: &str, to: &str, exception: &str, message: &str) {
    let text = full().replacen(from, to, 1);
    assert_ne!(text, full());
    let error = read(&text).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert_eq!(error.python_exception(), exception);
}

#[test]
fn faults_are_named() {
    check_fails(
        r#""lr": 0.01, "#,
        "",
        "KeyError",
        "a NNIterationDataPoint state must have the key `lr`, found none",
    );
    check_fails(
        r#""count": 3"#,
        r#""count": -1"#,
        "ValueError",
        "NNEvaluationDataPoint.count must be an integer >= 0, found `-1` (int)",
    );
    check_fails(
        r#""count": 3"#,
        r#""count": 1180591620717411303424"#,
        "ValueError",
        "NNEvaluationDataPoint.count must be an integer of at most 64 bits, found `1180591620717411303424` (int)",
    );
    check_fails(
        r#""count": 3"#,
        r#""count": 1e30"#,
        "ValueError",
        "NNEvaluationDataPoint.count must be an integer of at most 64 bits, found `1e+30` (float)",
    );
    check_fails(
        r#""count": 3"#,
        r#""count": 0"#,
        "ValueError",
        "NNEvaluationDataPoint.status must be `empty` beside a `count` of 0, found `'ok'` (str)",
    );
    check_fails(
        r#""kind": "regression", "#,
        "",
        "ValueError",
        "NNEvaluationDataPoint.count must be None beside no `kind`, found `3` (int)",
    );
    check_fails(
        r#""f1": 0.5"#,
        r#""f1": "0.5""#,
        "TypeError",
        "NNEvaluationDataPoint.f1 must be a number, found `'0.5'` (str)",
    );
    check_fails(
        r#""status": "ok", "improved""#,
        r#""status": "good", "improved""#,
        "ValueError",
        "MonitorRecord.status must be one of `ok`, `missing`, `nonfinite`, found `'good'` (str)",
    );
    check_fails(
        r#""split": "val""#,
        r#""split": "test""#,
        "ValueError",
        "MonitorSpec.split must be one of `val`, `train`, found `'test'` (str)",
    );
}

#[test]
fn states_of_the_first_version_lack_what_came_later() {
    let text = r#"{"lr": 1, "iter_idx": 0, "epoch_idx": 0, "batch_idx": 0, "train_edp": {"f1": 0.5, "recall": 0.5, "accuracy": 0.5, "precision": 0.5, "loss": null, "error": null}, "val_edp": null}"#;
    let (_, point) = read(text).unwrap();
    assert_eq!(json_dumps(&point.state().into()), text);
}
