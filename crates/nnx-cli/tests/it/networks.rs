//! The commands that run a model, against what the real library says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nnx::checkpoint::{Dtype, Tensor, safetensors};
use serde_json::Value;

/// Fewer would mean that fixtures were lost.
const LEAST_FORWARD_BLOCKS: usize = 45;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    command.current_dir(fixtures()).args(arguments);
    command.output().unwrap()
}

#[track_caller]
fn object(arguments: &[&str]) -> Value {
    let done = run(arguments);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {stderr}");
    serde_json::from_slice(&done.stdout).unwrap()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn expected(command: &str) -> Value {
    read(&fixtures().join("command/expected.json"))[command].take()
}

/// Equal but for numbers, which differ by that much at most.
#[track_caller]
fn check(found: &Value, expected: &Value, tolerance: f64, at: &str) {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{at}");
            for (found, expected) in found.iter().zip(expected) {
                check(found, expected, tolerance, at);
            }
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            let difference = (found - expected).abs();
            assert!(
                difference <= tolerance,
                "{at}: {found} instead of {expected}"
            );
        }
        _ => assert_eq!(found, expected, "{at}"),
    }
}

#[test]
fn predictions_are_those_of_the_real_library() {
    let expected = expected("predict");
    for (net, expected) in expected.as_object().unwrap() {
        let model = format!("nnx-0.4.1/checkpoints/{net}.pt");
        let input = match net.as_str() {
            graph if graph.starts_with("graph") => "command/graph.safetensors".to_owned(),
            other => format!("command/{other}.npy"),
        };
        let mut arguments = vec!["predict", &model, &input, "--json"];
        if expected.get("probabilities").is_some() {
            arguments.push("--proba");
        }
        let found = object(&arguments);
        for (member, expected) in expected.as_object().unwrap() {
            check(&found[member], expected, 1e-5, &format!("{net} {member}"));
        }
        assert_eq!(
            found.as_object().unwrap().len(),
            expected.as_object().unwrap().len()
        );
    }
}

#[test]
fn every_form_of_an_input_gives_the_same_prediction() {
    let (predictions, at) = (expected("predict"), "nnx-0.4.1/checkpoints");
    for (net, input) in [
        ("ff_relu", "ff_relu.csv"),
        ("ff_relu", "bare.csv"),
        ("ff_relu", "ff_relu.safetensors"),
        ("ff_relu", "ff_relu.npz"),
        ("ff_relu", "float64_fortran.npy"),
        ("transformer_tied", "tokens_uint8.npy"),
        ("transformer_tied", "tokens.csv"),
    ] {
        for form in ["pt", "safetensors"] {
            let (model, path) = (format!("{at}/{net}.{form}"), format!("command/{input}"));
            let found = object(&["predict", &model, &path, "--json"]);
            check(&found["logits"], &predictions[net]["logits"], 1e-5, &path);
        }
    }
}

#[test]
fn forward_blocks_and_hub_folders_give_their_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("input.safetensors");
    let mut judged = 0;
    for folder in [
        "nnx-0.4.1/checkpoints",
        "nnx-0.2.3/checkpoints",
        "nnx-0.4.1/hub",
    ] {
        for side_car in fs::read_dir(fixtures().join(folder)).unwrap() {
            let side_car = side_car.unwrap().path();
            if side_car
                .extension()
                .is_none_or(|extension| extension != "json")
            {
                continue;
            }
            let forward = &read(&side_car)["forward"];
            let Some(inputs) = forward["inputs"].as_array() else {
                continue;
            };
            let model = if side_car.with_extension("").is_dir() {
                side_car.with_extension("")
            } else {
                side_car.with_extension("pt")
            };
            let named: Vec<(&str, Tensor)> = ["x", "edge_index"]
                .into_iter()
                .zip(inputs.iter().map(tensor))
                .collect();
            let named: Vec<(&str, &Tensor)> =
                named.iter().map(|(name, tensor)| (*name, tensor)).collect();
            let mut file = fs::File::create(&input).unwrap();
            safetensors::write(&mut file, &named, None).unwrap();
            let (model, input) = (model.to_str().unwrap(), input.to_str().unwrap());
            let found = object(&["predict", model, input, "--json"]);
            let flat = Value::Array(flat(&found["logits"]));
            check(&flat, &forward["output"]["data"], 1e-5, model);
            judged += 1;
        }
    }
    assert!(judged >= LEAST_FORWARD_BLOCKS, "{judged} forward blocks");
}

