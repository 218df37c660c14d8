//! The YAML of the real library, written and read.

use nnx_params::Value;
use nnx_run::ErrorKind;
use nnx_run::yaml::{from_yaml, to_yaml};
use nnx_tests::{Json, fixtures_dir};

fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(state) => {
            let mut entries: Vec<_> = state.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter();
            Value::Map(entries.map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::List(items) => Value::List(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[test]
fn every_case_is_written_and_read_as_in_python() {
    let cases = Json::read(&fixtures_dir().join("nnx-0.4.1/params/yaml_cases.json")).items();
    for case in &cases {
        let desc = case.get("desc");
        let (state, text) = (case.get("state"), case.get("text"));
        assert_eq!(to_yaml(state.state()), text.text(), "{}", desc.text());
        assert_eq!(case.get("roundtrip_equal").0, Value::Bool(true));
        let read = from_yaml(text.text()).unwrap();
        assert_eq!(sorted(&read), sorted(&state.0), "{}", desc.text());
    }
    assert_eq!(cases.len(), 31);
    println!("yaml_cases.json: {} cases judged", cases.len());
}

#[track_caller]
fn check(text: &str, expected: impl Into<Value>) {
    let value = from_yaml(&format!("k: {text}\n")).unwrap();
    assert_eq!(value.as_map().unwrap().get("k"), Some(&expected.into()));
}

#[test]
fn plain_scalars_mean_what_yaml_1_1_says() {
    check("1e5", "1e5");
    check("1e+5", "1e+5");
    check("1.0e+5", 1e5);
    check("1.0e5", "1.0e5");
    check(".5", 0.5);
    check("-.5", "-.5");
    check("0o7", "0o7");
    check("010", 8);
    check("0x1F", 31);
    check("0b101", 5);
    check("1_000", 1000);
    check("1:30", 90);
    check("1:30.5", 90.5);
    check("-.inf", f64::NEG_INFINITY);
    check("off", false);
    check("Yes", true);
    check("y", "y");
    check("~", Value::None);
    check("", Value::None);
    check("2024-1-1", "2024-1-1");
    check("!!str 12", "12");
    check("!!float '1.5'", 1.5);
}

#[track_caller]
fn check_fails(text: &str, part: &str) {
    let error = from_yaml(text).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn what_no_state_holds_is_refused() {
    check_fails("k: 2024-01-01", "a timestamp");
    check_fails("<<: {a: 1}", "a merge key");
    check_fails("k: =", "the value key");
    check_fails("1: a", "a text as key");
    check_fails("[a]: b", "a text as key");
    check_fails("k: !!python/object/apply:os.system [ls]", "plain data");
    check_fails("k: !!int x", "with the tag `!!int`");
    check_fails("a: 1\n---\nb: 2\n", "a second one");
    check_fails("a: [", "expected YAML");
    check_fails("a: &x [*x]", "expected");
}

/// A text that PyYAML 6.0 loads as a type that no state has is unsupported, not malformed.
#[test]
fn what_pyyaml_holds_besides_is_unsupported() {
    for text in [
        "k: 2024-01-01",
        "<<: {a: 1}",
        "1: a",
        "k: !!set {a, b}",
        "k: !!binary aGk=",
        "k: !!timestamp 2024-01-01",
        "k: !!omap [a: 1]",
    ] {
        let error = from_yaml(text).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported { .. }),
            "{text}: {error}"
        );
    }
    for text in ["[1, 2]: b", "k: !!int x", "k: !!python/tuple [1]", "a: ["] {
        let error = from_yaml(text).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Malformed { .. }),
            "{text}: {error}"
        );
    }
}

#[test]
fn aliases_stand_for_what_they_name() {
    let value = from_yaml("a: &x [1, 2]\nb: *x\n").unwrap();
    let state = value.as_map().unwrap();
    assert_eq!(state.get("a"), state.get("b"));
}
