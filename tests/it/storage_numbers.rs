//! In every file that is written the storages are numbered in the order of the pickle, as
//! `.format_version` 1 promises: PyTorch computes from it where each storage begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexSet;
use nnx_checkpoint::torch::{TorchBuilder, TorchObject};
use nnx_checkpoint::zip::ZipArchive;
use nnx_checkpoint::{
    CheckpointFormat, CheckpointReader, ConvertOptions, Dtype, Limits, NNCheckpoint, Source,
    Tensor, convert, pickle,
};
use nnx_tests::{Fixture, fixtures_dir};

/// The keys in the order in which the pickle of a file first names them, and those of the records
/// in the order of the file.
fn keys(path: &Path) -> (Vec<String>, Vec<String>) {
    let file = Source::open(path).unwrap();
    let archive = ZipArchive::parse(file.bytes(), &Limits::default()).unwrap();
    let mut records = Vec::new();
    let mut program = None;
    for entry in archive.entries() {
        let (_, name) = entry.name().split_once('/').unwrap();
        if name == "data.pkl" {
            program = Some(archive.data(entry).unwrap());
        } else if let Some(key) = name.strip_prefix("data/") {
            records.push(key.to_owned());
        }
    }
    let (graph, _) = pickle::read(&program.unwrap(), &Limits::default()).unwrap();
    let named: IndexSet<String> = graph
        .persistent_ids()
        .map(|(_, id)| {
            let members = graph.sequence(id).unwrap();
            graph.text(members[2]).unwrap().to_owned()
        })
        .collect();
    (named.into_iter().collect(), records)
}

#[track_caller]
fn assert_numbered(path: &Path, what: &str) -> usize {
    let (named, records) = keys(path);
    let numbers: Vec<String> = (0..named.len()).map(|number| number.to_string()).collect();
    assert_eq!(named, numbers, "{what}: the pickle");
    assert_eq!(records, numbers, "{what}: the records");
    numbers.len()
}

/// Files with tensors: the corpus of `torch.save`, and checkpoints of NNx in all their forms.
fn sources() -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for folder in ["torch", "torch-extra", "quantized", "reader"] {
        let entries = std::fs::read_dir(fixtures_dir().join(folder)).unwrap();
        sources.extend(entries.map(|entry| entry.unwrap().path()));
    }
    for fixture in Fixture::all() {
        sources.extend(fixture.files().into_iter().map(|(_, path)| path));
    }
    sources.retain(|path| {
        let extension = path.extension().unwrap_or_default();
        extension == "pt" || extension == "safetensors"
    });
    sources.sort();
    sources
}

/// The first part of a name below which there are tensors.
fn part(reader: &CheckpointReader) -> Option<String> {
    let names = reader.tensors().iter().rev();
    let mut parts = names.filter_map(|entry| Some(entry.name().split_once('.')?.0.to_owned()));
    parts.next()
}

#[test]
fn every_conversion_numbers_storages_in_the_order_of_the_pickle() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.pt");
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources() {
        let Ok(reader) = CheckpointReader::open(&source) else {
            continue;
        };
        let plain = ConvertOptions::default().overwrite(true).verify(false);
        let mut ways = vec![
            ("as it is", plain.clone()),
            ("compact", plain.clone().compact(true)),
            ("flat", plain.clone().drop_non_tensors(true)),
            (
                "flat and compact",
                plain.clone().drop_non_tensors(true).compact(true),
            ),
        ];
        for (what, dtype) in [
            ("float16", Dtype::Float16),
            ("bfloat16", Dtype::BFloat16),
            ("float64", Dtype::Float64),
        ] {
            ways.push((what, plain.clone().dtype(dtype)));
            ways.push((
                "cast, flat and compact",
                plain
                    .clone()
                    .dtype(dtype)
                    .compact(true)
                    .drop_non_tensors(true),
            ));
        }
        if let Some(part) = part(&reader) {
            let of_part = plain.clone().drop_non_tensors(true);
            ways.push(("a part", of_part.clone().select(part.clone())));
            ways.push(("renamed", of_part.rename(part, "renamed")));
        }
        for (what, options) in ways {
            // A file that has no such form says so elsewhere.
            if convert(&source, &target, &options).is_ok() {
                assert_numbered(&target, &format!("{} {what}", source.display()));
                *written.entry(what).or_default() += 1;
            }
        }
    }
    println!("files written: {written:?}");
    assert_eq!(written.len(), 10);
    for (what, count) in written {
        assert!(count > 120, "{what}: {count}");
    }
}

