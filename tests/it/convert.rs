//! Conversions: the target holds the values of the source.

mod cases;
mod damaged_source;
mod format_pt;
mod names;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nnx_checkpoint::{
    CheckpointReader, ConvertOptions, Dtype, ErrorKind, NNCheckpoint, SharedTensors, convert,
};
use nnx_tests::{Fixture, Form, Json, fixtures_dir, sha256};

use crate::ascii_folder::ascii_folder;

/// The identity of a tensor: dtype, shape, and the SHA-256 of its bytes.
type Told = (Dtype, Vec<usize>, String);

/// Every tensor of a checkpoint.
fn tensors(path: &Path) -> BTreeMap<String, Told> {
    let reader = CheckpointReader::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let tensors = reader.tensors().iter().map(|entry| {
        let tensor = reader.tensor(entry.name()).unwrap();
        let told = (
            entry.dtype(),
            entry.shape().to_vec(),
            sha256(&tensor.to_bytes().unwrap()),
        );
        (entry.name().to_owned(), told)
    });
    tensors.collect()
}

/// The corpus of `torch.save`, as PyTorch judges it.
fn corpus() -> Vec<PathBuf> {
    let dir = fixtures_dir().join("torch");
    let index = Json::read(&dir.join("INDEX.json"));
    let files: Vec<PathBuf> = index
        .items()
        .iter()
        .map(|item| item.items()[0].text().to_owned())
        .filter(|file| file.ends_with(".pt"))
        .map(|file| dir.join(file))
        .collect();
    assert!(files.len() > 140, "only {} files", files.len());
    files
}

/// Whether every tensor of a file has plain bytes.
fn is_plain(path: &Path) -> bool {
    CheckpointReader::open(path).is_ok_and(|reader| {
        reader
            .tensors()
            .iter()
            .all(|entry| entry.layout_name() == "strided")
    })
}

#[test]
fn every_file_of_the_corpus_becomes_safetensors() {
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::default()
        .drop_non_tensors(true)
        .allow_empty(true)
        .overwrite(true);
    let (mut files, mut count) = (0, 0);
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in corpus() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let target = folder.path().join("out.safetensors");
        match convert(&path, &target, &options) {
            Ok(done) => {
                let before = tensors(&path);
                assert_eq!(tensors(&target), before, "{name}");
                assert_eq!(done.tensors, before.len(), "{name}");
                files += 1;
                count += before.len();
            }
            Err(error) => {
                let what = match error.kind() {
                    ErrorKind::Unsupported { what } => what.clone(),
                    ErrorKind::UnsafeGlobal { .. } => "names what runs code".to_owned(),
                    other => panic!("{name}: {other}"),
                };
                refused.entry(what).or_default().push(name);
            }
        }
    }
    println!("{files} files with {count} tensors converted; refused:");
    for (what, names) in &refused {
        println!("  {what}: {}", names.join(", "));
    }
    // Dtypes and layouts that the format has no name for.
    for what in refused.keys() {
        assert!(
            what.contains("safetensors format has no dtype")
                || what.contains("quantised")
                || what.contains("runs code")
                || what.contains("layout")
                || what.contains("meta")
                || what.contains("attributes of its own")
                || what.contains("have no bytes of their own"),
            "{what}"
        );
    }
    assert!(files >= 120, "only {files} files");
}

#[test]
fn every_file_of_the_corpus_becomes_a_zip_container() {
    let folder = ascii_folder();
    // One of them has a `functools.partial` that makes an object with keyword arguments.
    let options = ConvertOptions::default()
        .overwrite(true)
        .allow_empty(true)
        .allow_dangerous_globals(true);
    let (mut files, mut same) = (0, 0);
    for path in corpus() {
        if !is_plain(&path) {
            continue;
        }
        let label = path.file_name().unwrap().to_str().unwrap();
        // The records' folder is named after the file.
        let sidecar = Json::read(&path.with_extension("json"));
        let root = sidecar.find("zip_root").map(|root| root.text().to_owned());
        let target = folder
            .path()
            .join(format!("{}.pt", root.as_deref().unwrap_or("archive")));
        let before = tensors(&path);
        convert(&path, &target, &options).unwrap_or_else(|e| panic!("{label}: {e}"));
        assert_eq!(tensors(&target), before, "{label}");
        files += 1;
        if std::fs::read(&target).unwrap() == std::fs::read(&path).unwrap() {
            same += 1;
        }
    }
    println!("{files} files converted into zip containers, {same} of them to their own bytes");
    assert!(files >= 130 && same >= 70, "{files} {same}");
}

