mod leniency;

use super::super::{Call, Change, Graph, Node, NodeId, Text, read};
use crate::{ErrorKind, Limits};

#[track_caller]
fn graph(bytes: &[u8]) -> Graph {
    let (graph, consumed) = read(bytes, &Limits::default()).unwrap();
    assert_eq!(consumed, bytes.len());
    graph
}

/// Plain data as Python's `repr` has it, anything else as the expression that would make it.
fn show(graph: &Graph, id: NodeId) -> String {
    let list = |ids: &[NodeId]| {
        let shown: Vec<_> = ids.iter().map(|&id| show(graph, id)).collect();
        shown.join(", ")
    };
    let bytes = |bytes: &[u8]| format!("b'{}'", bytes.escape_ascii());
    match graph.node(id) {
        Node::None => "None".into(),
        Node::Bool(true) => "True".into(),
        Node::Bool(false) => "False".into(),
        Node::Int(value) => value.to_string(),
        Node::BigInt(value) => format!("int.from_bytes({})", bytes(value)),
        Node::Float(value) => format!("{value:?}"),
        Node::Str(Text::Utf8(text)) => format!("'{}'", text.replace('\\', r"\\")),
        Node::Str(Text::Surrogates(text)) => format!("str({})", bytes(text)),
        Node::ByteString(text) | Node::Bytes(text) => bytes(text),
        Node::ByteArray(text) => format!("bytearray({})", bytes(text)),
        Node::Tuple(items) if items.len() == 1 => format!("({},)", list(items)),
        Node::Tuple(items) => format!("({})", list(items)),
        Node::List(items) => format!("[{}]", list(items)),
        Node::Dict(pairs) => {
            let shown: Vec<_> = pairs
                .iter()
                .map(|&(key, value)| format!("{}: {}", show(graph, key), show(graph, value)))
                .collect();
            format!("{{{}}}", shown.join(", "))
        }
        Node::Set(items) if items.is_empty() => "set()".into(),
        Node::Set(items) => format!("{{{}}}", list(items)),
        Node::FrozenSet(items) => format!("frozenset({{{}}})", list(items)),
        Node::Global { module, name } => format!("{module}.{name}"),
        Node::Extension(code) => format!("ext({code})"),
        Node::Persistent(pid) => format!("persistent({})", show(graph, *pid)),
        Node::Object(object) => {
            let mut out = match &object.call {
                Call::Reduce { callable, args } => {
                    format!("{}(*{})", show(graph, *callable), show(graph, *args))
                }
                Call::New { class, args } => {
                    format!("new({}, *{})", show(graph, *class), show(graph, *args))
                }
                Call::NewEx {
                    class,
                    args,
                    kwargs,
                } => format!(
                    "new({}, *{}, **{})",
                    show(graph, *class),
                    show(graph, *args),
                    show(graph, *kwargs)
                ),
                Call::Instance { class, args } => {
                    format!("{}({})", show(graph, *class), list(args))
                }
            };
            if !object.items.is_empty() {
                out += &format!(" + [{}]", list(&object.items));
            }
            for &(key, value) in &object.pairs {
                out += &format!(" | {}: {}", show(graph, key), show(graph, value));
            }
            if let Some(state) = object.state {
                out += &format!(" <- {}", show(graph, state));
            }
            out
        }
    }
}

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    let graph = graph(bytes);
    assert_eq!(show(&graph, graph.root()), expected);
}

