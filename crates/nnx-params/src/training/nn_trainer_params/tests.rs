//! States in the form of NNx 0.4.1, with keys of a later version at every level.

use crate::NNTrainerParams;
use crate::python::text::{json_dumps, json_loads};

const STATE: &str = r#"{"n_epochs": 4, "optims": {"d": {"factory": {"id": "my.opt", "version": 2, "config": {"a": [1, 2.5]}}, "max_lr": 0.1, "weight_decay": 0.0, "param_groups": [{"name_pattern": "a", "lr": 1}]}, "g": {"max_lr": 0.001, "momentum": "(0.5, 0.999)", "name": "adam", "weight_decay": 0.0}}, "schedulers": {"g": {"min_lr": 1e-07, "factor": 0.95, "cooldown": 2, "patience": 8, "threshold": 0.001}}, "seed": 3, "parent_run_id": "abc", "parent_checkpoint": "best", "auto_step_schedulers": false, "metrics": [{"id": "acc", "version": 1, "name": "acc"}], "monitor": {"metric": "acc", "split": "train", "mode": null, "min_delta": 0.0, "on_missing": "skip", "on_nonfinite": "skip"}}"#;

#[test]
fn unknown_keys_stay_at_their_level() {
    let mut text = STATE.to_owned();
    for end in [
        r#""config": {"a": [1, 2.5]}"#,
        r#""lr": 1"#,
        r#""weight_decay": 0.0}}"#,
        r#""threshold": 0.001"#,
        r#""name": "acc""#,
        r#""on_nonfinite": "skip""#,
    ] {
        let closing = end.ends_with("}}");
        let inner = if closing {
            end.trim_end_matches('}')
        } else {
            end
        };
        let tail = if closing { "}}" } else { "" };
        let longer = format!(r#"{inner}, "later": null{tail}"#);
        assert_eq!(text.matches(end).count(), 1, "{end}");
        text = text.replace(end, &longer);
    }
    text = text.trim_end_matches('}').to_owned() + r#"}, "later": 1}"#;
    let value = json_loads(&text).unwrap();
    let params = NNTrainerParams::from_state(value.as_map().unwrap()).unwrap();
    assert_eq!(json_dumps(&params.full_state().into()), text);
    assert_eq!(json_dumps(&params.state().into()), STATE);
}

#[track_caller]
fn check_fails(from: &str, to: &str, exception: &str, field: &str) {
    let text = STATE.replacen(from, to, 1);
    assert_ne!(text, STATE);
    let value = json_loads(&text).unwrap();
    let error = NNTrainerParams::from_state(value.as_map().unwrap()).unwrap_err();
    assert_eq!(
        (error.python_exception(), error.field()),
        (exception, Some(field)),
        "{error}"
    );
}

#[test]
fn faults_are_named() {
    check_fails(
        r#""n_epochs": 4"#,
        r#""n_epochs": 0"#,
        "ValueError",
        "n_epochs",
    );
    check_fails(
        r#""schedulers": {"g""#,
        r#""schedulers": {"x""#,
        "ValueError",
        "schedulers",
    );
    check_fails(r#""name": "adam", "#, "", "KeyError", "name");
    check_fails(
        r#""(0.5, 0.999)""#,
        r#""(0.5, 1.0)""#,
        "ValueError",
        "momentum[1]",
    );
    check_fails(
        r#""(0.5, 0.999)""#,
        r#""[0.5, 0.9]""#,
        "ValueError",
        "momentum",
    );
    check_fails(r#""name_pattern": "a", "#, "", "KeyError", "name_pattern");
    check_fails(
        r#""name": "acc""#,
        r#""name": "loss""#,
        "ValueError",
        "name",
    );
    check_fails(
        r#""name": "acc""#,
        r#""name": "acc2""#,
        "ValueError",
        "monitor",
    );
    check_fails(r#""id": "my.opt""#, r#""id": "my opt""#, "ValueError", "id");
    check_fails("2.5", "NaN", "ValueError", "config['a'][1]");
}
