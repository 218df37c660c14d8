//! Saving: the files that stay and those that go, and the files after a failure.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nnx_checkpoint::{Dtype, StateDict, Tensor};
use nnx_hub::{
    BoxError, ErrorKind, Event, Folder, FolderWriter, LoadOptions, ModelCard, ModelHubMixin,
    Progress, SaveOptions,
};
use nnx_net::NNModel;
use nnx_params::{Devices, State, Value};
use nnx_tests::fixtures_dir;

use super::folders::Plain;

fn fixture(name: &str) -> std::path::PathBuf {
    fixtures_dir().join("nnx-0.4.1/hub").join(name)
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap_or_default())
        })
        .collect()
}

/// Three tensors of 40, 60 and 20 bytes.
pub(super) fn small(seed: u8) -> Plain {
    let mut weights = StateDict::new();
    for (name, bytes) in [("b", 40), ("a", 60), ("c", 20)] {
        let tensor = Tensor::from_bytes(Dtype::UInt8, &[bytes], vec![seed; bytes]).unwrap();
        weights.insert(name, tensor);
    }
    Plain {
        config: State::from_iter([("seed", Value::from(seed))]),
        weights,
        tokenizer: None,
    }
}

#[test]
fn a_readme_that_is_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("README.md"), "mine").unwrap();
    small(1).save_pretrained(folder.path()).unwrap();
    assert_eq!(files(folder.path())["README.md"], b"mine");
}

#[test]
fn a_card_of_ones_own_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let card = ModelCard::default()
        .license("mit")
        .tags(["b", "a", "b"])
        .repo_url("https://example.org/code");
    let options = SaveOptions::default().card(card);
    small(1)
        .save_pretrained_with(folder.path(), &options)
        .unwrap();
    // Written by `ModelHubMixin.generate_model_card` of huggingface_hub 2.4.0 for the same.
    let expected = "---\nlicense: mit\ntags:\n- a\n- b\n- model_hub_mixin\n\
        - pytorch_model_hub_mixin\n---\n\nThis model has been pushed to the Hub using the \
        [PytorchModelHubMixin](https://huggingface.co/docs/huggingface_hub/package_reference/mixins\
        #huggingface_hub.PyTorchModelHubMixin) integration:\n- Code: https://example.org/code\n\
        - Paper: [More Information Needed]\n- Docs: [More Information Needed]";
    let written = files(folder.path())["README.md"].clone();
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

#[test]
fn weights_above_the_limit_become_shards() {
    let folder = tempfile::tempdir().unwrap();
    let options = SaveOptions::default().max_shard_bytes(70);
    small(1)
        .save_pretrained_with(folder.path(), &options)
        .unwrap();
    let written = files(folder.path());
    let names: Vec<_> = written.keys().map(String::as_str).collect();
    // The files of `save_torch_state_dict(max_shard_size=70)` of huggingface_hub 2.4.0 for the
    // same.
    let expected = [
        "README.md",
        "config.json",
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
        "model.safetensors.index.json",
    ];
    assert_eq!(names, expected);
    let index = "{\n  \"metadata\": {\n    \"total_size\": 120\n  },\n  \"weight_map\": {\n    \
        \"b\": \"model-00001-of-00003.safetensors\",\n    \
        \"a\": \"model-00002-of-00003.safetensors\",\n    \
        \"c\": \"model-00003-of-00003.safetensors\"\n  }\n}";
    let found = written["model.safetensors.index.json"].clone();
    assert_eq!(String::from_utf8(found).unwrap(), index);
    let back = Plain::from_pretrained(folder.path()).unwrap();
    for (name, tensor) in small(1).weights.tensors() {
        let same = back.weights.tensor(name).unwrap();
        assert_eq!(same.to_bytes().unwrap(), tensor.to_bytes().unwrap());
    }
}

#[test]
fn the_weights_of_an_earlier_save_do_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let sharded = SaveOptions::default().max_shard_bytes(70);
    for (seed, options) in [
        (1, &SaveOptions::default()),
        (2, &sharded),
        (3, &SaveOptions::default()),
        (4, &sharded),
        (5, &sharded),
    ] {
        small(seed)
            .save_pretrained_with(folder.path(), options)
            .unwrap();
        let back = Plain::from_pretrained(folder.path()).unwrap();
        let tensor = back.weights.tensor("a").unwrap();
        assert_eq!(*tensor.to_bytes().unwrap(), vec![seed; 60]);
        let has_single = folder.path().join("model.safetensors").exists();
        let has_index = folder.path().join("model.safetensors.index.json").exists();
        assert_ne!(has_single, has_index);
        assert!(
            files(folder.path())
                .keys()
                .all(|name| !name.starts_with('.'))
        );
    }
}