/// Programs by hand; the expected values are those of CPython's `repr(pickle.loads(…))`.
#[test]
fn numbers_are_those_of_cpython() {
    check(b"N.", "None");
    check(b"I00\n.", "False");
    check(b"I01\n.", "True");
    check(b"I1\n.", "1");
    check(b"I-5\n.", "-5");
    check(b"I4294967296\n.", "4294967296");
    check(b"L7L\n.", "7");
    check(b"L-7\n.", "-7");
    check(b"\x88.", "True");
    check(b"\x89.", "False");
    check(b"K\xff.", "255");
    check(b"M\xff\xff.", "65535");
    check(b"J\xff\xff\xff\xff.", "-1");
    check(b"\x8a\x00.", "0");
    check(b"\x8a\x01\x80.", "-128");
    check(b"\x8a\x02\xff\x00.", "255");
    check(b"\x8a\x03\xff\xff\xff.", "-1");
    check(
        b"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.",
        "-9223372036854775808",
    );
    check(b"\x8b\x02\x00\x00\x00\x00\x80.", "-32768");
    check(b"F1.5\n.", "1.5");
    check(b"Finf\n.", "inf");
    check(b"G?\xf8\x00\x00\x00\x00\x00\x00.", "1.5");
    // int.to_bytes(9, 'little', signed=True) of 2**63, -2**63-1, 2**64 and -2**64.
    check(
        b"L9223372036854775808L\n.",
        r"int.from_bytes(b'\x00\x00\x00\x00\x00\x00\x00\x80\x00')",
    );
    check(
        b"L-9223372036854775809\n.",
        r"int.from_bytes(b'\xff\xff\xff\xff\xff\xff\xff\x7f\xff')",
    );
    check(
        b"I18446744073709551616\n.",
        r"int.from_bytes(b'\x00\x00\x00\x00\x00\x00\x00\x00\x01')",
    );
    check(
        b"L-18446744073709551616L\n.",
        r"int.from_bytes(b'\x00\x00\x00\x00\x00\x00\x00\x00\xff')",
    );
}

#[test]
fn texts_and_bytes_are_those_of_cpython() {
    check(b"Vab\n.", "'ab'");
    check(b"V\\u00e9\\U0001f600\n.", "'é😀'");
    check(b"V\xe9\\x\\\\u0041\n.", r"'é\\x\\\\u0041'");
    check(b"X\x02\x00\x00\x00\xc3\xa9.", "'é'");
    check(b"\x8c\x01a.", "'a'");
    check(b"\x8d\x01\x00\x00\x00\x00\x00\x00\x00a.", "'a'");
    check(b"C\x02\x00\xff.", r"b'\x00\xff'");
    check(b"B\x01\x00\x00\x00a.", "b'a'");
    check(b"\x8e\x01\x00\x00\x00\x00\x00\x00\x00a.", "b'a'");
    check(
        b"\x96\x02\x00\x00\x00\x00\x00\x00\x00ab.",
        "bytearray(b'ab')",
    );
    check(b"C\x01a\x98.", "b'a'");
    // A view of the bytes.
    check(
        b"\x96\x01\x00\x00\x00\x00\x00\x00\x00a\x98.",
        "bytearray(b'a')",
    );
    // pickle.loads(…, encoding='bytes')
    check(b"S'a\\n\\x41\\101\\q\\\\'\n.", r"b'a\nAA\\q\\'");
    check(b"S\"a'\"\n.", r"b'a\''");
    check(b"U\x03a\xffb.", r"b'a\xffb'");
    check(b"T\x02\x00\x00\x00ab.", "b'ab'");
    // '\ud800x' and '\ud83d\ude00' in 'utf-8' with 'surrogatepass'.
    check(b"V\\ud800x\n.", r"str(b'\xed\xa0\x80x')");
    check(b"V\\ud83d\\ude00\n.", r"str(b'\xed\xa0\xbd\xed\xb8\x80')");
    check(b"X\x04\x00\x00\x00\xed\xa0\x80x.", r"str(b'\xed\xa0\x80x')");
}

#[test]
fn containers_are_those_of_cpython() {
    check(b").", "()");
    check(b"(t.", "()");
    check(b"(K\x01K\x02t.", "(1, 2)");
    check(b"K\x01\x85.", "(1,)");
    check(b"K\x01K\x02\x86.", "(1, 2)");
    check(b"K\x01K\x02K\x03\x87.", "(1, 2, 3)");
    check(b"].", "[]");
    check(b"(l.", "[]");
    check(b"(K\x01K\x02l.", "[1, 2]");
    check(b"]K\x01a.", "[1]");
    check(b"](K\x01K\x02e.", "[1, 2]");
    check(b"](e.", "[]");
    check(b"}.", "{}");
    check(b"(d.", "{}");
    check(b"(K\x01Nd.", "{1: None}");
    check(b"}K\x01Ns.", "{1: None}");
    check(b"}(K\x01NK\x02Nu.", "{1: None, 2: None}");
    check(b"}(u.", "{}");
    check(b"\x8f.", "set()");
    check(b"\x8f(K\x01K\x02\x90.", "{1, 2}");
    check(b"(K\x01\x91.", "frozenset({1})");
    // A dict of Python keeps the last value; the graph keeps what the pickle said.
    check(b"}(K\x01NK\x01\x88u.", "{1: None, 1: True}");
}

