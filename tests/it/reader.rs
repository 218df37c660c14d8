//! The reader over files that PyTorch and others wrote for it (`fixtures/reader`), over every other
//! fixture, and over checkpoints of NNx.

use std::path::{Path, PathBuf};

use nnx_checkpoint::{CheckpointReader, ConvertOptions, Format, OpenOptions, SNIFF_BYTES, sniff};
use nnx_tests::{Fixture, Form, Json, fixtures_dir};

use crate::cases::judge::{judge, read};

#[test]
fn every_file_of_the_reader_fixtures_is_as_pytorch_says() {
    let dir = fixtures_dir().join("reader");
    let files = Json::read(&dir.join("expected.json")).get("files");
    let mut wrong = Vec::new();
    for name in files.state().keys() {
        if let Err(what) = judge(&files.get(name), read(&dir.join(name))) {
            wrong.push(format!("{name}: {what}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(files.state().len() >= 30);
    println!("{} files of the reader fixtures", files.state().len());
}

/// Pickles of arrays: every dtype that NumPy and PyTorch share, in both byte orders and every
/// layout, of NumPy 1 and 2, in every protocol. All other dtypes of NumPy stay values.
#[test]
fn arrays_of_numpy_are_tensors() {
    let dir = fixtures_dir().join("numpy-arrays");
    let expected = Json::read(&dir.join("expected.json"));
    let judge = |name: &str, of: &str| {
        let of = expected.get(of);
        judge(&of, read(&dir.join(name))).unwrap_or_else(|what| panic!("{name}: {what}"));
    };
    for version in ["numpy1", "numpy2"] {
        for protocol in 0..=5 {
            judge(&format!("{version}_protocol{protocol}.pkl"), "arrays");
        }
    }
    judge("python2.pkl", "python2");
    let tensors = expected.get("arrays").get("tensors").state().len();
    assert_eq!(tensors, 14 * (2 * 4 + 2) + 4);
}

/// A PyTorch file has them as tensors of PyTorch's own, and the other values as they were.
#[test]
fn arrays_of_numpy_become_tensors_of_pytorch() {
    let dir = fixtures_dir().join("numpy-arrays");
    let expected = Json::read(&dir.join("expected.json")).get("arrays");
    let target = tempfile::tempdir().unwrap();
    for version in ["numpy1", "numpy2"] {
        let source = dir.join(format!("{version}_protocol4.pkl"));
        let path = target.path().join(format!("{version}.pt"));
        let options = ConvertOptions::default();
        let done = nnx_checkpoint::convert(source, &path, &options).unwrap();
        assert!(
            done.notes
                .iter()
                .any(|note| note.contains("were arrays of NumPy")),
            "{:?}",
            done.notes
        );
        let mut outcome = read(&path).unwrap();
        assert_eq!(outcome.format(), "torch_zip");
        outcome.set_format("pickle");
        judge(&expected, Ok(outcome)).unwrap_or_else(|what| panic!("{version}: {what}"));
        let reader = CheckpointReader::open(&path).unwrap();
        let storage = |name| reader.entry(name).unwrap().storage().unwrap();
        assert_eq!(storage("shared"), storage("again"));
        assert_ne!(storage("shared"), storage("read only"));
    }
}

/// In a file of `torch.save` with tensors, arrays are values beside them, as in Python.
#[test]
fn arrays_of_numpy_beside_tensors_are_values() {
    let dir = fixtures_dir();
    let names = |path: &str| -> Vec<String> {
        let reader = CheckpointReader::open(dir.join(path)).unwrap();
        let tensors = reader.tensors().iter();
        tensors.map(|entry| entry.name().to_owned()).collect()
    };
    assert_eq!(names("cases/P08_numpy_in_checkpoint/numpy1.pt"), ["w"]);
    let alone = ["f32", "i64_f", "bool", "empty", "zero_d", "be"];
    assert_eq!(names("torch/numpy_arrays.pt"), alone);
    let sidecar = Json::read(&dir.join("torch/numpy_arrays.json"));
    let reader = CheckpointReader::open(dir.join("torch/numpy_arrays.pt")).unwrap();
    for pair in sidecar
        .get("value")
        .get("v")
        .items()
        .iter()
        .take(alone.len())
    {
        let name = pair.items()[0].get("v");
        let tensor = reader.tensor(name.text()).unwrap();
        let hash = pair.items()[1].get("c_order_sha256");
        assert_eq!(nnx_tests::sha256(&tensor.to_bytes().unwrap()), hash.text());
    }
}

/// Arrays whose pickles contradict themselves, as NumPy finds them too.
#[test]
fn an_array_that_contradicts_itself_is_refused() {
    let path = fixtures_dir().join("numpy-arrays/python2.pkl");
    let sound = std::fs::read(path).unwrap();
    let options = OpenOptions::default();
    let kind = |from: &[u8], to: &[u8]| {
        let at = sound
            .windows(from.len())
            .position(|part| part == from)
            .unwrap();
        let damaged = [&sound[..at], to, &sound[at + from.len()..]].concat();
        CheckpointReader::from_bytes(damaged, &options).map_err(|error| error.kind().name())
    };
    // A shape of another number of elements, and one that is no shape.
    assert_eq!(
        kind(b"(K\x02K\x03t", b"(K\x02K\x04t").unwrap_err(),
        "malformed"
    );
    assert_eq!(kind(b"(K\x02K\x03t", b"(K\x02Nt").unwrap_err(), "malformed");
    // A dtype of another size.
    assert_eq!(kind(b"U\x02f4", b"U\x02f8").unwrap_err(), "malformed");
    // Objects are no numbers; the array is a value.
    let reader = kind(b"U\x02f4", b"U\x02O8").unwrap();
    assert_eq!(reader.tensors().len(), 1);
}

/// Quantised modules, and their `state_dict()`, which adds numbers as tensors and unpacks weights.
#[test]
fn quantised_modules_are_named_as_their_state_dict() {
    let dir = fixtures_dir().join("quantized");
    let files = Json::read(&dir.join("expected.json")).get("files");
    for name in files.state().keys() {
        let path = dir.join(name);
        let expected = files.get(name);
        judge(&expected, read(&path)).unwrap_or_else(|what| panic!("{name}: {what}"));
        let reader = CheckpointReader::open(&path).unwrap();
        let found: Vec<_> = reader.tensors().iter().map(|entry| entry.name()).collect();
        let tensors = expected.get("tensors");
        let in_order: Vec<_> = tensors.state().keys().collect();
        assert_eq!(found, in_order, "{name}");
        for other in reader.non_tensors() {
            let description = other.description();
            assert!(
                !description.contains("no name leads"),
                "{name}: {}: {description}",
                other.path()
            );
        }
    }
    assert_eq!(files.state().len(), 4);
}

/// A checkpoint of NNx has its weights in the attribute `net_state`; its safetensors form has them
/// without.
#[test]
fn checkpoints_of_nnx_are_named_by_their_attributes() {
    let mut judged = 0;
    for fixture in Fixture::all() {
        for (form, path) in fixture.files() {
            let reader = CheckpointReader::open(&path).unwrap_or_else(|error| panic!("{error}"));
            let prefix = match form {
                Form::SafeTensors => "",
                Form::Zip | Form::Legacy => "net_state.",
            };
            let mut expected: Vec<String> = fixture
                .tensors()
                .iter()
                .map(|tensor| format!("{prefix}{}", tensor.name))
                .collect();
            let mut found: Vec<String> = reader
                .tensors()
                .iter()
                .map(|entry| entry.name().to_owned())
                .collect();
            if form == Form::SafeTensors {
                expected.sort();
                found.sort();
            }
            assert_eq!(found, expected, "{}", path.display());
            judged += 1;
        }
    }
    println!("{judged} checkpoints of NNx");
}

/// The names that the user of a checkpoint knows are those of both forms of it, in one call.
#[test]
fn a_state_dict_has_the_names_of_the_network() {
    let mut judged = 0;
    for fixture in Fixture::all() {
        let mut expected: Vec<_> = fixture
            .tensors()
            .iter()
            .map(|one| one.name.clone())
            .collect();
        expected.sort();
        for (_, path) in fixture.files() {
            let state = nnx_checkpoint::load_state_dict(&path).unwrap();
            let mut found: Vec<_> = state.keys().cloned().collect();
            found.sort();
            assert_eq!(found, expected, "{}", path.display());
            let reader = CheckpointReader::open(&path).unwrap();
            for (name, entry) in reader.default_root().tensors() {
                let bytes = entry.tensor().unwrap().to_vec().unwrap();
                assert_eq!(state[name].to_vec().unwrap(), bytes, "{name}");
            }
            judged += 1;
        }
    }
    assert!(judged > 100, "{judged}");
}

/// Lightning's checkpoints, and all others with their weights below a key.
#[test]
fn a_root_leaves_its_path_out_of_the_names() {
    let path = fixtures_dir().join("cases/C05_state_dict_inside_state_dict/nai.ckpt");
    let reader = CheckpointReader::open(path).unwrap();
    let root = reader.root("state_dict").unwrap();
    let state = root.state_dict().unwrap();
    assert!(!state.is_empty());
    assert_eq!(state.len(), root.tensors().count());
    for (name, tensor) in &state {
        let full = format!("state_dict.{name}");
        assert_eq!(root.prefix(), "state_dict.");
        let (entry, whole) = (root.entry(name).unwrap(), reader.tensor(&full).unwrap());
        assert_eq!(entry.name(), full);
        assert_eq!(tensor.to_vec().unwrap(), whole.to_vec().unwrap());
        assert_eq!(root.tensor(name).unwrap().shape(), tensor.shape());
    }
    // A word that some name begins with is no path.
    assert_eq!(reader.root("state").unwrap_err().name(), "no_such_tensor");
    let all = reader.state_dict().unwrap();
    assert_eq!(all.len(), reader.tensors().len());
    assert_eq!(reader.root("").unwrap().tensors().count(), all.len());
}

/// Files that do not open, with the kind of their error: where `torch.save` itself stopped half way.
const REFUSED: &[(&str, &str)] = &[
    ("dtype_int1.pt", "not_a_checkpoint"),
    ("dtype_int4.pt", "not_a_checkpoint"),
    ("dtype_uint1.pt", "not_a_checkpoint"),
    ("dtype_uint4.pt", "not_a_checkpoint"),
];

#[test]
fn every_torch_fixture_opens_but_for_those_listed() {
    let dir = fixtures_dir().join("torch");
    let mut paths = Vec::new();
    files_below(&dir, &mut paths);
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pt"));
    paths.sort();
    let mut refused = Vec::new();
    for path in &paths {
        if let Err(error) = CheckpointReader::open(path) {
            let name = path.file_name().unwrap().to_str().unwrap();
            refused.push((name, error.kind().name()));
        }
    }
    assert_eq!(refused, REFUSED);
    println!(
        "{} of {} torch fixtures open",
        paths.len() - refused.len(),
        paths.len()
    );
}

/// A whole module is named as its `state_dict()`, in the same order.
#[test]
fn a_whole_module_is_named_as_its_state_dict() {
    let dir = fixtures_dir().join("torch");
    let sidecar = Json::read(&dir.join("module_sequential.json"));
    let state = sidecar.get("value").get("state_dict").get("v");
    let expected: Vec<String> = state
        .items()
        .iter()
        .map(|pair| pair.items()[0].get("v").text().to_owned())
        .collect();
    let reader = CheckpointReader::open(dir.join("module_sequential.pt")).unwrap();
    let found: Vec<&str> = reader.tensors().iter().map(|entry| entry.name()).collect();
    assert_eq!(found, expected);
}

/// Its program is not read, so that writing it would lose it.
#[test]
fn an_object_of_a_torchscript_archive_is_not_written() {
    let reader = CheckpointReader::open(fixtures_dir().join("reader/scripted.pt")).unwrap();
    let object = reader.object().unwrap();
    let error = object.write_to(&mut Vec::new(), "archive").unwrap_err();
    assert_eq!(error.kind().name(), "unsupported");
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_sniffer_agrees_with_every_fixture_that_opens() {
    let mut paths = Vec::new();
    files_below(&fixtures_dir(), &mut paths);
    let mut counts = std::collections::BTreeMap::new();
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let sniffed = sniff(&bytes[..bytes.len().min(SNIFF_BYTES)]);
        let Ok(reader) = CheckpointReader::open(&path) else {
            continue;
        };
        let format = reader.format();
        let agrees = match format {
            Format::TorchScript => sniffed == Some(Format::TorchZip),
            // Neither a pickle of protocol 0 or 1 nor an index has a mark of its own, and a
            // safetensors header may begin with a blank.
            Format::Pickle | Format::SafeTensors => sniffed == Some(format) || sniffed.is_none(),
            Format::ShardedSafeTensors | Format::ShardedTorch => sniffed.is_none(),
            // A file of several: a pickle, archives that may be compressed, a name, safetensors.
            format if format.is_distributed() => sniffed.is_none_or(|sniffed| {
                let parts = [
                    Format::Compressed,
                    Format::Pickle,
                    Format::SafeTensors,
                    Format::TorchZip,
                ];
                parts.contains(&sniffed)
            }),
            other => sniffed == Some(other),
        };
        assert!(agrees, "{}: {sniffed:?} {format:?}", path.display());
        *counts.entry(format.name()).or_insert(0) += 1;
    }
    println!("{counts:?}");
    for format in [
        "pickle",
        "safetensors",
        "sharded_safetensors",
        "sharded_torch",
        "torch_legacy",
        "torch_tar",
        "torch_zip",
        "torchscript",
    ] {
        assert!(counts.contains_key(format), "no fixture of {format}");
    }
}

/// Every file of the cases and of the reader fixtures, cut at lengths and with bits flipped.
#[test]
fn damaged_files_of_every_kind_return() {
    let mut paths = Vec::new();
    for folder in ["cases", "reader"] {
        files_below(&fixtures_dir().join(folder), &mut paths);
    }
    let options = OpenOptions::default().allow_dangerous_globals(true);
    let (mut judged, mut opened) = (0, 0);
    let mut judge = |bytes: Vec<u8>| {
        judged += 1;
        if let Ok(reader) = CheckpointReader::from_bytes(bytes, &options) {
            opened += 1;
            for entry in reader.tensors() {
                let small = entry.byte_len() < 1 << 20;
                let bytes = reader.tensor(entry.name()).ok().filter(|_| small);
                bytes.map(|tensor| tensor.to_bytes().map(|bytes| bytes.len()).ok());
            }
        }
    };
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let step = bytes.len() / 40 + 1;
        for length in (0..bytes.len()).step_by(step) {
            judge(bytes[..length].to_vec());
        }
        for position in (0..bytes.len() * 8).step_by(step * 8 + 1) {
            let mut damaged = bytes.clone();
            damaged[position / 8] ^= 1 << (position % 8);
            judge(damaged);
        }
    }
    assert!(opened > 100 && opened < judged, "{opened} of {judged}");
    println!("{judged} damaged files judged, {opened} of them opened");
}

/// `save_torch_model` leaves one name of tied weights out of the shards and notes it in the index.
#[test]
fn tied_weights_of_shards_have_both_of_their_names() {
    let folder = fixtures_dir().join("tied-shards");
    let expected = Json::read(&folder.join("expected.json"));
    let reader = CheckpointReader::open(&folder).unwrap();
    assert_eq!(reader.tensors().len(), expected.state().len());
    for name in expected.state().keys() {
        let tensor = reader.tensor(name).unwrap();
        let of = expected.get(name);
        assert_eq!(
            nnx_tests::sha256(&tensor.to_bytes().unwrap()),
            of.get("sha256").text()
        );
        assert_eq!(tensor.shape().len(), of.get("shape").items().len());
    }
    // Converted, they are one file with both.
    let target = tempfile::tempdir().unwrap();
    let path = target.path().join("all.safetensors");
    let index = folder.join("model.safetensors.index.json");
    nnx_checkpoint::convert(index, &path, &Default::default()).unwrap();
    let back = CheckpointReader::open(&path).unwrap();
    for entry in reader.tensors() {
        let (one, other) = (reader.tensor(entry.name()), back.tensor(entry.name()));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(one.to_bytes().unwrap(), other.to_bytes().unwrap());
    }
}
