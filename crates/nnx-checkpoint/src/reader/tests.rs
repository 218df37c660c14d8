use super::*;
use crate::pickle::NodeId;
use crate::torch::TorchBuilder;
use crate::{Dtype, Limits, SafetyLevel};

mod quantized;
mod sharing;

fn tensor(value: u8) -> Tensor {
    Tensor::from_bytes(Dtype::UInt8, &[2], vec![value, value]).unwrap()
}

/// The file of the object that `build` makes.
fn file(build: impl FnOnce(&mut TorchBuilder) -> NodeId) -> Vec<u8> {
    let mut builder = TorchBuilder::new();
    let root = build(&mut builder);
    let mut file = Vec::new();
    builder.finish(root).write_to(&mut file, "archive").unwrap();
    file
}

fn open(file: Vec<u8>, limits: Limits) -> Result<CheckpointReader> {
    CheckpointReader::from_bytes(file, &OpenOptions::default().limits(limits))
}

/// The names of the tensors and those of the other values.
#[track_caller]
fn check(
    build: impl FnOnce(&mut TorchBuilder) -> NodeId,
    expected: &[&str],
    expected_others: &[(&str, &str)],
) {
    let reader = open(file(build), Limits::default()).unwrap();
    let names: Vec<_> = reader.tensors().iter().map(TensorEntry::name).collect();
    assert_eq!(names, expected);
    let others: Vec<_> = reader
        .non_tensors()
        .iter()
        .map(|other| (other.path(), other.description()))
        .collect();
    assert_eq!(others, expected_others);
}

/// `{key: value, …}` with text keys.
fn dict(builder: &mut TorchBuilder, pairs: &[(&str, NodeId)]) -> NodeId {
    let pairs = pairs
        .iter()
        .map(|&(key, value)| (builder.text(key), value))
        .collect();
    builder.dict(pairs)
}

#[test]
fn keys_indices_and_attributes_are_joined_with_dots() {
    check(
        |b| {
            let (one, two) = (b.tensor(&tensor(1)).unwrap(), b.tensor(&tensor(2)).unwrap());
            let three = b.tensor(&tensor(3)).unwrap();
            let list = b.list(vec![one, two]);
            let five = b.int(5);
            let state = dict(b, &[("weight", three), ("lr", five)]);
            let object = b.instance("mine", "Net", state);
            dict(b, &[("list", list), ("net", object)])
        },
        &["list.0", "list.1", "net.weight"],
        &[("net.lr", "the integer `5`")],
    );
}

#[test]
fn a_tensor_that_is_all_of_a_file_has_the_empty_name() {
    check(|b| b.tensor(&tensor(1)).unwrap(), &[""], &[]);
}

#[test]
fn what_holds_no_tensor_is_told_in_a_line() {
    check(
        |b| {
            let numbers = (0..3).map(|value| b.int(value)).collect();
            let numbers = b.list(numbers);
            let none = b.none();
            let state = dict(b, &[("a", none)]);
            let object = b.instance("mine", "Trainer", state);
            let empty = b.dict(Vec::new());
            dict(
                b,
                &[("flags", numbers), ("trainer", object), ("empty", empty)],
            )
        },
        &[],
        &[
            ("flags", "a list of 3 items"),
            ("trainer", "an object of `mine.Trainer`"),
            ("empty", "a dict of 0 items"),
        ],
    );
}

#[test]
fn what_is_shared_has_every_name_when_it_holds_a_tensor() {
    check(
        |b| {
            let weight = b.tensor(&tensor(1)).unwrap();
            let block = dict(b, &[("weight", weight)]);
            let (six, seven) = (b.int(6), b.int(7));
            let settings = dict(b, &[("a", six), ("b", seven)]);
            dict(
                b,
                &[
                    ("one", block),
                    ("two", block),
                    ("s", settings),
                    ("t", settings),
                ],
            )
        },
        &["one.weight", "two.weight"],
        &[
            ("s.a", "the integer `6`"),
            ("s.b", "the integer `7`"),
            ("t", "a dict of 2 items, listed in full under another name"),
        ],
    );
}

