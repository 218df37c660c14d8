//! The cases of public bug reports that are of model folders: `M*`, and the indices `C1*`.

use std::path::PathBuf;

use nnx_checkpoint::{CheckpointReader, StateDict, Tensor};
use nnx_hub::{BoxError, Error, ErrorKind, Folder, FolderWriter, LoadOptions, ModelHubMixin};
use nnx_net::NNModel;
use nnx_params::{State, Value};
use nnx_tests::{Json, fixtures_dir};
use serde::{Deserialize, Serialize};

use super::folders::{Plain, sha256};

fn case(path: &str) -> PathBuf {
    fixtures_dir().join("cases").join(path)
}

#[track_caller]
fn check_case(folder: &str, name: &str, weights: &StateDict) {
    let expected = Json::read(&case(folder).join("expected.json"));
    let tensors = expected.get("files").get(name).get("tensors");
    assert_eq!(tensors.state().len(), weights.len());
    for name in tensors.state().keys() {
        let found: &Tensor = weights.tensor(name).unwrap();
        let hash = sha256(&found.to_bytes().unwrap());
        assert_eq!(hash, tensors.get(name).get("sha256").text());
    }
}

/// A typed configuration with a default.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    hidden_size: usize,
    vocab_size: usize,
    #[serde(default = "no_note")]
    note: Option<String>,
    #[serde(default = "half")]
    dropout: f64,
}

fn no_note() -> Option<String> {
    Some("default".to_owned())
}

fn half() -> f64 {
    0.5
}

struct Typed {
    config: Config,
    weights: StateDict,
}

impl ModelHubMixin for Typed {
    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        folder.config(&self.config)?;
        Ok(folder.state_dict(&self.weights)?)
    }

    fn read_pretrained(folder: &Folder, _: &LoadOptions) -> Result<Self, BoxError> {
        Ok(Self {
            config: folder.config()?,
            weights: folder.state_dict()?,
        })
    }
}

#[test]
fn m01_a_typed_configuration_is_built_from_the_file() {
    let model = Typed::from_pretrained(case("M01_config_object/repo")).unwrap();
    let expected = Config {
        hidden_size: 8,
        vocab_size: 16,
        note: None,
        dropout: 0.5,
    };
    assert_eq!(model.config, expected);
    check_case("M01_config_object", "repo", &model.weights);
}

#[test]
fn m01_an_unknown_field_is_kept_out_and_a_wrong_one_named() {
    let folder = tempfile::tempdir().unwrap();
    let weights = case("M01_config_object/repo/model.safetensors");
    std::fs::copy(weights, folder.path().join("model.safetensors")).unwrap();
    let config = folder.path().join("config.json");
    std::fs::write(&config, r#"{"hidden_size": 1, "vocab_size": 2, "new": 3}"#).unwrap();
    let model = Typed::from_pretrained(folder.path()).unwrap();
    assert_eq!(model.config.note.as_deref(), Some("default"));
    std::fs::write(&config, r#"{"hidden_size": 1}"#).unwrap();
    let error = Typed::from_pretrained(folder.path()).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Config { .. }));
    assert!(error.to_string().contains("vocab_size"), "{error}");
}

#[test]
fn m03_tied_weights_are_saved_and_both_names_come_back() {
    let reader = CheckpointReader::open(case("M03_tied_in_mixin/tied.pt")).unwrap();
    let mut weights = StateDict::new();
    for entry in reader.tensors() {
        weights.insert(entry.name(), reader.tensor(entry.name()).unwrap());
    }
    let storages: Vec<_> = reader
        .tensors()
        .iter()
        .map(|entry| entry.storage())
        .collect();
    assert_eq!(storages[0], storages[1], "the case is of tied weights");
    let model = Plain {
        config: State::new(),
        weights,
        tokenizer: None,
    };
    let folder = tempfile::tempdir().unwrap();
    model.save_pretrained(folder.path()).unwrap();
    let back = Plain::from_pretrained(folder.path()).unwrap();
    check_case("M03_tied_in_mixin", "tied.pt", &back.weights);
}

#[test]
fn m05_a_missing_configuration_is_named() {
    let folder = case("M05_config_dropped/no_config");
    for error in [
        NNModel::from_pretrained(&folder).err().unwrap(),
        Typed::from_pretrained(&folder).err().unwrap(),
    ] {
        let ErrorKind::MissingFile { file, .. } = error.kind() else {
            panic!("{error}");
        };
        assert_eq!(file, "config.json");
    }
    // The weights alone are there for another call.
    assert!(Folder::new(folder).weights().is_ok());
}

/// A model of candle with one weight, `w` of four elements.
struct OneWeight {
    weight: candle_core::Tensor,
}

impl ModelHubMixin for OneWeight {
    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        folder.config_state(&State::from_iter([("dim", Value::from(4))]))?;
        Ok(folder.tensors([("w", &self.weight)])?)
    }

    fn read_pretrained(folder: &Folder, options: &LoadOptions) -> Result<Self, BoxError> {
        let dim = folder.config_state()?.get("dim").and_then(Value::as_int);
        assert_eq!(dim, Some(4));
        let device = candle_core::Device::Cpu;
        let tensors = folder.tensors_of(&[("w", &[4])], options, &device)?;
        let weight = tensors["w"].to_dtype(candle_core::DType::F32)?;
        Ok(Self { weight })
    }
}