/// Nothing is no result: neither a file without a tensor nor one of empty tensors alone.
#[test]
fn a_target_without_elements_is_refused() {
    let fixtures = fixtures_dir();
    let folder = tempfile::tempdir().unwrap();
    for (file, words) in [
        ("torch/py_floats.pt", "has none, only 1 value: a list"),
        (
            "cases/S03_metadata_only/only.safetensors",
            "the source is empty",
        ),
    ] {
        let source = fixtures.join(file);
        for target in ["out.safetensors", "out.pt"] {
            let target = folder.path().join(target);
            let options = ConvertOptions::default().drop_non_tensors(true);
            let error = convert(&source, &target, &options).unwrap_err();
            assert_eq!(error.kind().name(), "no_tensors", "{file}: {error}");
            assert!(error.to_string().contains(words), "{error}");
            assert!(!target.exists());
            let options = options.allow_empty(true);
            assert_eq!(convert(&source, &target, &options).unwrap().tensors, 0);
            std::fs::remove_file(target).unwrap();
        }
    }
    let empty = nnx_checkpoint::Tensor::from_bytes(Dtype::Float32, &[0, 3], Vec::new()).unwrap();
    let source = folder.path().join("empty.safetensors");
    nnx_checkpoint::save_atomic(&source, |out| {
        nnx_checkpoint::safetensors::write(out, &[("a", &empty)], None)
    })
    .unwrap();
    let target = folder.path().join("empty.pt");
    let error = convert(&source, &target, &ConvertOptions::default()).unwrap_err();
    assert_eq!(error.kind().name(), "no_tensors");
    assert!(error.to_string().contains("size of 0"), "{error}");
    let options = ConvertOptions::default().allow_empty(true);
    assert_eq!(convert(&source, &target, &options).unwrap().tensors, 1);
}

#[test]
fn a_checkpoint_of_nnx_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::default().overwrite(true);
    let mut judged = 0;
    let mut refused = Vec::new();
    for fixture in Fixture::all() {
        for (form, path) in fixture.files() {
            let is_safetensors = form == Form::SafeTensors;
            let target = folder.path().join(if is_safetensors {
                "t.pt"
            } else {
                "t.safetensors"
            });
            let Ok(before) = NNCheckpoint::from_file(&path) else {
                continue;
            };
            match convert(&path, &target, &options) {
                Ok(_) => {}
                Err(error) => {
                    refused.push(format!("{} ({form:?}): {error}", fixture.label()));
                    continue;
                }
            }
            let after = NNCheckpoint::from_file(&target).unwrap();
            assert_eq!(before.net_params, after.net_params, "{}", fixture.label());
            assert_eq!(
                before.model_params,
                after.model_params,
                "{}",
                fixture.label()
            );
            assert_eq!(before.idp, after.idp, "{}", fixture.label());
            assert_eq!(before.transforms, after.transforms, "{}", fixture.label());
            assert_eq!(before.training_state_id, after.training_state_id);
            let told = |checkpoint: &NNCheckpoint| -> BTreeMap<String, Told> {
                let tensors = checkpoint.net_state.tensors().map(|(name, tensor)| {
                    let bytes = tensor.to_bytes().unwrap();
                    let told = (tensor.dtype(), tensor.shape().to_vec(), sha256(&bytes));
                    (name.to_owned(), told)
                });
                tensors.collect()
            };
            assert_eq!(told(&before), told(&after), "{}", fixture.label());
            judged += 1;
        }
    }
    println!("{judged} checkpoints converted into their other form; refused: {refused:#?}");
    assert!(judged >= 140, "only {judged}");
    for error in &refused {
        assert!(
            error.contains("run time") || error.contains("tensors only") || error.contains("dtype"),
            "{error}"
        );
    }
}

