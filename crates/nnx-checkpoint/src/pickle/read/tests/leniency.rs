//! Pickles that no pickler writes and that unpicklers accept all the same.

use super::super::super::{read, read_lossy};
use super::check;
use crate::Limits;

/// The results of `pickle.loads` of CPython 3.11.
#[test]
fn numbers_are_spelt_as_the_c_unpickler_reads_them() {
    for (line, expected) in [
        (&b"I0x10"[..], "16"),
        (b"I1_0", "10"),
        (b"I 5", "5"),
        (b"I5 ", "5"),
        (b"I010", "8"),
        (b"I-010", "-8"),
        (b"I000", "0"),
        (b"I00_0", "0"),
        (b"I+1", "True"),
        (b"I 1", "True"),
        (b"I-0", "False"),
        (b"I1\x00x", "1"),
        (b"I5\x00", "5"),
        (b"I0b101", "5"),
        (b"I0x_1", "1"),
        (b"I-0x8000000000000000", "-9223372036854775808"),
        (b"L0x1", "1"),
        (b"L1_0L", "10"),
        (b"L 5L", "5"),
        (b"L5 L", "5"),
        (b"L5\x00zL", "5"),
        (b"L0o7L", "7"),
        (b"L0b11L", "3"),
        (b"L00L", "0"),
        (b"L0_0L", "0"),
        (b"L0x_fL", "15"),
        (b"F1\x00z", "1.0"),
    ] {
        check(&[line, b"\n."].concat(), expected);
    }
    // -0xffffffffffffffffff and 0o7777777777777777777777777, int.to_bytes(10, 'little').
    check(
        b"L-0xffffffffffffffffffL\n.",
        r"int.from_bytes(b'\x01\x00\x00\x00\x00\x00\x00\x00\x00\xff')",
    );
    check(
        b"L0o7777777777777777777777777L\n.",
        r"int.from_bytes(b'\xff\xff\xff\xff\xff\xff\xff\xff\xff\x07')",
    );
    let hexadecimal = [b"L0x", &*vec![b'9'; 5000], b"L\n."].concat();
    read(&hexadecimal, &Limits::default()).unwrap();
}

#[test]
fn memo_keys_are_spelt_as_the_c_unpickler_reads_them() {
    check(b"Np 1\n0g1\n.", "None");
    check(b"Np1_0\n0g10\n.", "None");
    check(b"Np-0\n0g0\n.", "None");
    check(b"Np010\n0g10\n.", "None");
    check(b"Np1\x00z\n0g+1\n.", "None");
}

#[test]
fn filling_with_nothing_is_no_filling() {
    check(b"N(e.", "None");
    check(b"N(u.", "None");
    check(b"N(\x90.", "None");
    check(b"NNb.", "None");
    check(b"c__builtin__\nlist\nNb.", "__builtin__.list");
    check(b"c__builtin__\nlist\nN}\x86b.", "__builtin__.list");
}

#[test]
fn names_may_be_texts_of_python_2() {
    let expected = "collections.OrderedDict";
    check(b"U\x0bcollectionsS'OrderedDict'\n\x93.", expected);
}

#[test]
fn what_stands_behind_a_refused_opcode_is_followed() {
    // Refused by the C unpickler, not by Python's.
    let part = read_lossy(b"F 1.0\n0cos\nsystem\n)R.N.", &Limits::default());
    assert!(part.outcome.is_err());
    assert_eq!(part.consumed, Some(21));
    let globals: Vec<_> = part
        .graph
        .ids()
        .filter_map(|id| part.graph.global(id))
        .collect();
    assert_eq!(globals, [("os", "system")]);
    // No unpickler takes from an empty stack.
    let part = read_lossy(b"0cos\nsystem\n)R.", &Limits::default());
    assert_eq!((part.graph.len(), part.consumed), (0, None));
}

#[test]
fn what_the_c_unpickler_refuses_is_refused() {
    for bytes in [
        &b"I08\n."[..],
        b"I0x\n.",
        b"I0_1\n.",
        b"I1__0\n.",
        b"I1_\n.",
        b"I- 5\n.",
        b"I--5\n.",
        b"I0x-5\n.",
        b"I0x+5\n.",
        b"L010L\n.",
        b"L0x__fL\n.",
        b"L_1L\n.",
        b"L0x\n.",
        b"L5LL\n.",
        b"Np0x1\n.",
        b"Np_1\n.",
        b"Np9223372036854775808\n.",
        b"N\x98.",
        b"(e.",
        b"N)b.",
    ] {
        let result = read(bytes, &Limits::default());
        assert!(result.is_err(), "{}", bytes.escape_ascii());
    }
}