#[test]
fn stack_marks_and_memo_work_as_in_cpython() {
    check(b"K\x01K\x020.", "1");
    check(b"K\x01(0.", "1");
    check(b"K\x01(K\x02K\x031.", "1");
    check(b"(K\x01K\x020\x850K\x07.", "7");
    check(b"]K\x012\x86a.", "[(1, 1)]");
    check(b"K\x01p5\n0K\x02g5\n\x86.", "(2, 1)");
    check(b"K\x01q\x050h\x05.", "1");
    check(b"K\x01r\x05\x00\x00\x000j\x05\x00\x00\x00.", "1");
    check(b"K\x01\x94K\x02\x940h\x01\x86.", "(1, 2)");
    check(b"K\x01q\x00K\x02q\x000h\x00.", "2");
    check(b"\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00K\x01.", "1");
    check(b"K\x01K\x02.", "2");
    // CPython would allocate by the key; here only its entry costs.
    check(b"K\x01p4000000000\n0g4000000000\n.", "1");
    check(b"K\x01r\xff\xff\xff\xff0j\xff\xff\xff\xff.", "1");
    // A key that was far off is found, and replaced, when the memo has grown to it.
    let mut bytes = b"]r\x2c\x01\x00\x00".to_vec();
    for key in 0..250 {
        bytes.extend([b'K', 0, b'q', key]);
    }
    bytes.extend(b"K\x07j\x2c\x01\x00\x00\x86K\x09r\x2c\x01\x00\x00j\x2c\x01\x00\x00\x87.");
    check(&bytes, "((7, []), 9, 9)");
}

#[test]
fn calls_stay_calls() {
    check(
        b"cos\nsystem\nX\x01\x00\x00\x00a\x85R.",
        "os.system(*('a',))",
    );
    check(b"cm\nO\n)\x81.", "new(m.O, *())");
    check(b"cm\nO\n)}\x92.", "new(m.O, *(), **{})");
    check(b"(cm\nO\nK\x01o.", "m.O(1)");
    check(b"(K\x01K\x02im\nO\n.", "m.O(1, 2)");
    check(b"\x82\x05.", "ext(5)");
    check(b"\x83\x00\x01.", "ext(256)");
    check(b"\x84\x00\x00\x01\x00)R.", "ext(65536)(*())");
    check(b"Pabc\n.", "persistent('abc')");
    check(b"K\x01Q.", "persistent(1)");
    // collections.deque([1, 2]), protocol 2
    check(
        b"\x80\x02ccollections\ndeque\nq\x00)Rq\x01(K\x01K\x02e.",
        "collections.deque(*()) + [1, 2]",
    );
    // an OrderedDict(a=1) with the attribute m = 2, protocols 2 and 4
    let expected = "collections.OrderedDict(*()) | 'a': 1 <- {'m': 2}";
    check(
        b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01X\x01\x00\x00\x00aq\x02K\x01s}q\x03X\x01\
          \x00\x00\x00mq\x04K\x02sb.",
        expected,
    );
    check(
        b"\x80\x04\x953\x00\x00\x00\x00\x00\x00\x00\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\
          \x93\x94)R\x94\x8c\x01a\x94K\x01s}\x94\x8c\x01m\x94K\x02sb.",
        expected,
    );
}