/// An input of a side-car.
fn tensor(input: &Value) -> Tensor {
    let numbers = input["data"].as_array().unwrap().iter();
    let (dtype, bytes): (_, Vec<u8>) = match input["dtype"].as_str().unwrap() {
        "float32" => {
            let numbers = numbers.flat_map(|n| (n.as_f64().unwrap() as f32).to_le_bytes());
            (Dtype::Float32, numbers.collect())
        }
        "int64" => {
            let numbers = numbers.flat_map(|n| n.as_i64().unwrap().to_le_bytes());
            (Dtype::Int64, numbers.collect())
        }
        other => panic!("an input of dtype {other}"),
    };
    let shape = input["shape"].as_array().unwrap().iter();
    let shape: Vec<usize> = shape.map(|n| n.as_u64().unwrap() as usize).collect();
    Tensor::from_bytes(dtype, &shape, bytes).unwrap()
}

fn flat(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        other => vec![other.clone()],
    }
}

#[test]
fn evaluations_are_those_of_the_real_library() {
    let expected = expected("evaluate");
    for (name, data, more) in [
        ("classes", "classes.safetensors", &[][..]),
        ("classes", "classes.csv", &["--label", "species"]),
        (
            "classes",
            "classes.csv",
            &["--label", "1", "--batch-size", "1"],
        ),
        (
            "species",
            "species.csv",
            &["--label", "species", "--batch-size", "4"],
        ),
        ("several", "several.csv", &["--label", "p", "--label", "q"]),
        ("numbers", "numbers.csv", &[]),
    ] {
        let (model, data) = (format!("command/{name}.pt"), format!("command/{data}"));
        let mut arguments = vec!["evaluate", &model, &data, "--json"];
        arguments.extend(more);
        let found = object(&arguments);
        let (found, expected) = (
            found.as_object().unwrap(),
            expected[name].as_object().unwrap(),
        );
        let keys = |map: &serde_json::Map<String, Value>| -> Vec<String> {
            let keys = map.iter().filter(|(_, value)| !value.is_null());
            keys.map(|(key, _)| key.clone()).collect()
        };
        assert_eq!(keys(found), keys(expected), "{arguments:?}");
        for (metric, expected) in expected {
            let at = format!("{metric} of {arguments:?}");
            match (&found[metric], expected) {
                (Value::Object(found), Value::Object(expected)) => {
                    for (name, expected) in expected {
                        check(&found[name], expected, 1e-6, &at);
                    }
                }
                (found, expected) => check(found, expected, 1e-6, &at),
            }
        }
    }
}

#[test]
fn greedy_text_is_that_of_the_real_library() {
    let model = "nnx-0.4.1/hub/generative_tokenizer";
    let cases = expected("generate");
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let prompt = case["prompt"].as_str().unwrap();
        let arguments = ["generate", model, prompt, "--temperature", "0"];
        let done = run(&arguments);
        let text = case["text"].as_str().unwrap();
        assert_eq!(String::from_utf8(done.stdout).unwrap(), format!("{text}\n"));
        let found = object(&[&arguments[..], &["--json"]].concat());
        assert_eq!(found["tokens"], case["tokens"], "{prompt}");
        assert_eq!(found["text"], case["text"], "{prompt}");
        assert_eq!(found["tokens"].as_array().unwrap().len(), 64);
    }
}