#[test]
fn every_shard_numbers_its_own_storages() {
    let mut shards = 0;
    for fixture in Fixture::all() {
        for (_, source) in fixture.files() {
            let folder = tempfile::tempdir().unwrap();
            let options = ConvertOptions::default()
                .drop_non_tensors(true)
                .dtype(Dtype::Float16)
                .max_shard_size(200);
            if convert(&source, folder.path().join("pytorch_model.bin"), &options).is_err() {
                continue;
            }
            for entry in std::fs::read_dir(folder.path()).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "bin") {
                    assert_numbered(&path, &path.display().to_string());
                    shards += 1;
                }
            }
        }
    }
    println!("{shards} shards judged");
    assert!(shards > 300, "{shards}");
}

#[test]
fn a_saved_checkpoint_numbers_storages_in_the_order_of_the_pickle() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("saved.pt");
    let mut written = 0;
    for fixture in Fixture::all() {
        for (_, source) in fixture.files() {
            let Ok(checkpoint) = NNCheckpoint::from_file(&source) else {
                continue;
            };
            if checkpoint
                .to_file(&target, CheckpointFormat::Pickle)
                .is_ok()
            {
                assert_numbered(&target, &source.display().to_string());
                written += 1;
            }
        }
    }
    println!("{written} checkpoints saved");
    assert!(written > 100, "{written}");
}

#[test]
fn an_object_numbers_storages_in_the_order_of_the_pickle_whatever_built_it() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("built.pt");
    let mut builder = TorchBuilder::new();
    let mut tensor = |value: f32| {
        let tensor =
            Tensor::from_bytes(Dtype::Float32, &[1], value.to_le_bytes().to_vec()).unwrap();
        builder.tensor(&tensor).unwrap()
    };
    let (third, dropped, first, second) = (tensor(3.0), tensor(0.0), tensor(1.0), tensor(2.0));
    let inner = builder.list(vec![second, first]);
    let root = builder.list(vec![first, inner, third]);
    let _ = dropped;
    builder.finish(root).save(&target).unwrap();
    // The tensor that the root does not refer to is not in the file.
    assert_eq!(assert_numbered(&target, "built"), 3);
    let object = TorchObject::open(&target).unwrap();
    let value = |id| {
        let tensor = object.tensor(id).unwrap().unwrap();
        f32::from_le_bytes(tensor.to_bytes().unwrap()[..].try_into().unwrap())
    };
    let graph = object.graph();
    let members = graph.sequence(graph.root()).unwrap();
    let inner = graph.sequence(members[1]).unwrap();
    assert_eq!(
        [members[0], inner[0], inner[1], members[2]].map(value),
        [1.0, 2.0, 1.0, 3.0]
    );
}

/// An object of a file is saved in the same order, whatever keys the file had.
#[test]
fn an_object_that_was_read_numbers_storages_in_the_order_of_the_pickle() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("saved.pt");
    let mut written = 0;
    for source in sources() {
        let Ok(object) = TorchObject::open(&source) else {
            continue;
        };
        if object.save(&target).is_ok() {
            assert_numbered(&target, &source.display().to_string());
            written += 1;
        }
    }
    println!("{written} objects saved");
    assert!(written > 100, "{written}");
}