/// A conversion writes the same bytes as the types do, and names the format too.
#[test]
fn a_converted_checkpoint_has_the_bytes_of_a_saved_one() {
    use nnx_checkpoint::CheckpointFormat;
    let folder = tempfile::tempdir().unwrap();
    let mut judged = 0;
    for fixture in Fixture::all() {
        let files = fixture.files();
        let Some((_, path)) = files.iter().find(|(form, _)| *form == Form::Zip) else {
            continue;
        };
        let (saved, converted) = (
            folder.path().join("saved.safetensors"),
            folder.path().join("converted.safetensors"),
        );
        let Ok(checkpoint) = NNCheckpoint::from_file(path) else {
            continue;
        };
        let checkpoint = checkpoint.with_format_metadata();
        if checkpoint
            .to_file(&saved, CheckpointFormat::SafeTensors)
            .is_err()
        {
            continue;
        }
        let options = ConvertOptions::default().overwrite(true);
        convert(path, &converted, &options).unwrap();
        assert!(
            std::fs::read(&saved).unwrap() == std::fs::read(&converted).unwrap(),
            "{}",
            fixture.label()
        );
        judged += 1;
    }
    assert!(judged > 60, "only {judged}");
}

#[test]
fn names_are_selected_stripped_and_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixtures_dir().join("cases/C05_state_dict_inside_state_dict/nai.ckpt");
    let names = |options: ConvertOptions| -> Vec<String> {
        let target = folder.path().join("out.safetensors");
        convert(&source, &target, &options.overwrite(true)).unwrap();
        tensors(&target).into_keys().collect()
    };
    let base = ConvertOptions::default().drop_non_tensors(true);
    let check = |options: &ConvertOptions, expected: &[&str]| {
        assert_eq!(names(options.clone()), expected);
    };
    check(&base, &["state_dict.state_dict.w", "state_dict.w"]);
    check(
        &base.clone().select("state_dict.state_dict"),
        &["state_dict.state_dict.w"],
    );
    check(
        &base.clone().strip_prefix("state_dict."),
        &["state_dict.w", "w"],
    );
    check(
        &base.clone().rename("state_dict.state_dict", "ema"),
        &["ema.w", "state_dict.w"],
    );
    check(
        &base.clone().rename("state_dict.w", "v").rename("v", "u"),
        &["state_dict.state_dict.w", "u"],
    );

    let refused = |options: ConvertOptions| -> ErrorKind {
        let target = folder.path().join("never.safetensors");
        let error = convert(&source, &target, &options).unwrap_err();
        assert!(!target.exists());
        error.into_kind()
    };
    for options in [
        base.clone().select("state"),
        base.clone().strip_prefix("module."),
        base.clone().rename("w", "v"),
    ] {
        assert!(matches!(refused(options), ErrorKind::Unsupported { .. }));
    }
    let clash = base.rename("state_dict.state_dict", "state_dict");
    assert!(matches!(refused(clash), ErrorKind::NameCollision { .. }));
    assert!(matches!(
        refused(ConvertOptions::default()),
        ErrorKind::NotHeld { .. }
    ));
}

#[test]
fn tied_names_become_aliases_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixtures_dir().join("cases/C01_tied_weights/tied.pt");
    let (aliased, back) = (
        folder.path().join("aliased.safetensors"),
        folder.path().join("back.pt"),
    );
    let options = ConvertOptions::default().tied(SharedTensors::Aliased);
    let done = convert(&source, &aliased, &options).unwrap();
    assert_eq!((done.tensors, done.notes.len()), (2, 1));
    let reader = CheckpointReader::open(&aliased).unwrap();
    assert_eq!(reader.metadata()["lm_head.weight"], "embed.weight");
    assert_eq!(tensors(&aliased), tensors(&source));

    convert(&aliased, &back, &ConvertOptions::default()).unwrap();
    assert_eq!(tensors(&back), tensors(&source));
    let reader = CheckpointReader::open(&back).unwrap();
    let storage = |name: &str| reader.entry(name).unwrap().storage();
    assert_eq!(storage("lm_head.weight"), storage("embed.weight"));
}