#[track_caller]
fn check_m06(name: &str, parts: &[&str]) -> Error {
    let error = OneWeight::from_pretrained(case("M06_strict_dtype_and_shape").join(name))
        .err()
        .unwrap();
    for part in parts {
        assert!(error.to_string().contains(part), "{error}");
    }
    error
}

#[test]
fn m06_what_does_not_fit_is_listed_at_once() {
    check_m06("extra", &["unexpected `unexpected`"]);
    check_m06("missing", &["missing `w`", "unexpected `other`"]);
    check_m06("shape", &["`w`", "[4]", "[5]"]);
    // A documented cast: other float dtypes become the model's.
    let half = OneWeight::from_pretrained(case("M06_strict_dtype_and_shape/half")).unwrap();
    assert_eq!(half.weight.dtype(), candle_core::DType::F32);
}

#[test]
fn m06_loading_that_is_not_strict_says_what_it_left_out() {
    let lines = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = std::sync::Arc::clone(&lines);
    let progress = move |event: &nnx_hub::Event<'_>| {
        if let nnx_hub::Event::Note(line) = event {
            told.lock().unwrap().push((*line).to_owned());
        }
    };
    let options = LoadOptions::default()
        .strict(false)
        .progress(std::sync::Arc::new(progress));
    let load = |name: &str| {
        let folder = case("M06_strict_dtype_and_shape").join(name);
        OneWeight::from_pretrained_with(folder, &options)
    };
    load("extra").unwrap();
    assert!(lines.lock().unwrap()[0].contains("unexpected"), "{lines:?}");
    // A shape is an error all the same.
    assert!(load("shape").err().unwrap().to_string().contains("[5]"));
}

/// The error of `from_pretrained` for the folder.
#[track_caller]
fn refused(path: &str) -> nnx_checkpoint::ErrorKind {
    let folder = tempfile::tempdir().unwrap();
    nnx_tests::copy_folder(&case(path), folder.path());
    std::fs::write(folder.path().join("config.json"), "{}").unwrap();
    let error = Plain::from_pretrained(folder.path()).err().unwrap();
    match error.into_kind() {
        ErrorKind::Weights(error) => error.into_kind(),
        other => panic!("{other}"),
    }
}

fn accepted(path: &str) -> StateDict {
    let folder = tempfile::tempdir().unwrap();
    nnx_tests::copy_folder(&case(path), folder.path());
    std::fs::write(folder.path().join("config.json"), "{}").unwrap();
    Plain::from_pretrained(folder.path()).unwrap().weights
}

#[test]
fn c10_an_index_does_not_lead_out_of_its_folder() {
    use nnx_checkpoint::ErrorKind::PathTraversal;
    for name in ["up", "absolute", "windows", "hidden_up", "nul"] {
        let kind = refused(&format!("C10_index_path_traversal/{name}"));
        assert!(matches!(kind, PathTraversal { .. }), "{name}: {kind}");
    }
    for name in ["subfolder", "link"] {
        let weights = accepted(&format!("C10_index_path_traversal/{name}"));
        check_case("C10_index_path_traversal", name, &weights);
    }
}

#[test]
fn c11_a_missing_shard_is_named() {
    let kind = refused("C11_shard_missing/m");
    let nnx_checkpoint::ErrorKind::MissingShard { shard } = &kind else {
        panic!("{kind}");
    };
    assert_eq!(shard, "model-00002-of-00002.safetensors");
}

#[test]
fn c13_the_index_says_which_shard_holds_a_tensor() {
    let weights = accepted("C13_index_is_the_authority/m");
    check_case("C13_index_is_the_authority", "m", &weights);
}

#[test]
fn c15_weights_are_found_by_their_whole_name() {
    // The folder has `pytorch_model.bin` and two files whose names only look like weights.
    let weights = accepted("C15_pick_by_exact_name/m");
    check_case("C15_pick_by_exact_name", "m", &weights);
}

#[test]
fn c16_the_name_of_a_file_makes_no_pickle_safe() {
    for name in [
        "model.SAFETENSORS",
        "model.SafeTensors",
        "model.safetensors.bak",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let hostile = case("C16_extension_case_trick").join(name);
        std::fs::copy(hostile, folder.path().join("model.safetensors")).unwrap();
        std::fs::write(folder.path().join("config.json"), "{}").unwrap();
        let error = Plain::from_pretrained(folder.path()).err().unwrap();
        let ErrorKind::Weights(error) = error.kind() else {
            panic!("{error}");
        };
        use nnx_checkpoint::ErrorKind::{Malformed, NotACheckpoint, UnsafeGlobal};
        let kind = error.kind();
        let is_refused = matches!(
            kind,
            UnsafeGlobal { .. } | Malformed { .. } | NotACheckpoint { .. }
        );
        assert!(is_refused, "{name}: {kind}");
    }
    assert!(!std::path::Path::new("PWNED").exists());
}