/// Python writes one file and leaves the shards of an earlier save, which count no more.
#[test]
fn one_file_comes_before_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let sharded = SaveOptions::default().max_shard_bytes(70);
    small(1)
        .save_pretrained_with(folder.path(), &sharded)
        .unwrap();
    let one = tempfile::tempdir().unwrap();
    small(2).save_pretrained(one.path()).unwrap();
    let name = "model.safetensors";
    std::fs::copy(one.path().join(name), folder.path().join(name)).unwrap();
    let notes = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&notes);
    let progress = move |event: &Event<'_>| {
        if let Event::Note(line) = event {
            told.lock().unwrap().push((*line).to_owned());
        }
    };
    let options = LoadOptions::default().progress(Arc::new(progress));
    let back = Plain::from_pretrained_with(folder.path(), &options).unwrap();
    assert_eq!(
        *back.weights.tensor("a").unwrap().to_bytes().unwrap(),
        vec![2; 60]
    );
    assert!(notes.lock().unwrap()[0].contains("earlier save"));
    let reader = nnx_checkpoint::CheckpointReader::open(folder.path()).unwrap();
    assert_eq!(
        *reader.tensor("a").unwrap().to_bytes().unwrap(),
        vec![2; 60]
    );
    let notes = reader.notes();
    assert!(
        notes.iter().any(|note| note.contains("index.json")),
        "{notes:?}"
    );
}

/// A model during whose first reading somebody else saves another one.
#[derive(Debug)]
struct Raced(Vec<u8>);

static READINGS: AtomicUsize = AtomicUsize::new(0);

impl ModelHubMixin for Raced {
    fn write_pretrained(&self, _: &mut FolderWriter) -> Result<(), BoxError> {
        Err("it is only read".into())
    }

    fn read_pretrained(folder: &Folder, _: &LoadOptions) -> Result<Self, BoxError> {
        let config = folder.read("config.json")?;
        if READINGS.fetch_add(1, Ordering::SeqCst) == 0 {
            small(2).save_pretrained(folder.path())?;
        }
        Ok(Self(config))
    }
}

#[test]
fn a_folder_that_changes_while_it_is_read_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    small(1).save_pretrained(folder.path()).unwrap();
    let read = Raced::from_pretrained(folder.path()).unwrap();
    assert_eq!(
        read.0,
        std::fs::read(folder.path().join("config.json")).unwrap()
    );
    assert_eq!(READINGS.load(Ordering::SeqCst), 2);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    small(1).save_pretrained(folder.path()).unwrap();
    let path = folder.path().join("config.json");
    std::fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        std::fs::create_dir(&path).unwrap();
    }
    let error = Plain::from_pretrained(folder.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io { .. }), "{error}");
}

/// Writes its weights and then fails.
struct Failing;

impl ModelHubMixin for Failing {
    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        folder.state_dict(&small(9).weights)?;
        folder.config_state(&State::new())?;
        Err("the model has no more to say".into())
    }

    fn read_pretrained(_: &Folder, _: &LoadOptions) -> Result<Self, BoxError> {
        Ok(Self)
    }
}

#[test]
fn a_save_that_fails_leaves_the_old_folder() {
    let folder = tempfile::tempdir().unwrap();
    small(1).save_pretrained(folder.path()).unwrap();
    let before = files(folder.path());
    let error = Failing.save_pretrained(folder.path()).unwrap_err();
    assert_eq!(error.to_string(), "the model has no more to say");
    assert_eq!(files(folder.path()), before);
}

/// Wants a file outside of its folder.
struct Climbing;

impl ModelHubMixin for Climbing {
    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        Ok(folder.file("../out", b"x")?)
    }

    fn read_pretrained(folder: &Folder, _: &LoadOptions) -> Result<Self, BoxError> {
        folder.read("../out")?;
        Ok(Self)
    }
}

#[test]
fn no_file_lies_outside_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    let error = Climbing.save_pretrained(&target).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnsafePath { .. }));
    let error = Climbing::from_pretrained(&target).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::UnsafePath { .. }));
    assert!(!folder.path().join("out").exists());
}

#[test]
fn options_that_the_model_lacks_are_refused() {
    let options = LoadOptions::default().option("exclude_submodule", Value::None);
    let error = NNModel::from_pretrained_with(fixture("ff_relu"), &options).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error.kind(), ErrorKind::UnknownOption { .. }));
    assert!(text.contains("`exclude_submodules`"), "{text}");
}

#[test]
fn a_flat_configuration_is_one_too() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["model.safetensors", "README.md"] {
        std::fs::copy(fixture("ff_relu").join(name), folder.path().join(name)).unwrap();
    }
    let flat = r#"{"activation": "relu", "dropout_prob": 0.1, "hidden_dims": "[8, 5]",
        "input_dim": 4, "output_dim": 3, "device": "cpu", "loss": "cross_entropy",
        "net": "feed_fwd", "transforms": [], "more": 1}"#;
    std::fs::write(folder.path().join("config.json"), flat).unwrap();
    let model = NNModel::from_pretrained(folder.path()).unwrap();
    let target = tempfile::tempdir().unwrap();
    model.save_pretrained(target.path()).unwrap();
    assert_eq!(files(target.path()), files(&fixture("ff_relu")));
}

