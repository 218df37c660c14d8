//! The statements of the cases from public bug reports on converting and saving.

use std::fs;
use std::path::{Path, PathBuf};

use nnx_checkpoint::torch::TorchBuilder;
use nnx_checkpoint::{
    CheckpointReader, ConvertOptions, Dtype, ErrorKind, Tensor, convert, safetensors, save_atomic,
};
use nnx_tests::{Json, fixtures_dir};

use super::tensors;

fn case(id: &str) -> PathBuf {
    fixtures_dir().join("cases").join(id)
}

/// A folder with copies of a case's files.
fn workplace(id: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(case(id)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Each `convert` of each case.
#[test]
fn every_conversion_is_judged() {
    let mut judged = Vec::new();
    for entry in fs::read_dir(fixtures_dir().join("cases")).unwrap() {
        let folder = entry.unwrap().path();
        let expected = folder.join("expected.json");
        if !expected.exists() {
            continue;
        }
        let Some(conversions) = Json::read(&expected).find("convert") else {
            continue;
        };
        for name in conversions.state().keys() {
            // A statement in a sentence has a test of its own below.
            if conversions.get(name).is_text() {
                continue;
            }
            let out = tempfile::tempdir().unwrap();
            let target = out.path().join("out.safetensors");
            let source = folder.join(name);
            let outcome = convert(&source, &target, &ConvertOptions::default());
            judge(&conversions.get(name), &source, &target, outcome.is_ok());
            judged.push(folder.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    judged.sort();
    assert_eq!(
        judged,
        [
            "C01_tied_weights",
            "C03_disjoint_slices",
            "S05_reserved_name",
            "S21_format_pt_metadata",
            "W11_tiny_view_big_base"
        ]
    );
}

fn judge(expected: &Json, source: &Path, target: &Path, is_ok: bool) {
    if expected.find("error").is_some() {
        assert!(!is_ok && !target.exists(), "{}", source.display());
        assert_eq!(names_in(target.parent().unwrap()), [""; 0]);
        return;
    }
    assert!(is_ok, "{}", source.display());
    let converted = tensors(target);
    assert_eq!(converted, tensors(source));
    if let Some(names) = expected.find("names") {
        assert_eq!(converted.keys().cloned().collect::<Vec<_>>(), names.texts());
    }
    if let Some(bytes) = expected.find("max_output_bytes") {
        assert!(fs::metadata(target).unwrap().len() <= bytes.size() as u64);
    }
    if let Some(metadata) = expected.find("metadata_has") {
        let reader = CheckpointReader::open(target).unwrap();
        for (key, _) in metadata.state().iter() {
            assert_eq!(reader.metadata()[key], metadata.get(key).text());
        }
    }
}

#[test]
fn e01_what_is_named_keeps_no_weights_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = case("E01_mmengine_message_hub").join("epoch_12.pth");
    let target = folder.path().join("model.safetensors");
    let options = ConvertOptions::default().select("state_dict");
    let done = convert(&source, &target, &options).unwrap();
    assert_eq!(done.tensors, 4);
    assert_eq!(tensors(&target), tensors(&source));
}

/// A safetensors file has none of the names in its source; a PyTorch file would have them all.
#[test]
fn a_name_that_runs_code_is_carried_on_when_that_is_allowed_alone() {
    let folder = tempfile::tempdir().unwrap();
    for runs in ["builtins.getattr", "posix.system"] {
        let source = &folder.path().join(format!("{runs}.pt"));
        let mut builder = TorchBuilder::new();
        let weight = Tensor::from_bytes(Dtype::Float32, &[1], vec![0; 4]).unwrap();
        let weight = builder.tensor(&weight).unwrap();
        let (module, name) = runs.split_once('.').unwrap();
        let callable = builder.global(module, name);
        let args = vec![builder.global("mine", "Kind"), builder.text("STEPS")];
        let call = builder.reduce(callable, args);
        let names = [builder.text("weight"), builder.text("x")];
        let root = builder.dict(vec![(names[0], weight), (names[1], call)]);
        builder.finish(root).save(source).unwrap();

        let out = tempfile::tempdir().unwrap();
        let target = out.path().join("out.safetensors");
        let options = ConvertOptions::default()
            .drop_non_tensors(true)
            .overwrite(true);
        let done = convert(source, &target, &options).unwrap();
        assert!(
            done.notes.iter().any(|note| note.contains(runs)),
            "{done:?}"
        );
        let bytes = fs::read(&target).unwrap();
        let name = runs.rsplit('.').next().unwrap().as_bytes();
        assert!(!bytes.windows(name.len()).any(|window| window == name));

        let target = out.path().join("out.pt");
        let options = ConvertOptions::default().overwrite(true);
        let error = convert(source, &target, &options).unwrap_err();
        let ErrorKind::DangerousTarget { module, name } = error.kind() else {
            panic!("{error}");
        };
        assert_eq!(format!("{module}.{name}"), runs);
        assert!(!target.exists());
        // A dict of tensors alone names nothing of it.
        convert(source, &target, &options.clone().drop_non_tensors(true)).unwrap();
        convert(source, &target, &options.allow_dangerous_globals(true)).unwrap();
        let bytes = fs::read(&target).unwrap();
        let name = name.as_bytes();
        assert!(bytes.windows(name.len()).any(|window| window == name));
    }
}

#[test]
fn a01_a_failed_conversion_keeps_the_old_file() {
    let folder = workplace("A01_failed_convert_keeps_old");
    let target = folder.path().join("out.safetensors");
    let (before, names) = (fs::read(&target).unwrap(), names_in(folder.path()));
    let options = ConvertOptions::default().overwrite(true);
    convert(folder.path().join("bad.pt"), &target, &options).unwrap_err();
    assert_eq!(fs::read(&target).unwrap(), before);
    assert_eq!(names_in(folder.path()), names);
}

#[test]
fn a03_a_file_is_converted_onto_itself() {
    let folder = workplace("A03_overwrite_own_source");
    let path = folder.path().join("self.safetensors");
    let before = tensors(&path);
    let options = ConvertOptions::default().metadata("k", "v2");
    let error = convert(&path, &path, &options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TargetExists));
    convert(&path, &path, &options.overwrite(true)).unwrap();
    assert_eq!(tensors(&path), before);
    assert_eq!(CheckpointReader::open(&path).unwrap().metadata()["k"], "v2");
}

/// Arrays of a model zoo are written, the author's name is not, and is told.
#[test]
fn e05_arrays_of_numpy_are_converted() {
    let folder = workplace("E05_detectron2_numpy");
    let expected = Json::read(&folder.path().join("expected.json")).get("files");
    for name in ["R-50.pkl", "model_final.pkl", "paddle.pdparams"] {
        let source = folder.path().join(name);
        let target = folder.path().join(format!("{name}.safetensors"));
        let options = ConvertOptions::default();
        let error = convert(&source, &target, &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotHeld { .. }), "{error}");
        let done = convert(&source, &target, &options.drop_non_tensors(true)).unwrap();
        let of = expected.get(name);
        assert_eq!(done.tensors, of.get("tensors").state().len());
        let skipped = of.get("skipped").texts();
        assert!(
            done.dropped
                .iter()
                .all(|other| skipped.iter().any(|path| other.path().starts_with(path)))
        );
        assert_eq!(tensors(&target), tensors(&source), "{name}");
    }
}

/// The temporary file of a process that was killed is gone after the next save.
#[test]
fn a05_an_orphan_is_removed_by_the_next_save() {
    let folder = workplace("A05_orphan_temp");
    let path = folder.path().join("model.safetensors");
    let orphan = folder.path().join(".model.safetensors.Ab12Cd.nnx-tmp");
    let others = [
        ".model.safetensors.Ab12Cd",
        ".model.safetensors.toolong7.nnx-tmp",
        ".other.safetensors.Ab12Cd.nnx-tmp",
    ];
    fs::write(&orphan, b"half").unwrap();
    for other in others {
        fs::write(folder.path().join(other), b"not ours").unwrap();
    }
    let options = ConvertOptions::default().overwrite(true);
    convert(&path, &path, &options).unwrap();
    assert!(!orphan.exists());
    for other in others {
        assert!(folder.path().join(other).exists(), "{other}");
    }
    CheckpointReader::open(&path).unwrap();
}

/// A temporary file that somebody is writing is no orphan.
#[cfg(unix)]
#[test]
fn a_file_that_is_being_written_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    save_atomic(&path, |w| {
        w.write_all(b"outer")?;
        // Another save of the same target, while the first one is under way.
        save_atomic(&path, |w| Ok(w.write_all(b"inner")?))
    })
    .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"outer");
    assert_eq!(names_in(folder.path()), ["f"]);
}

