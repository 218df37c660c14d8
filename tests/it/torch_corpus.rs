//! Every file that `torch.save` wrote for the corpus: each tensor as PyTorch says it is, and the
//! file written again byte for byte.

use std::path::PathBuf;

use nnx_checkpoint::ErrorKind;
use nnx_checkpoint::torch::{Layout, TorchObject};
use nnx_tests::{Json, fixtures_dir};

mod judge;

use judge::Judge;

/// Files that PyTorch itself cannot load again, with the side-car of the sound twin that says what
/// they hold.
const TWINS: &[(&str, &str)] = &[
    ("dtype_complex32.legacy", "dtype_complex32"),
    ("dtype_float8_e4m3fn.legacy", "dtype_float8_e4m3fn"),
    ("dtype_float8_e4m3fnuz.legacy", "dtype_float8_e4m3fnuz"),
    ("dtype_float8_e5m2.legacy", "dtype_float8_e5m2"),
    ("dtype_float8_e5m2fnuz.legacy", "dtype_float8_e5m2fnuz"),
    ("dtype_float8_e8m0fnu.legacy", "dtype_float8_e8m0fnu"),
    ("dtype_uint16.legacy", "dtype_uint16"),
    ("dtype_uint32.legacy", "dtype_uint32"),
    ("dtype_uint64.legacy", "dtype_uint64"),
];

/// One file of the corpus.
struct Entry {
    /// The name without `.pt`.
    name: String,
    path: PathBuf,
    sidecar: Json,
}

/// The files, and the entries of the index that are none.
fn entries() -> (Vec<Entry>, Vec<String>) {
    let dir = fixtures_dir().join("torch");
    let (mut entries, mut others) = (Vec::new(), Vec::new());
    for item in Json::read(&dir.join("INDEX.json")).items() {
        let [file, note] = &item.items()[..] else {
            panic!("{item:?} is no entry of the index");
        };
        match file.text().strip_suffix(".pt") {
            Some(name) => entries.push(Entry {
                name: name.to_owned(),
                path: dir.join(file.text()),
                sidecar: Json::read(&dir.join(format!("{name}.json"))),
            }),
            None => others.push(format!("{} ({})", file.text(), note.text())),
        }
    }
    (entries, others)
}

#[test]
fn every_tensor_is_what_torch_says() {
    let (entries, mut not_judged) = entries();
    let dir = fixtures_dir().join("torch");
    let (mut files, mut without, mut tensors, mut storages) = (0, 0, 0, 0);
    for entry in &entries {
        let value = match entry.sidecar.find("value") {
            Some(value) => value,
            None => match TWINS.iter().find(|(name, _)| *name == entry.name) {
                Some((_, twin)) => Json::read(&dir.join(format!("{twin}.json"))).get("value"),
                None => {
                    not_judged.push(format!("{} (torch cannot load it again)", entry.name));
                    continue;
                }
            },
        };
        let object = TorchObject::open(&entry.path)
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        let mut judge = Judge::new(&object, &entry.name);
        judge.walk(&value, object.graph().root(), "root");
        files += 1;
        without += usize::from(judge.tensors + judge.storages == 0);
        tensors += judge.tensors;
        storages += judge.storages;
    }
    println!(
        "{files} of {} files judged ({without} of them hold no tensor): {tensors} tensors and \
         {storages} bare storages agree; not judged: {not_judged:?}",
        entries.len()
    );
    assert_eq!((files, without), (150, 31));
    assert_eq!((tensors, storages), (237, 3));
    assert_eq!(not_judged.len(), 5);
}

#[test]
fn what_torch_saved_is_written_again_byte_for_byte() {
    let (entries, _) = entries();
    let mut written = 0;
    for entry in &entries {
        if entry.sidecar.find("synthesized").is_some() || entry.name.ends_with(".legacy") {
            continue;
        }
        let original = std::fs::read(&entry.path).unwrap();
        let root = match entry.sidecar.find("zip_root") {
            Some(root) => root.text().to_owned(),
            None => {
                let first = entry.sidecar.get("zip_entries").texts().swap_remove(0);
                first.split('/').next().unwrap().to_owned()
            }
        };
        let mut copy = Vec::new();
        TorchObject::open(&entry.path)
            .and_then(|object| object.write_to(&mut copy, &root))
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert!(copy == original, "{} differs", entry.name);
        written += 1;
    }
    println!(
        "{written} zip files of {} written byte for byte",
        entries.len()
    );
    assert_eq!(written, 101);
}