#[test]
fn a_second_build_and_a_setter_call_are_kept() {
    let graph = graph(b"cm\nO\n)\x81q\x00K\x01bK\x02bcm\nset\nh\x00K\x03\x86R0.");
    let object = graph.object(graph.root()).unwrap();
    assert_eq!(show(&graph, object.state.unwrap()), "1");
    let [Change::Build(second), Change::Call { setter, state }] = graph.changes(graph.root())
    else {
        panic!("{:?}", graph.changes(graph.root()));
    };
    assert_eq!(show(&graph, *second), "2");
    assert_eq!(show(&graph, *setter), "m.set");
    assert_eq!(show(&graph, *state), "3");
}

#[test]
fn what_was_thrown_away_stays_visible() {
    let graph = graph(b"cos\nsystem\nX\x01\x00\x00\x00a\x85R0N.");
    assert!(graph.is_none(graph.root()));
    let globals: Vec<_> = graph.ids().filter_map(|id| graph.global(id)).collect();
    assert_eq!(globals, [("os", "system")]);
}

#[test]
fn objects_know_the_opcode_that_made_them() {
    let graph = graph(b"\x80\x02]q\x00(K\x05e.");
    assert_eq!(graph.offset(graph.root()), Some(2));
    let item = graph.sequence(graph.root()).unwrap()[0];
    assert_eq!(graph.offset(item), Some(6));
}

#[test]
fn the_protocol_is_what_was_said_or_used() {
    assert_eq!(graph(b"\x80\x04N.").protocol(), 4);
    assert_eq!(graph(b"(lp0\n.").protocol(), 0);
    assert_eq!(graph(b"]q\x00.").protocol(), 1);
    assert_eq!(graph(b"\x80\x02\x8f.").protocol(), 4);
}

#[test]
fn what_follows_the_stop_is_not_looked_at() {
    let (_, consumed) = read(b"N.\xff\xff", &Limits::default()).unwrap();
    assert_eq!(consumed, 2);
}

