//! Random states and histories: both sides write the same text, and read the same values back.

use nnx_params::{NNIterationDataPoint, State, Value, python_text};
use nnx_run::history::{from_csv, to_csv};
use nnx_run::yaml::{from_yaml, to_yaml};

use super::python::{Python, path};
use crate::Result;

/// The number of random states, and of random histories, which take Python longer.
const STATES: usize = 5_000;
const HISTORIES: usize = 400;

pub(super) fn judge(python: &mut Python, seed: u32) -> Result<()> {
    let count = |count: usize| [("seed", seed.into()), ("count", count.into())];
    let cases = python.ask("yaml_texts", count(STATES))?;
    let cases = cases.as_items().ok_or("the answer is a list")?;
    let mut read = 0;
    for case in cases {
        let case = with_floats(case);
        let (state, text) = (member(&case, "state")?, text(&case, "text")?);
        let state = state.as_map().ok_or("a state is a mapping")?;
        same(&to_yaml(state), text)?;
        if member(&case, "reads")? == &Value::Bool(true) {
            let found = sorted(&from_yaml(text)?);
            same(
                &python_text::repr(&found),
                &python_text::repr(&sorted(&state.clone().into())),
            )?;
            read += 1;
        }
    }
    println!(
        "{} states as YAML, `--seed {seed}`: same text, {read} of them read back",
        cases.len()
    );

    let root = tempfile::tempdir()?;
    let [seed_argument, count_argument] = count(HISTORIES);
    let cases = python.ask(
        "histories",
        [("root", path(root.path())), seed_argument, count_argument],
    )?;
    let cases = cases.as_items().ok_or("the answer is a list")?;
    let mut rows = 0;
    for case in cases {
        let case = with_floats(case);
        let text = text(&case, "text")?;
        let before = member(&case, "before")?.as_items().ok_or("a list")?;
        let before: Vec<_> = before
            .iter()
            .map(|state| NNIterationDataPoint::from_state(state.as_map().unwrap_or(&State::new())))
            .collect::<Result<_, _>>()?;
        same(&to_csv(&before)?, text)?;
        let after = from_csv(text.as_bytes())?;
        let after = after.iter().map(|record| Value::from(record.state()));
        let after = Value::List(after.collect());
        same(
            &python_text::repr(&after),
            &python_text::repr(member(&case, "after")?),
        )?;
        rows += before.len();
    }
    println!(
        "{} histories of {rows} records, `--seed {seed}`: same text, same values",
        cases.len()
    );
    Ok(())
}

fn same(ours: &str, theirs: &str) -> Result<()> {
    if ours == theirs {
        Ok(())
    } else {
        Err(format!("ours:\n{ours}\nPython's:\n{theirs}").into())
    }
}

pub(super) fn member<'a>(value: &'a Value, key: &str) -> Result<&'a Value> {
    let member = value.as_map().and_then(|state| state.get(key));
    Ok(member.ok_or_else(|| format!("Python's answer has no `{key}`"))?)
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    let text = member(value, key)?.as_str();
    Ok(text.ok_or_else(|| format!("`{key}` of Python's answer is no text"))?)
}

/// Turns `{"float": "nan"}` into the float.
pub(super) fn with_floats(value: &Value) -> Value {
    match value {
        Value::Map(state) => match (state.len(), state.get("float").and_then(Value::as_str)) {
            (1, Some(text)) if text.parse::<f64>().is_ok() => {
                Value::Float(text.parse().unwrap_or(f64::NAN))
            }
            _ => Value::Map(
                state
                    .iter()
                    .map(|(key, value)| (key, with_floats(value)))
                    .collect(),
            ),
        },
        Value::List(items) => Value::List(items.iter().map(with_floats).collect()),
        other => other.clone(),
    }
}

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
