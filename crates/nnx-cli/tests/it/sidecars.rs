//! `nnx inspect --json --hash` against what the real library says of its checkpoints.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nnx::params::{State, Value, python_text};

/// Fewer would mean that fixtures were lost.
const LEAST_FILES: usize = 100;

#[test]
fn checkpoints_are_shown_as_the_real_library_has_them() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut files = 0;
    let folders = ["nnx-0.2.3/checkpoints", "nnx-0.4.1/checkpoints"];
    for folder in folders.map(|folder| fixtures.join(folder)) {
        for entry in fs::read_dir(folder).unwrap() {
            let sidecar = entry.unwrap().path();
            // No checkpoint, and its side-car is of another kind; a golden file shows it.
            if sidecar.ends_with("export_state_dict.json") {
                continue;
            }
            if sidecar
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files += check(&sidecar);
            }
        }
    }
    assert!(files >= LEAST_FILES, "{files} files");
}

/// Judges each form of a checkpoint; returns how many there are.
fn check(sidecar: &Path) -> usize {
    let expected = json(&fs::read_to_string(sidecar).unwrap());
    let files = expected.get("files").unwrap().as_map().unwrap().iter();
    // A form that the library refused to write has no name here.
    let forms: Vec<PathBuf> = files
        .filter_map(|(_, file)| file.as_map()?.get("name"))
        .map(|name| sidecar.with_file_name(name.as_str().unwrap()))
        .collect();
    assert!(!forms.is_empty(), "{} has no file", sidecar.display());
    for path in &forms {
        let found = inspect(path);
        let place = path.display().to_string();
        let in_pickle = path.extension().is_some_and(|extension| extension == "pt");
        check_tensors(
            &place,
            items(&found, "tensors"),
            items(&expected, "tensors"),
            in_pickle,
        );
        check_configuration(&place, &found, &expected);
    }
    forms.len()
}

/// Names, dtypes, shapes, sizes, hashes and (for pickles) which tensors share a storage; the order
/// is that of the file, which side-cars of safetensors files do not have.
fn check_tensors(place: &str, found: &[Value], expected: &[Value], in_pickle: bool) {
    let expected: Vec<&State> = expected
        .iter()
        .map(|tensor| tensor.as_map().unwrap())
        .filter(|tensor| tensor.get("non_tensor").is_none())
        .collect();
    assert_eq!(found.len(), expected.len(), "{place}");
    let mut storages = HashMap::new();
    for (index, tensor) in expected.iter().enumerate() {
        let name = tensor.get("name").unwrap();
        let found = if in_pickle {
            found[index].as_map().unwrap()
        } else {
            let mut found = found.iter().map(|found| found.as_map().unwrap());
            found
                .find(|found| found.get("name") == Some(name))
                .expect("the tensor")
        };
        for (ours, theirs) in [
            ("name", "name"),
            ("dtype", "dtype"),
            ("shape", "shape"),
            ("bytes", "nbytes"),
            ("sha256", "sha256"),
        ] {
            assert_eq!(found.get(ours), tensor.get(theirs), "{place}: {name:?}");
        }
        if in_pickle {
            let storage = |state: &State| state.get("storage").unwrap().as_int().unwrap();
            let ours = storage(found);
            let known = storages.entry(storage(tensor)).or_insert(ours);
            assert_eq!(*known, ours, "{place}: {name:?}");
        }
    }
    let numbers: std::collections::HashSet<_> = storages.values().collect();
    assert_eq!(numbers.len(), storages.len(), "{place}: storages");
}

/// The states with their key order and number types. (Those of the older library have other keys
/// than this version writes.)
fn check_configuration(place: &str, found: &State, expected: &State) {
    if expected.get("nnx") != Some(&Value::from("0.4.1")) {
        return;
    }
    let Some(model_params) = expected.get("model_params_state") else {
        assert_eq!(found.get("nn_checkpoint"), None, "{place}");
        return;
    };
    let found = found.get("nn_checkpoint").unwrap().as_map().unwrap();
    let expect = |key: &str, value: &Value| {
        assert_eq!(
            found.get(key),
            Some(&numbers_as_texts(value)),
            "{place}: {key}"
        );
    };
    expect("model_params", model_params);
    expect(
        "net_params",
        expected.get("net_params_state").unwrap_or(&Value::None),
    );
    expect("idp", expected.get("idp_state").unwrap());
    expect("transforms", expected.get("transforms").unwrap());
    expect(
        "training_state_id",
        expected.get("training_state_id").unwrap(),
    );
    expect(
        "training_state_present",
        expected.get("training_state_present").unwrap(),
    );
}

/// Side-cars write `{"float": "nan"}` for the floats that JSON lacks; the command writes texts.
fn numbers_as_texts(value: &Value) -> Value {
    match value {
        Value::Map(state) => match (state.len(), state.get("float")) {
            (1, Some(Value::Str(text))) => Value::from(match text.as_str() {
                "nan" => "NaN",
                "inf" => "Infinity",
                "-inf" => "-Infinity",
                other => panic!("`{other}` is no such float"),
            }),
            _ => {
                let pairs = state
                    .iter()
                    .map(|(key, value)| (key, numbers_as_texts(value)));
                Value::Map(pairs.collect())
            }
        },
        Value::List(items) => Value::List(items.iter().map(numbers_as_texts).collect()),
        other => other.clone(),
    }
}

fn inspect(path: &Path) -> State {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    let done = command
        .arg("inspect")
        .arg(path)
        .args(["--json", "--hash"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {errors}", path.display());
    json(&String::from_utf8(done.stdout).unwrap())
}

fn json(text: &str) -> State {
    match python_text::json_loads(text).unwrap() {
        Value::Map(state) => state,
        other => panic!("{other:?} is no object"),
    }
}

fn items<'a>(state: &'a State, key: &str) -> &'a [Value] {
    state.get(key).unwrap().as_items().unwrap()
}