#[test]
fn a06_and_s08_the_same_tensors_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let options = (0..16).fold(ConvertOptions::default(), |options, at| {
        options.metadata(format!("k{at}"), "v")
    });
    for (id, extension) in [
        ("A06_repeatable_pt", "pt"),
        ("S08_deterministic_output", "safetensors"),
    ] {
        let options = match extension {
            // A PyTorch file has no place for a text.
            "pt" => ConvertOptions::default(),
            _ => options.clone(),
        };
        let write = |name: &str| {
            let target = folder.path().join(name).join(format!("out.{extension}"));
            convert(case(id).join("in.pt"), &target, &options).unwrap();
            fs::read(target).unwrap()
        };
        assert!(write(&format!("{id}1")) == write(&format!("{id}2")), "{id}");
    }
}

/// Tensors and metadata do not depend on the order of the source's dict.
#[test]
fn s08_the_order_of_the_source_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let source = case("S08_deterministic_output").join("in.pt");
    let reader = CheckpointReader::open(&source).unwrap();
    let mut names: Vec<&str> = reader.tensors().iter().map(|entry| entry.name()).collect();
    names.reverse();
    let read: Vec<(&str, Tensor)> = names
        .iter()
        .map(|&name| (name, reader.tensor(name).unwrap()))
        .collect();
    let state: nnx_checkpoint::StateDict = read.into_iter().collect();
    let other = folder.path().join("other.pt");
    let mut builder = nnx_checkpoint::torch::TorchBuilder::new();
    let mut pairs = Vec::new();
    for (name, tensor) in state.tensors() {
        pairs.push((builder.text(name), builder.tensor(tensor).unwrap()));
    }
    let root = builder.dict(pairs);
    builder.finish(root).save(&other).unwrap();
    let write = |source: &Path, name: &str| {
        let target = folder.path().join(name);
        convert(source, &target, &ConvertOptions::default()).unwrap();
        fs::read(target).unwrap()
    };
    assert!(write(&source, "a.safetensors") == write(&other, "b.safetensors"));
}

#[test]
fn s03_a_file_of_metadata_alone_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let source = case("S03_metadata_only").join("only.safetensors");
    let options = ConvertOptions::default().allow_empty(true);
    convert(source, &target, &options).unwrap();
    let reader = CheckpointReader::open(&target).unwrap();
    assert_eq!(reader.tensors().len(), 0);
    assert_eq!(reader.metadata()["key"], "value");
}

#[test]
fn s06_too_many_tensors_are_refused_before_a_byte_is_written() {
    let tensor = Tensor::from_bytes(nnx_checkpoint::Dtype::UInt8, &[0], Vec::new()).unwrap();
    let names: Vec<String> = (0..1_290_000)
        .map(|at| format!("model.transformer.layers.{at}.weight"))
        .collect();
    let tensors: Vec<(&str, &Tensor)> = names.iter().map(|name| (name.as_str(), &tensor)).collect();
    let mut out = Vec::new();
    let error = safetensors::write(&mut out, &tensors, None).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::LimitExceeded {
                limit: "max_header_bytes",
                ..
            }
        ),
        "{error}"
    );
    assert!(out.is_empty());
}