#[test]
fn cycles_are_walked_once() {
    let mut builder = TorchBuilder::new();
    let weight = builder.tensor(&tensor(1)).unwrap();
    let key = builder.text("w");
    let back = builder.text("back");
    // No builder makes a cycle: `{'w': tensor, 'back': [None]}`, whose `None` is then the dict.
    let root = builder.dict(vec![(key, weight)]);
    let list = builder.list(vec![root]);
    let object = builder.finish(root);
    let mut graph = object.graph().clone();
    if let crate::pickle::Node::Dict(pairs) = graph.node_mut(root) {
        pairs.push((back, list));
    }
    let program = crate::pickle::write(&graph, &Limits::default()).unwrap();
    let mut zip = crate::zip::ZipWriter::new(Vec::new(), "archive");
    zip.record("data.pkl", &program).unwrap();
    zip.record("data/0", &[1, 1]).unwrap();
    zip.record("version", b"3\n").unwrap();
    let reader = open(zip.finish().unwrap(), Limits::default()).unwrap();
    assert_eq!(reader.tensors().len(), 1);
    let [other] = reader.non_tensors() else {
        panic!("{:?}", reader.non_tensors());
    };
    assert_eq!(
        (other.path(), other.description()),
        ("back.0", "a dict of 2 items, the root again")
    );
}

#[track_caller]
fn collides(build: impl FnOnce(&mut TorchBuilder) -> NodeId, expected: &str) {
    let error = open(file(build), Limits::default()).unwrap_err();
    match error.kind() {
        ErrorKind::NameCollision { name } => assert_eq!(name, expected),
        _ => panic!("{error}"),
    }
}

#[test]
fn two_values_of_one_name_are_refused() {
    let pair = |other_is_tensor: bool| {
        move |b: &mut TorchBuilder| {
            let inner = b.tensor(&tensor(1)).unwrap();
            let inner = dict(b, &[("b", inner)]);
            let other = if other_is_tensor {
                b.tensor(&tensor(2)).unwrap()
            } else {
                b.none()
            };
            dict(b, &[("a", inner), ("a.b", other)])
        }
    };
    collides(pair(true), "a.b");
    collides(pair(false), "a.b");
    collides(
        |b| {
            let (one, text, none) = (b.int(1), b.text("1"), b.none());
            b.dict(vec![(one, none), (text, none)])
        },
        "1",
    );
}

/// `levels` lists, each holding the one before twice; the innermost holds what `leaf` makes.
fn bomb(levels: usize, leaf: impl FnOnce(&mut TorchBuilder) -> NodeId) -> Vec<u8> {
    file(|b| {
        let mut inner = leaf(b);
        for _ in 0..levels {
            inner = b.list(vec![inner, inner]);
        }
        inner
    })
}

#[test]
fn sharing_does_not_explode() {
    // 2^60 numbers, if they were walked one by one.
    let plain = bomb(60, |b| b.int(1));
    let reader = open(plain, Limits::default()).unwrap();
    assert!(reader.tensors().is_empty() && reader.non_tensors().len() < 100);
    // 2^60 names of one tensor.
    let named = bomb(60, |b| b.tensor(&tensor(1)).unwrap());
    let error = open(named, Limits::default().max_listed(10_000)).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::LimitExceeded {
                limit: "max_listed",
                allowed: 10_000,
                ..
            }
        ),
        "{error}"
    );
}