#[track_caller]
fn refuse(bytes: &[u8], expected: &str) {
    let error = read(bytes, &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

/// CPython refuses these programs too, unless a comment says otherwise.
#[test]
fn faults_are_named_with_their_place() {
    refuse(
        b"K\x01",
        "expected an opcode, found the end of the bytes before `STOP` (offset 0x2)",
    );
    refuse(
        b"N\xff.",
        "expected a pickle opcode, found the byte `0xff` (offset 0x1)",
    );
    refuse(
        b"\x80\x06N.",
        "expected a pickle protocol up to 5, found `6` (offset 0x0)",
    );
    refuse(
        b"N\x8d\xff\xff\xff\xff\xff\xff\xff\xffa.",
        "`BINUNICODE8` needs 18446744073709551615 more bytes, found 2 (offset 0x1)",
    );
    refuse(
        b"\x95\x03\x00\x00\x00\x00\x00\x00\x00N.",
        "`FRAME` needs 3 more bytes, found 2 (offset 0x0)",
    );
    refuse(
        b"\x8b\xff\xff\xff\xff.",
        "expected a length from 0 in `LONG4`, found `-1` (offset 0x0)",
    );
    refuse(
        b"K\x01(\x85.",
        "`TUPLE1` needs 1 on the stack, found 0 above the last mark (offset 0x3)",
    );
    refuse(
        b"Nt.",
        "`TUPLE` needs a `MARK` before it, found none (offset 0x1)",
    );
    refuse(
        b"}(K\x01u.",
        "`SETITEMS` needs keys and values in pairs, found 1 objects (offset 0x4)",
    );
    refuse(
        b"h\x07.",
        "expected a memo key that was put before, found `7` (offset 0x0)",
    );
    refuse(
        b"X\x04\x00\x00\x00a\xed\xa0(.",
        "expected a text in UTF-8, found something else from its byte 1 on (offset 0x0)",
    );
    refuse(
        b"}K\x01a.",
        "`APPEND` expected a list or an object that this pickle made, found a dict of 0 items \
         (offset 0x3)",
    );
    // CPython would append to the real list.
    refuse(
        b"csys\npath\n(K\x01e.",
        "`APPENDS` expected a list or an object that this pickle made, found the class or \
         function `sys.path` (offset 0xd)",
    );
    // CPython would set attributes of the real function.
    refuse(
        b"cm\nf\n}b.",
        "`BUILD` expected an object that this pickle made, found the class or function `m.f` \
         (offset 0x6)",
    );
    refuse(
        b"K\x01)R.",
        "`REDUCE` expected a class or function, found the integer `1` (offset 0x3)",
    );
    refuse(
        b"\x97.",
        "`NEXT_BUFFER` asks for a buffer outside the pickle, which no file carries (offset 0x0)",
    );
}

#[test]
fn what_cpython_refuses_is_refused() {
    for bytes in [
        &b""[..],
        b"\x80",
        b".",
        b"(.",
        b"0.",
        b"1.",
        b"2.",
        b"K\x01(2.",
        b"K\x01e.",
        b"K\x01K\x02\x87.",
        b"(K\x01d.",
        b"g1\n.",
        b"p1\n.",
        b"K\x01p-1\n.",
        b"K\x01px\n.",
        b"K\x01p1",
        b"q\x00.",
        b"\x94.",
        b"I\n.",
        b"Ix\n.",
        b"LL\n.",
        b"Fx\n.",
        b"Sx\n.",
        b"S'a\n.",
        b"S'\\'\n.",
        b"S'\\xg'\n.",
        b"V\\u12\n.",
        b"V\\U00110000\n.",
        b"X\x02\x00\x00\x00\xc3\x28.",
        b"X\xff\xff\xff\xffab",
        b"T\xff\xff\xff\xffa.",
        b"K\x01K\x02a.",
        b"cos\nenviron\nK\x01K\x02s.",
        b"]K\x00K\x01s.",
        b"](K\x01\x90.",
        b"}}b.",
        b"K\x01}b.",
        b"cm\nO\nK\x01R.",
        b"K\x01)\x81.",
        b"cm\nO\nK\x01\x81.",
        b"cm\nO\n)N\x92.",
        b"cm\nO\nN}\x92.",
        b"(o.",
        b"(K\x01o.",
        b"c\nx\n.",
        b"cos\n\n.",
        b"cos\nx",
        b"K\x01K\x02\x93.",
        b"\x8c\x01aK\x01\x93.",
        b"\x82\x00.",
        b"\x84\xff\xff\xff\xff.",
        b"P\xe9\n.",
    ] {
        let result = read(bytes, &Limits::default());
        assert!(result.is_err(), "{}", bytes.escape_ascii());
    }
}

#[test]
fn limits_hold_at_their_value_and_not_below() {
    // Three objects, two memo entries, ten bytes.
    let bytes = b"]q\x00N\x85q\x01N0.";
    let exact = Limits::default()
        .max_pickle_nodes(4)
        .max_memo_entries(2)
        .max_pickle_bytes(10);
    read(bytes, &exact).unwrap();
    for (limits, name) in [
        (exact.max_pickle_nodes(3), "max_pickle_nodes"),
        (exact.max_memo_entries(1), "max_memo_entries"),
        (exact.max_pickle_bytes(9), "max_pickle_bytes"),
    ] {
        let error = read(bytes, &limits).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::LimitExceeded { limit, .. } if *limit == name),
            "{error}"
        );
    }
    // Bytes behind the pickle do not count.
    read(b"N.\x00\x00\x00", &exact.max_pickle_bytes(2)).unwrap();
}

#[test]
fn a_long_decimal_is_refused_rather_than_converted() {
    let with_digits = |count| [b"L", &*vec![b'9'; count], b"L\n."].concat();
    read(&with_digits(4300), &Limits::default()).unwrap();
    assert!(read(&with_digits(4301), &Limits::default()).is_err());
}

#[test]
fn a_long_text_used_as_a_name_over_and_over_is_refused() {
    // Used to take 100 GB: a text of 1 MB, 100,000 times.
    let mut bytes = b"\x8d\x40\x42\x0f\x00\x00\x00\x00\x00".to_vec();
    bytes.extend(vec![b'a'; 1_000_000]);
    bytes.extend(b"\x94".iter().chain(&b"h\x00h\x00\x93".repeat(100_000)));
    let error = read(&bytes, &Limits::default()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unsupported { .. }),
        "{error}"
    );
}