/// Tensors that the corpus lacks, written by `fixtures/tools/torch_extra.py`.
#[test]
fn every_rare_tensor_is_what_torch_says() {
    let dir = fixtures_dir().join("torch-extra");
    let mut judged = Vec::new();
    for name in [
        "big_endian_untyped",
        "calls",
        "dtypes",
        "lazy_bits",
        "legacy_protocol_1",
        "quantized",
        "quantized_packed",
        "quantized_packed_odd",
        "sparse",
    ] {
        let object = TorchObject::open(dir.join(format!("{name}.pt"))).unwrap();
        let value = Json::read(&dir.join(format!("{name}.json"))).get("value");
        let mut judge = Judge::new(&object, name);
        judge.walk(&value, object.graph().root(), "root");
        judged.push((name, judge.tensors + judge.storages));
    }
    println!("tensors that agree: {judged:?}");
    let counts: Vec<_> = judged.iter().map(|judged| judged.1).collect();
    assert_eq!(counts, [7, 16, 4, 15, 2, 3, 2, 2, 7]);
}

/// Jagged tensors, by the parts that torch has them in.
#[test]
fn a_jagged_tensor_is_told_by_its_parts() {
    let dir = fixtures_dir().join("torch-extra");
    let object = TorchObject::open(dir.join("jagged.pt")).unwrap();
    let (graph, root) = (object.graph(), object.graph().root());
    let sidecar = Json::read(&dir.join("jagged.json"));
    let mut judge = Judge::new(&object, "jagged");
    let beside = graph.get(root, "beside").unwrap();
    judge.walk(&sidecar.get("beside"), beside, "beside");
    let mut parts = 0;
    let tensors = sidecar.get("tensors");
    for name in tensors.state().keys() {
        let expected = tensors.get(name);
        let id = graph.get(root, name).unwrap();
        let info = object.tensor_info(id).unwrap().unwrap();
        assert_eq!(info.shape, [expected.get("tensors").size()], "{name}");
        let tracked = expected.get("requires_grad") == judge::truth();
        assert_eq!(info.requires_grad, tracked, "{name}");
        let Layout::Nested { ragged_dim, .. } = &info.layout else {
            panic!("{name}: {:?}", info.layout);
        };
        assert_eq!(*ragged_dim, Some(expected.get("ragged_dim").size()));
        let expected = expected.get("parts");
        let found = info.layout.parts();
        let names: Vec<_> = found.iter().map(|part| part.0).collect();
        assert_eq!(names, expected.state().keys().collect::<Vec<_>>(), "{name}");
        for &(part, id) in found {
            // The side-car numbers the storages of each part anew.
            Judge::new(&object, "jagged").walk(&expected.get(part), id, part);
            parts += 1;
        }
        let error = object.tensor(id).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }));
    }
    assert_eq!((tensors.state().len(), parts), (4, 9));
}

/// The parts of a nested tensor that torch 2.15 saves and cannot load again: two parts of 1 and 2
/// rows of 2, as the generator of the corpus made it.
#[test]
fn a_nested_tensor_is_told_by_its_parts() {
    let object = TorchObject::open(fixtures_dir().join("torch/nested_strided.pt")).unwrap();
    let root = object.graph().root();
    let info = object.tensor_info(root).unwrap().unwrap();
    assert_eq!(info.layout.name(), "nested");
    let names: Vec<_> = info.layout.parts().iter().map(|part| part.0).collect();
    assert_eq!(names, ["values", "sizes", "strides", "offsets"]);
    for &(_, part) in info.layout.parts() {
        object.tensor(part).unwrap().unwrap().to_bytes().unwrap();
    }
    assert!(matches!(
        object.tensor(root).unwrap_err().kind(),
        ErrorKind::Unsupported { .. }
    ));
}