/// 2^21 names took 2 GB, and names as long as their bound allows 1.3 GB.
#[test]
fn names_beyond_those_of_the_objects_are_bounded_by_what_they_take() {
    let named = bomb(21, |b| b.tensor(&tensor(1)).unwrap());
    let error = open(named, Limits::default()).unwrap_err();
    let is_meant = matches!(
        error.kind(),
        ErrorKind::LimitExceeded {
            limit: "max_shared_name_bytes",
            allowed: 0x0200_0000,
            ..
        }
    );
    assert!(is_meant, "{error}");
    // Names that the file spells out are as many as it has objects.
    let tied = file(|b| {
        let one = b.tensor(&tensor(1)).unwrap();
        let keys: Vec<_> = (0..1000).map(|index| b.text(&index.to_string())).collect();
        b.dict(keys.into_iter().map(|key| (key, one)).collect())
    });
    let reader = open(tied, Limits::default().max_shared_name_bytes(0)).unwrap();
    assert_eq!(reader.tensors().len(), 1000);
}

#[track_caller]
fn limited(file: &[u8], limit: &'static str, enough: u64, set: impl Fn(u64) -> Limits) {
    open(file.to_vec(), set(enough)).unwrap();
    let error = open(file.to_vec(), set(enough - 1)).unwrap_err();
    match error.kind() {
        ErrorKind::LimitExceeded { limit: found, .. } => assert_eq!(*found, limit),
        _ => panic!("{error}"),
    }
}

#[test]
fn limits_hold_from_the_first_value_beyond() {
    let eight = bomb(3, |b| b.tensor(&tensor(1)).unwrap());
    limited(&eight, "max_listed", 8, |value| {
        Limits::default().max_listed(value)
    });
    // `0.0.0` to `1.1.1`.
    limited(&eight, "max_name_bytes", 40, |value| {
        Limits::default().max_name_bytes(value)
    });
    limited(
        &bomb(8, |b| b.tensor(&tensor(1)).unwrap()),
        "max_listed",
        256,
        |value| {
            Limits::default()
                .max_listed(value)
                .max_shared_name_bytes(u64::MAX)
        },
    );
    limited(&eight, "max_depth", 3, |value| {
        Limits::default().max_depth(value)
    });
}

#[test]
fn a_key_that_is_shared_counts_each_time() {
    let shared = file(|b| {
        let key = b.interned(&"k".repeat(1000));
        let one = b.tensor(&tensor(1)).unwrap();
        let inner = (0..10).map(|_| b.dict(vec![(key, one)])).collect();
        b.list(inner)
    });
    // `0.k…` to `9.k…`.
    limited(&shared, "max_name_bytes", 10 * 1002, |value| {
        Limits::default().max_name_bytes(value)
    });
    let error = open(shared, Limits::default().max_name_bytes(5_000)).unwrap_err();
    assert!(error.to_string().contains("max_name_bytes"), "{error}");
}

#[test]
fn opening_touches_no_storage() {
    let mut bytes = file(|b| {
        let one = b.tensor(&tensor(0xa5)).unwrap();
        dict(b, &[("w", one)])
    });
    let at = bytes
        .windows(2)
        .position(|pair| pair == [0xa5, 0xa5])
        .expect("the storage's bytes");
    bytes[at] ^= 1;
    let reader = open(bytes.clone(), Limits::default()).unwrap();
    assert_eq!(reader.tensors().len(), 1);
    // A byte of it was looked at: the checksum tells.
    let error = reader.tensor("w").unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
    assert_eq!(error.tensor(), Some("w"));
    let trusting = OpenOptions::default().verify(false);
    let reader = CheckpointReader::from_bytes(bytes, &trusting).unwrap();
    let tensor = reader.tensor("w").unwrap();
    assert_eq!(&*tensor.to_bytes().unwrap(), [0xa4, 0xa5]);
}

