//! Every folder that the real library saved: its weights and configuration, and the same bytes when
//! it is saved again.

use std::path::{Path, PathBuf};

use nnx_checkpoint::{StateDict, Tensor};
use nnx_hub::{BoxError, ErrorKind, Folder, FolderWriter, LoadOptions, ModelHubMixin, config_json};
use nnx_net::{GenerativeNNModel, NNModel};
use nnx_params::{State, Value, python_text};
use nnx_tests::{Json, fixtures_dir};
use sha2::{Digest, Sha256};

/// A folder as it is, whatever net it is of.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) config: State,
    pub(super) weights: StateDict,
    pub(super) tokenizer: Option<Vec<u8>>,
}

impl ModelHubMixin for Plain {
    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        folder.state_dict(&self.weights)?;
        if let Some(tokenizer) = &self.tokenizer {
            folder.file("tokenizer.json", tokenizer)?;
        }
        Ok(folder.config_state(&self.config)?)
    }

    fn read_pretrained(folder: &Folder, _: &LoadOptions) -> Result<Self, BoxError> {
        let config = folder.config_state()?;
        let tokenizer = match config.get("tokenizer") {
            Some(_) => Some(folder.read("tokenizer.json")?),
            None => None,
        };
        Ok(Self {
            weights: folder.state_dict()?,
            tokenizer,
            config,
        })
    }
}

/// The folders of both versions.
pub(super) fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for version in nnx_tests::LIBRARY_VERSIONS {
        let dir = fixtures_dir().join(format!("nnx-{version}/hub"));
        let entries = std::fs::read_dir(dir).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        folders.extend(paths.filter(|path| path.is_dir()));
    }
    folders.sort();
    assert_eq!(folders.len(), 14, "folders of the real library");
    folders
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[track_caller]
fn check_weights(sidecar: &Json, weights: &StateDict) {
    let expected = sidecar.get("tensors").items();
    assert_eq!(expected.len(), weights.len());
    for tensor in expected {
        let name = tensor.get("name");
        let found: &Tensor = weights.tensor(name.text()).unwrap();
        assert_eq!(found.dtype().name(), tensor.get("dtype").text());
        let shape: Vec<usize> = tensor.get("shape").items().iter().map(Json::size).collect();
        assert_eq!(found.shape(), shape);
        let bytes = found.to_bytes().unwrap();
        assert_eq!(sha256(&bytes), tensor.get("sha256").text(), "{name:?}");
    }
}

#[track_caller]
fn check_files(expected: &Path, found: &Path, left_out: &[&str]) {
    for entry in std::fs::read_dir(expected).unwrap() {
        let name = entry.unwrap().file_name();
        if left_out.contains(&name.to_str().unwrap()) {
            continue;
        }
        let real = std::fs::read(expected.join(&name)).unwrap();
        let ours = std::fs::read(found.join(&name)).unwrap();
        assert_eq!(real, ours, "{} of {}", name.display(), expected.display());
    }
    let names = |path: &Path| std::fs::read_dir(path).unwrap().count();
    assert!(!left_out.is_empty() || names(expected) == names(found));
}

#[test]
fn every_folder_is_read_and_saved_to_the_byte() {
    for path in folders() {
        let sidecar = Json::read(&path.with_extension("json"));
        let model = Plain::from_pretrained(&path).unwrap();
        check_weights(&sidecar, &model.weights);
        let text = sidecar.get("config_text");
        let config = python_text::json_loads(text.text()).unwrap();
        assert_eq!(Value::Map(model.config.clone()), config);
        assert_eq!(config_json(&model.config), text.text());

        let target = tempfile::tempdir().unwrap();
        model.save_pretrained(target.path()).unwrap();
        check_files(&path, target.path(), &[]);
    }
}

#[test]
fn every_folder_of_a_known_net_is_a_model() {
    let mut unknown = Vec::new();
    for path in folders() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let sidecar = Json::read(&path.with_extension("json"));
        let model = match NNModel::from_pretrained(&path) {
            Ok(model) => model,
            Err(error) if is_unknown_net(&error) => {
                unknown.push(name);
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        check_weights(&sidecar, &model.state_dict().unwrap());

        let target = tempfile::tempdir().unwrap();
        model.save_pretrained(target.path()).unwrap();
        if path.join("tokenizer.json").exists() {
            // The tokenizer is `GenerativeNNModel`'s, and the entry that names it.
            check_files(&path, target.path(), &["tokenizer.json", "config.json"]);
        } else {
            check_files(&path, target.path(), &[]);
        }
        // The same, written and read again.
        let again = NNModel::from_pretrained(target.path()).unwrap();
        check_weights(&sidecar, &again.state_dict().unwrap());
    }
    for known in ["ff_relu", "ff_perlayer", "recipe_lora"] {
        assert!(!unknown.iter().any(|name| name == known), "{known}");
    }
    println!(
        "{} folders are of nets that nnx-net lacks: {unknown:?}",
        unknown.len()
    );
}

#[test]
fn a_generative_model_keeps_its_tokenizer() {
    for version in nnx_tests::LIBRARY_VERSIONS {
        let path = fixtures_dir().join(format!("nnx-{version}/hub/generative_tokenizer"));
        let sidecar = Json::read(&path.with_extension("json"));
        let model = GenerativeNNModel::from_pretrained(&path).unwrap();
        let tokens = model.tokenizer().encode("the cat").unwrap();
        let expected = sidecar.get("encode_the_cat").items();
        assert!(tokens.len() == expected.len() && !tokens.is_empty());
        for (token, expected) in tokens.iter().zip(&expected) {
            assert_eq!(*token as usize, expected.size());
        }
        let target = tempfile::tempdir().unwrap();
        model.save_pretrained(target.path()).unwrap();
        check_files(&path, target.path(), &[]);
    }
}

fn is_unknown_net(error: &nnx_hub::Error) -> bool {
    let ErrorKind::Model(error) = error.kind() else {
        return false;
    };
    error
        .downcast_ref::<nnx_net::Error>()
        .is_some_and(|error| matches!(error.kind(), nnx_net::ErrorKind::Unsupported { .. }))
}