#[test]
fn the_device_is_the_cpu_unless_another_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files(&fixture("ff_relu")) {
        let text = String::from_utf8_lossy(&bytes).replace("\"cpu\"", "\"cuda\"");
        let bytes = if name == "config.json" {
            text.into_bytes()
        } else {
            bytes
        };
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let model = NNModel::from_pretrained(folder.path()).unwrap();
    assert_eq!(model.params().device(), Devices::Cpu);
    let options = LoadOptions::default().device(Devices::Cuda);
    assert!(NNModel::from_pretrained_with(folder.path(), &options).is_err());
}

#[test]
fn weights_of_pytorch_are_the_fallback() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixture("ff_relu");
    std::fs::copy(
        source.join("config.json"),
        folder.path().join("config.json"),
    )
    .unwrap();
    let target = folder.path().join("pytorch_model.bin");
    let options = nnx_checkpoint::ConvertOptions::default().to(nnx_checkpoint::TargetFormat::Torch);
    nnx_checkpoint::convert(source.join("model.safetensors"), &target, &options).unwrap();
    let model = NNModel::from_pretrained(folder.path()).unwrap();
    let saved = tempfile::tempdir().unwrap();
    model.save_pretrained(saved.path()).unwrap();
    let name = "model.safetensors";
    assert_eq!(files(saved.path())[name], files(&source)[name]);
}

#[test]
fn loading_in_part_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = Plain::from_pretrained(fixture("ff_relu")).unwrap();
    let mut weights = StateDict::new();
    for (name, tensor) in model
        .weights
        .tensors()
        .filter(|(name, _)| *name != "layers.2.bias")
    {
        weights.insert(name, tensor.clone());
    }
    weights.insert(
        "head.extra",
        weights.tensor("layers.0.bias").unwrap().clone(),
    );
    model.weights = weights;
    model.save_pretrained(folder.path()).unwrap();

    let error = NNModel::from_pretrained(folder.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("missing `layers.2.bias`"), "{error}");
    assert!(error.contains("unexpected `head.extra`"), "{error}");
    let options = LoadOptions::default().strict(false);
    let loaded = NNModel::from_pretrained_with(folder.path(), &options).unwrap();
    assert_eq!(loaded.state_dict().unwrap().len(), 6);
    // A missing weight is one all the same where a submodule is excluded.
    let names = Value::List(vec!["head".into()]);
    let options = LoadOptions::default().option("exclude_submodules", names);
    let error = NNModel::from_pretrained_with(folder.path(), &options)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("missing") && !error.contains("unexpected"),
        "{error}"
    );
}

#[test]
fn bad_folders_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let load = || NNModel::from_pretrained(path).unwrap_err();
    assert!(matches!(load().kind(), ErrorKind::MissingFile { file, .. } if file == "config.json"));
    for (text, part) in [
        ("<html>", "expected JSON"),
        ("[1]", "`list`"),
        ("{\"params\": 1}", "`params`"),
        ("{\"params\": {\"net\": \"x\"}}", "`loss`"),
    ] {
        std::fs::write(path.join("config.json"), text).unwrap();
        let error = load();
        assert!(matches!(error.kind(), ErrorKind::Config { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    std::fs::copy(fixture("ff_relu/config.json"), path.join("config.json")).unwrap();
    let error = load();
    assert!(
        matches!(error.kind(), ErrorKind::MissingFile { file, .. } if file == "model.safetensors")
    );
    let error = NNModel::from_pretrained("no/such/folder").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::RepoId { .. }), "{error}");
}

/// Python's mixin reads one file of weights.
#[test]
fn weights_in_several_files_are_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&told);
    let progress: Arc<dyn Progress> = Arc::new(move |event: &Event<'_>| {
        if let Event::Note(line) = event {
            notes.lock().unwrap().push((*line).to_owned());
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let options = SaveOptions::default().progress(progress);
    let save = |options: &SaveOptions| small(1).save_pretrained_with(folder.path(), options);
    save(&options).unwrap();
    assert_eq!(*told.lock().unwrap(), Vec::<String>::new());
    save(&options.max_shard_bytes(70)).unwrap();
    let told = told.lock().unwrap().clone();
    assert!(
        told.len() == 1 && told[0].contains("load_torch_model"),
        "{told:?}"
    );

    let desk = super::desk::Desk::in_memory();
    let options = nnx_hub::PushOptions::default()
        .hub(desk.hub.clone())
        .save(SaveOptions::default().max_shard_bytes(70));
    small(1).push_to_hub_with("alice/model", &options).unwrap();
    assert_eq!(desk.notes(), told);
}
