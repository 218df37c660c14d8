use std::collections::HashMap;

use super::{Graph, Node, read, write};
use crate::Limits;

/// Pickles of CPython; together they have nearly every opcode of the binary protocols.
const SAMPLES: &[&[u8]] = &[
    // {'a': (1, (2, 3), (4, 5, 6), (7, 8, 9, 0), ()), 'b': [[], {}]}, protocol 2
    b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01(K\x01K\x02K\x03\x86q\x02K\x04K\x05K\x06\x87q\x03(K\
      \x07K\x08K\x09K\x00tq\x04)tq\x05X\x01\x00\x00\x00bq\x06]q\x07(]q\x08}q\x09eu.",
    // An OrderedDict(a=1) with the attribute m = 2, protocol 4
    b"\x80\x04\x953\x00\x00\x00\x00\x00\x00\x00\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\
      \x94)R\x94\x8c\x01a\x94K\x01s}\x94\x8c\x01m\x94K\x02sb.",
    // [{1}, frozenset([1]), set(), frozenset()], protocol 4
    b"\x80\x04\x95\x15\x00\x00\x00\x00\x00\x00\x00]\x94(\x8f\x94(K\x01\x90(K\x01\x91\x94\x8f\x94(\
      \x91\x94e.",
    // Integers, protocol 1
    b"]q\x00(K\x00M\x00\x01J\x00\x00\x01\x00L2147483648L\nI01\ne.",
    // x.a = [x]; x.b = [x], where x reduces to (X, ([x.a, x.b],)), protocol 2
    b"\x80\x02cm\nX\nq\x00]q\x01(]q\x02h\x00]q\x03(h\x02]q\x04h\x00]q\x05(h\x02h\x04e\x85q\x06Rq\
      \x07ae\x85q\x08R0h\x07ah\x04e\x85q\x09R0h\x07.",
    // An object with a state setter, protocol 4
    b"\x80\x04\x95%\x00\x00\x00\x00\x00\x00\x00]\x94\x8c\x01m\x94\x8c\x01T\x94\x93\x94)R\x94h\x01\
      \x8c\x06setter\x94\x93\x94h\x04K\x01\x86R0a.",
    // Two persistent objects, protocol 2
    b"\x80\x02]q\x00(X\x07\x00\x00\x00storageq\x01X\x01\x00\x00\x000q\x02\x86q\x03Qh\x01h\x02\x86q\
      \x04Qe.",
    // {'a': ['é', 1.5, 2**40, None]}, protocol 0
    b"(dp0\nVa\np1\n(lp2\nV\xe9\np3\naF1.5\naL1099511627776L\naNas.",
];

#[test]
fn every_shortened_pickle_is_an_error() {
    for sample in SAMPLES {
        read(sample, &Limits::default()).unwrap();
        for length in 0..sample.len() {
            let error = read(&sample[..length], &Limits::default()).unwrap_err();
            assert!(error.offset().unwrap() <= length as u64, "{error}");
        }
    }
}

#[test]
fn every_flipped_bit_returns() {
    for sample in SAMPLES {
        let mut bytes = sample.to_vec();
        for index in 0..bytes.len() {
            for bit in 0..8 {
                bytes[index] ^= 1 << bit;
                if let Ok((mut graph, consumed)) = read(&bytes, &Limits::default()) {
                    assert!(consumed <= bytes.len());
                    for id in graph.ids() {
                        graph.describe(id);
                    }
                    // A graph that was read can be written in the newest protocol, or is refused.
                    graph.set_protocol(5);
                    if let Ok(written) = write(&graph, &Limits::default()) {
                        let (again, _) = read(&written, &Limits::default()).unwrap();
                        assert_eq!(write(&again, &Limits::default()).unwrap(), written);
                    }
                }
                bytes[index] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn a_copy_pickles_to_the_same_bytes() {
    for sample in SAMPLES {
        let (graph, _) = read(sample, &Limits::default()).unwrap();
        if graph.protocol() == 0 {
            continue;
        }
        let mut copy = Graph::new(graph.protocol());
        let root = graph.copy_into(graph.root(), &mut copy, &mut HashMap::new());
        copy.set_root(root);
        assert_eq!(write(&copy, &Limits::default()).unwrap(), *sample);
    }
}

#[test]
fn copies_with_one_map_share() {
    let mut from = Graph::new(2);
    let list = from.push(Node::List(Vec::new()));
    *from.node_mut(list) = Node::List(vec![list]);
    let (mut to, mut map) = (Graph::new(2), HashMap::new());
    let first = from.copy_into(list, &mut to, &mut map);
    assert_eq!(from.copy_into(list, &mut to, &mut map), first);
    assert_eq!(to.sequence(first), Some(&[first][..]));
    assert_ne!(from.copy_into(list, &mut to, &mut HashMap::new()), first);
}

#[track_caller]
fn check_description(bytes: &[u8], expected: &str) {
    let (graph, _) = read(bytes, &Limits::default()).unwrap();
    assert_eq!(graph.describe(graph.root()), expected);
}

#[test]
fn objects_are_described_in_words() {
    check_description(b"N.", "`None`");
    check_description(b"K\x05.", "the integer `5`");
    check_description(b"X\x03\x00\x00\x00a\nb.", "the text `a\\nb`");
    check_description(b"}K\x01Ns.", "a dict of 1 item");
    check_description(b"cm\nf\n.", "the class or function `m.f`");
    check_description(
        b"ctorch.nn\nLinear\n)\x81.",
        "an object of `torch.nn.Linear`",
    );
    check_description(b"cm\nf\n)R.", "what a call of `m.f` makes");
    check_description(b"cm\nf\n)R)R.", "an object of a class made on the way");
    // object of a class m.O, protocol 1
    check_description(
        b"ccopy_reg\n_reconstructor\nq\x00(cm\nO\nq\x01c__builtin__\nobject\nq\x02Ntq\x03Rq\x04.",
        "an object of `m.O`",
    );
}

#[test]
fn text_keys_are_looked_up() {
    // {'a': 1, b'b': 2} with a repeated and a non-text key, as Python 2 might have it
    let bytes = b"}(X\x01\x00\x00\x00aK\x01K\x05NU\x01bK\x02X\x01\x00\x00\x00aK\x03u.";
    let (graph, _) = read(bytes, &Limits::default()).unwrap();
    let int = |key| graph.get(graph.root(), key).and_then(|id| graph.int(id));
    assert_eq!(int("a"), Some(3));
    assert_eq!(int("b"), Some(2));
    assert_eq!(int("c"), None);
}