#[test]
fn shards_come_together_and_apart() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixtures_dir().join("torch/state_dict_plain.pt");
    let source = if source.exists() {
        source
    } else {
        corpus()
            .into_iter()
            .filter(|path| is_plain(path))
            .max_by_key(|path| tensors(path).len())
            .unwrap()
    };
    let before = tensors(&source);
    assert!(before.len() > 3, "{}", source.display());
    let bytes = |told: &Told| told.1.iter().product::<usize>() * told.0.size();
    let half = before.values().map(bytes).sum::<usize>() as u64 / 2;
    let options = ConvertOptions::default()
        .drop_non_tensors(true)
        .max_shard_size(half.max(1));
    for extension in ["safetensors", "bin"] {
        let target = folder.path().join(format!("{extension}/model.{extension}"));
        let done = convert(&source, &target, &options).unwrap();
        assert!(done.files.len() > 2, "{:?}", done.files);
        let index = target.with_file_name(format!("model.{extension}.index.json"));
        assert_eq!(tensors(&index), before, "{extension}");
        // Files of an earlier conversion go when fewer are written.
        let whole = options.clone().max_shard_size(u64::MAX).overwrite(true);
        let again = convert(&source, &target, &whole).unwrap();
        assert_eq!(again.files.len(), 1);
        let left: Vec<_> = std::fs::read_dir(target.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, [format!("model.{extension}").as_str()]);
        assert_eq!(tensors(&target), before);

        // An index that was left there would lead readers past the new file.
        std::fs::write(&index, "{}").unwrap();
        let plain = ConvertOptions::default().drop_non_tensors(true);
        let other = target
            .with_file_name("other")
            .join(format!("model.{extension}"));
        convert(&source, &other, &plain).unwrap();
        std::fs::remove_file(&target).unwrap();
        let error = convert(&source, &target, &plain).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TargetExists), "{error}");
        convert(&source, &target, &plain.overwrite(true)).unwrap();
        assert!(!index.exists());
    }
}

#[test]
fn a_cast_keeps_structure_and_ties() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixtures_dir().join("cases/C01_tied_weights/tied.pt");
    for name in ["half.pt", "half.safetensors"] {
        let target = folder.path().join(name);
        let options = ConvertOptions::default().dtype(Dtype::BFloat16);
        let done = convert(&source, &target, &options).unwrap();
        assert_eq!(done.cast, 3);
        let before = CheckpointReader::open(&source).unwrap();
        let after = CheckpointReader::open(&target).unwrap();
        for entry in after.tensors() {
            let original = before.tensor(entry.name()).unwrap();
            let expected = nnx_checkpoint::cast(
                &original.to_bytes().unwrap(),
                Dtype::Float32,
                Dtype::BFloat16,
            )
            .unwrap();
            let tensor = after.tensor(entry.name()).unwrap();
            assert_eq!(*tensor.to_bytes().unwrap(), *expected, "{}", entry.name());
        }
        if name.ends_with(".pt") {
            let storage = |name: &str| after.entry(name).unwrap().storage();
            assert_eq!(storage("lm_head.weight"), storage("embed.weight"));
        }
    }
}

/// PyTorch writes to an open file where the path is not ASCII, and then calls the folder so.
#[test]
fn the_folder_in_the_archive_is_that_of_torch_save() {
    let folder = ascii_folder();
    let source = fixtures_dir().join("cases/C01_tied_weights/tied.pt");
    for (name, root) in [("b.pt", "b"), ("é.pt", "archive"), ("dé/m.pt", "archive")] {
        let target = folder.path().join(name);
        convert(&source, &target, &ConvertOptions::default()).unwrap();
        let bytes = std::fs::read(&target).unwrap();
        let entry = format!("{root}/data.pkl");
        let found = bytes
            .windows(entry.len())
            .any(|window| window == entry.as_bytes());
        assert!(found, "{name} has no `{entry}`");
    }
}

/// `torch.load(weights_only=True)` reads protocol 2 alone.
#[test]
fn a_plain_pickle_becomes_one_that_torch_reads_safely() {
    let folder = tempfile::tempdir().unwrap();
    let mut judged = 0;
    for protocol in 0..=5 {
        let source = fixtures_dir().join(format!("reader/protocol{protocol}.pkl"));
        let target = folder.path().join(format!("{protocol}.pt"));
        convert(&source, &target, &ConvertOptions::default()).unwrap();
        let object = nnx_checkpoint::torch::TorchObject::open(&target).unwrap();
        assert_eq!(object.graph().protocol(), 2, "{protocol}");
        assert_eq!(tensors(&target), tensors(&source));
        judged += 1;
    }
    assert_eq!(judged, 6);
}

/// A conversion reports everything that it drops without being asked.
#[test]
fn what_has_no_place_beside_a_tensor_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = std::collections::BTreeSet::new();
    for path in corpus() {
        let target = folder.path().join("out.safetensors");
        let options = ConvertOptions::default()
            .drop_non_tensors(true)
            .overwrite(true);
        if let Ok(done) = convert(&path, &target, &options) {
            for note in done.notes {
                told.insert(note.split('`').next().unwrap().trim().to_owned());
            }
        }
    }
    for what in ["attributes set on", "the versions of the modules ("] {
        assert!(told.contains(what), "{told:?}");
    }
}