#[test]
fn logits_are_written_as_numpy_would() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("logits.npy");
    let path = output.to_str().unwrap();
    let [model, input] = ["nnx-0.4.1/checkpoints/ff_relu.pt", "command/ff_relu.npy"];
    let done = run(&["predict", model, input, "--output", path]);
    assert!(done.status.success(), "{done:?}");
    let found = fs::read(&output).unwrap();
    // numpy.save of a float32 array of that shape has a header of 128 bytes.
    let header =
        b"\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }";
    assert!(
        found.starts_with(header),
        "{:?}",
        String::from_utf8_lossy(&found)
    );
    let (numbers, _) = found[128..].as_chunks();
    let numbers = numbers
        .iter()
        .map(|bytes| Value::from(f64::from(f32::from_le_bytes(*bytes))));
    let expected = Value::Array(flat(&expected("predict")["ff_relu"]["logits"]));
    check(
        &Value::Array(numbers.collect()),
        &expected,
        1e-6,
        "logits.npy",
    );
}

/// The numbers of a prediction, and the text on standard error.
#[track_caller]
fn logits(arguments: &[&str]) -> (Value, String) {
    let mut all = vec!["predict"];
    all.extend(arguments);
    all.push("--json");
    let done = run(&all);
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{all:?}: {stderr}");
    let mut object: Value = serde_json::from_slice(&done.stdout).unwrap();
    (object["logits"].take(), stderr)
}

#[test]
fn a_header_of_numbers_is_no_sample() {
    let case = |name: &str| format!("cases/E60_integer_header/{name}");
    let (model, plain, input) = (case("ff_relu.pt"), case("plain.csv"), case("inputs.csv"));
    let (expected, said) = logits(&[&model, &plain]);
    assert_eq!((expected.as_array().unwrap().len(), said.as_str()), (2, ""));

    let (found, said) = logits(&[&model, &input]);
    assert_eq!(found, expected);
    assert!(
        said.contains("`0,1,2,3`") && said.contains("--header no"),
        "{said}"
    );
    let (found, said) = logits(&[&model, &input, "--header", "yes"]);
    assert_eq!((found, said.as_str()), (expected.clone(), ""));
    let (found, said) = logits(&[&model, &input, "--header", "no"]);
    assert_eq!((found.as_array().unwrap().len(), said.as_str()), (3, ""));
    assert_eq!(
        found.as_array().unwrap()[1..],
        expected.as_array().unwrap()[..]
    );
    let (found, _) = logits(&[&model, &plain, "--header", "yes"]);
    assert_eq!(
        found.as_array().unwrap()[..],
        expected.as_array().unwrap()[1..]
    );
}

/// The table of an evaluation whose columns are numbered, against the same one with names.
#[test]
fn an_evaluation_takes_no_header_of_numbers_for_a_sample() {
    let named = fs::read_to_string(fixtures().join("command/classes.csv")).unwrap();
    let (header, samples) = named.split_once('\n').unwrap();
    let width = header.split(',').count();
    let numbers: Vec<String> = (0..width).map(|number| number.to_string()).collect();
    let label = header
        .split(',')
        .position(|name| name == "species")
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("numbered.csv");
    fs::write(&data, format!("{}\n{samples}", numbers.join(","))).unwrap();

    let (data, label) = (data.to_str().unwrap(), label.to_string());
    let arguments = [
        "evaluate",
        "command/classes.pt",
        data,
        "--label",
        &label,
        "--json",
    ];
    let done = run(&arguments);
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{stderr}");
    let mut found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let notes = found.as_object_mut().unwrap().remove("notes").unwrap();
    assert_eq!(notes.as_array().unwrap().len(), 1);
    assert!(stderr.contains(notes[0].as_str().unwrap()), "{stderr}");
    let names = [
        "evaluate",
        "command/classes.pt",
        "command/classes.csv",
        "--label",
        "species",
        "--json",
    ];
    assert_eq!(found, object(&names));

    // `--header` goes with tables alone.
    let array = [
        "predict",
        "nnx-0.4.1/checkpoints/ff_relu.pt",
        "command/ff_relu.npy",
        "--header",
        "no",
    ];
    let refused = run(&array);
    assert_eq!(refused.status.code(), Some(2));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("`--header` needs a CSV file"), "{stderr}");
}
