//! Sharing lets a few bytes of a pickle describe very much: time and memory stay proportional to the
//! file, or a limit is reached.

use super::*;

/// A list of objects of the class `module.name`, all made by the same bytes; `shared` is their
/// common part, in memo slot 2.
fn objects(class: (&str, &str), shared: &[u8], each: &[u8], times: usize) -> Vec<u8> {
    let mut pickle = format!("c{}\n{}\nq\u{1}0", class.0, class.1).into_bytes();
    pickle.extend(shared);
    pickle.extend(b"q\x020](");
    pickle.extend(each.repeat(times));
    pickle.extend(b"e.");
    [b"\x80\x02", &pickle[..]].concat()
}

/// A limit of that many members is enough, and one less is not.
#[track_caller]
fn check_counted(pickle: &[u8], members: u64) {
    limited(pickle, "max_pickle_nodes", members, |value| {
        Limits::default().max_pickle_nodes(value)
    });
}

/// Text, as `BINUNICODE` has it.
fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"X", &length[..], text.as_bytes()].concat()
}

#[test]
fn arguments_that_objects_share_count_for_each() {
    let hundred = [b"(", &b"N".repeat(100)[..], b"t"].concat();
    let pickle = objects(("mine", "Net"), &hundred, b"h\x01h\x02R", 100);
    // 100 objects, and 100 arguments of each.
    check_counted(&pickle, 10_100);
}

#[test]
fn a_state_that_objects_share_counts_for_each() {
    let dict = |pairs: &[u8]| [b"}(", pairs, b"u"].concat();
    // The parameters that are `None`, of which `state_dict()` has none.
    let none = dict(&b"K\x01N".repeat(100));
    let holders = ["_parameters", "_buffers", "_modules"];
    let state: Vec<u8> = holders
        .iter()
        .zip([&none[..], b"}", b"}"])
        .flat_map(|(name, held)| [&text(name), held].concat())
        .collect();
    let pickle = objects(("mine", "Net"), &dict(&state), b"h\x01)\x81h\x02b", 100);
    check_counted(&pickle, 100 + 100 * (3 + 100));

    // The state of an object of PyTorch's C++ part.
    let mut state = [b"(", &b"N".repeat(100)[..], b"t"].concat();
    state.extend(text("mine.Packed"));
    state.extend(b"\x86");
    let class = ("torch", "ScriptObject");
    let pickle = objects(class, &state, b"h\x01)\x81h\x02b", 100);
    check_counted(&pickle, 100 + 100 * (2 + 100));
}

#[test]
fn a_mapping_takes_its_pairs_from_one_argument() {
    // `OrderedDict(pairs, pairs, …)`: Python refuses it.
    let pairs = [b"](", &b"K\x01N\x86"[..], b"e"].concat();
    let mut pickle = objects(("collections", "OrderedDict"), &pairs, b"", 0);
    pickle.truncate(pickle.len() - 4);
    pickle.extend(b"h\x01(");
    pickle.extend(b"h\x02".repeat(3));
    pickle.extend(b"tR.");
    let error = open(pickle, Limits::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NameCollision { .. }));
}

/// Four megabytes that 50,000 objects have in common: a reader that copied them for each object would
/// copy 200 GB, and this test would not come to its end in minutes.
#[test]
fn what_is_not_shown_is_not_read() {
    const TIMES: usize = 50_000;
    let long = "n".repeat(1 << 22);
    let check = |pickle: Vec<u8>| {
        let reader = open(pickle, Limits::default()).unwrap();
        assert_eq!(reader.non_tensors().len(), TIMES);
        for other in reader.non_tensors() {
            assert!(other.description().len() < 1_000);
        }
    };
    check(objects(("mine", &long), b"N", b"h\x01)\x81", TIMES));
    check(objects(("mine", &long), b"N", b"h\x01)R", TIMES));
    check(objects((&long, "Net"), b"N", b"h\x01)R", TIMES));
    let one = [&text(&long)[..], b"\x85"].concat();
    check(objects(("torch", "device"), &one, b"h\x01h\x02R", TIMES));
    check(objects(("numpy", "dtype"), &one, b"h\x01h\x02R", TIMES));
}