#[test]
fn tensors_of_one_storage_have_its_number() {
    let storage = crate::Storage::new(vec![1, 2, 3, 4]);
    let view = |offset| Tensor::view(storage.clone(), Dtype::UInt8, offset, &[2], &[1]).unwrap();
    let bytes = file(|b| {
        let (one, two) = (b.tensor(&view(0)).unwrap(), b.tensor(&view(2)).unwrap());
        let three = b.tensor(&tensor(1)).unwrap();
        dict(b, &[("a", one), ("b", two), ("c", three)])
    });
    let reader = open(bytes, Limits::default()).unwrap();
    let storages: Vec<_> = reader.tensors().iter().map(TensorEntry::storage).collect();
    assert_eq!(storages, [Some(0), Some(0), Some(1)]);
    assert!(matches!(
        reader.tensor("d").unwrap_err().kind(),
        ErrorKind::NoSuchTensor
    ));
}

#[test]
fn a_dangerous_global_is_refused_or_listed() {
    let bytes = file(|b| {
        let system = b.global("os", "system");
        let command = b.text("touch PWNED");
        let call = b.reduce(system, vec![command]);
        let mine = b.global("mine", "Thing");
        let weight = b.tensor(&tensor(1)).unwrap();
        dict(b, &[("w", weight), ("x", call), ("mine", mine)])
    });
    let error = open(bytes.clone(), Limits::default()).unwrap_err();
    let ErrorKind::UnsafeGlobal { module, name } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!((module.as_str(), name.as_str()), ("os", "system"));
    assert_eq!(error.kind().name(), "unsafe_global");
    assert_eq!(error.entry(), Some("archive/data.pkl"));
    let offset = error.offset();

    let options = OpenOptions::default().allow_dangerous_globals(true);
    let reader = CheckpointReader::from_bytes(bytes, &options).unwrap();
    let found: Vec<_> = reader
        .globals()
        .iter()
        .map(|global| (global.module.as_str(), global.name.as_str(), global.level))
        .collect();
    for expected in [
        ("os", "system", SafetyLevel::Dangerous),
        ("mine", "Thing", SafetyLevel::Suspicious),
        ("torch._utils", "_rebuild_tensor_v2", SafetyLevel::Innocuous),
        ("collections", "OrderedDict", SafetyLevel::Innocuous),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    let dangerous = reader
        .globals()
        .iter()
        .find(|global| global.level == SafetyLevel::Dangerous);
    assert_eq!(dangerous.and_then(|global| global.offset), offset);
    assert_eq!(
        reader
            .non_tensors()
            .first()
            .map(NonTensorEntry::description),
        Some("what a call of `os.system` makes")
    );
}

#[test]
fn what_is_written_behind_garbage_was_named_all_the_same() {
    // A pickle that names `posix.system`, calls it, and then breaks off.
    let error = CheckpointReader::from_bytes(
        &b"\x80\x02cposix\nsystem\n\x8c\x02id\x85R\xff"[..],
        &OpenOptions::default(),
    )
    .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::UnsafeGlobal { .. }),
        "{error}"
    );
    assert_eq!(error.offset(), Some(2));
}

/// The error for a file of another kind names the kind.
#[test]
fn what_people_take_for_a_checkpoint_is_named() {
    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let error = open(bytes.to_vec(), Limits::default()).unwrap_err();
        assert_eq!(error.kind().name(), "not_a_checkpoint");
        let message = error.to_string();
        assert!(message.contains(expected), "{message}");
    }
    check(&[0; 16], "nothing but 16 zero bytes");
    check(&[0; 4096], "a download that broke off looks like this");
    let mut sparse = vec![0; 4096];
    sparse.extend(b"tensor data");
    check(&sparse, "begins with 4096 zero bytes");
    let mut long = vec![0; 2 << 20];
    long.push(1);
    check(&long, "begins with 1048576 zero bytes and more");
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image");
    check(b"\xff\xd8\xff\xe0\0\x10JFIF\0", "a JPEG image");
    check(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document");
    check(b"\x7fELF\x02\x01\x01\0\0\0\0\0", "an ELF program");
    check(b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "a compressed file (gzip)");
    check(b"\x04\x22\x4d\x18\x64\x40\xa7", "a compressed file (LZ4)");
    check(b"Rar!\x1a\x07\x01\0", "a compressed file (RAR)");
}
