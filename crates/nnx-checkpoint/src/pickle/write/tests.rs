use super::super::{Call, Graph, Node, NodeId, Object, Text, read, write};
use crate::{ErrorKind, Limits};

/// Reads what CPython wrote and expects the same bytes back.
#[track_caller]
fn check(bytes: &[u8]) {
    let (graph, consumed) = read(bytes, &Limits::default()).unwrap();
    assert_eq!(consumed, bytes.len());
    let written = write(&graph, &Limits::default()).unwrap();
    assert_eq!(
        written.escape_ascii().to_string(),
        bytes.escape_ascii().to_string()
    );
}

/// pickle.dumps of integers at the bounds of their opcodes, protocols 1, 2 and 4.
#[test]
fn integers() {
    check(
        b"]q\x00(K\x00K\xffM\x00\x01M\xff\xffJ\x00\x00\x01\x00J\xff\xff\xff\xffJ\xff\xff\xff\x7fL2\
          147483648L\nJ\x00\x00\x00\x80L-2147483649L\nL9223372036854775807L\nL9223372036854775808L\
          \nL-9223372036854775808L\nL-9223372036854775809L\ne.",
    );
    check(
        b"\x80\x02]q\x00(K\x00K\xffM\x00\x01M\xff\xffJ\x00\x00\x01\x00J\xff\xff\xff\xffJ\xff\xff\
          \xff\x7f\x8a\x05\x00\x00\x00\x80\x00J\x00\x00\x00\x80\x8a\x05\xff\xff\xff\x7f\xff\x8a\
          \x08\xff\xff\xff\xff\xff\xff\xff\x7f\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x8a\x08\
          \x00\x00\x00\x00\x00\x00\x00\x80\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xffe.",
    );
}

/// [None, True, False, 1.5, ''], protocols 1, 2 and 4.
#[test]
fn atoms() {
    check(b"]q\x00(NI01\nI00\nG?\xf8\x00\x00\x00\x00\x00\x00X\x00\x00\x00\x00q\x01e.");
    check(b"\x80\x02]q\x00(N\x88\x89G?\xf8\x00\x00\x00\x00\x00\x00X\x00\x00\x00\x00q\x01e.");
    check(
        b"\x80\x04\x95\x14\x00\x00\x00\x00\x00\x00\x00]\x94(N\x88\x89G?\xf8\x00\x00\x00\x00\x00\
          \x00\x8c\x00\x94e.",
    );
}

/// {'a': (1, (2, 3), (4, 5, 6), (7, 8, 9, 0), ()), 'b': [[], {}]}, protocols 1, 2 and 4.
#[test]
fn nested_containers() {
    check(
        b"}q\x00(X\x01\x00\x00\x00aq\x01(K\x01(K\x02K\x03tq\x02(K\x04K\x05K\x06tq\x03(K\x07K\x08K\
          \x09K\x00tq\x04)tq\x05X\x01\x00\x00\x00bq\x06]q\x07(]q\x08}q\x09eu.",
    );
    check(
        b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01(K\x01K\x02K\x03\x86q\x02K\x04K\x05K\x06\x87q\x03(\
          K\x07K\x08K\x09K\x00tq\x04)tq\x05X\x01\x00\x00\x00bq\x06]q\x07(]q\x08}q\x09eu.",
    );
    check(
        b"\x80\x04\x954\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94(K\x01K\x02K\x03\x86\x94K\
          \x04K\x05K\x06\x87\x94(K\x07K\x08K\x09K\x00t\x94)t\x94\x8c\x01b\x94]\x94(]\x94}\x94eu.",
    );
}

/// (l, l, 'x') with l = [], protocols 1, 2 and 4.
#[test]
fn shared_objects() {
    check(b"(]q\x00h\x00X\x01\x00\x00\x00xq\x01tq\x02.");
    check(b"\x80\x02]q\x00h\x00X\x01\x00\x00\x00xq\x01\x87q\x02.");
    check(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94h\x00\x8c\x01x\x94\x87\x94.");
}

/// Two equal strings that Python held as two objects: ['ab', ''.join('ab')], protocol 2.
#[test]
fn equal_objects_that_are_not_shared_stay_two() {
    check(b"\x80\x02]q\x00(X\x02\x00\x00\x00abq\x01X\x02\x00\x00\x00abq\x02e.");
}

/// l = []; t = (l,); l.append(t), and the same with (l, 1, 2, 3): protocols 1, 2 and 4.
#[test]
fn recursive_tuples() {
    check(b"(]q\x00(h\x00tq\x01a1h\x01.");
    check(b"\x80\x02]q\x00h\x00\x85q\x01a0h\x01.");
    check(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94h\x00\x85\x94a0h\x01.");
    check(b"\x80\x02(]q\x00(h\x00K\x01K\x02K\x03tq\x01aK\x01K\x02K\x031h\x01.");
}

/// o.s = {o}; dumps(o.s), protocol 2; the same with a frozenset, protocol 4.
#[test]
fn recursive_sets() {
    check(
        b"\x80\x02c__builtin__\nset\nq\x00]q\x01cm\nO\nq\x02)\x81q\x03}q\x04X\x01\x00\x00\x00sq\
          \x05h\x00]q\x06h\x03a\x85q\x07Rq\x08sba\x85q\x09R0h\x08.",
    );
    check(
        b"\x80\x04\x95\x1f\x00\x00\x00\x00\x00\x00\x00(\x8c\x01m\x94\x8c\x01O\x94\x93\x94)\x81\x94}\
          \x94\x8c\x01s\x94(h\x03\x91\x94sb1h\x06.",
    );
}

/// x.a = [x]; x.b = [x], where x reduces to (X, ([x.a, x.b],)): two outer calls are dropped.
#[test]
fn objects_within_their_own_arguments() {
    check(
        b"\x80\x02cm\nX\nq\x00]q\x01(]q\x02h\x00]q\x03(h\x02]q\x04h\x00]q\x05(h\x02h\x04e\x85q\x06R\
          q\x07ae\x85q\x08R0h\x07ah\x04e\x85q\x09R0h\x07.",
    );
}

/// [{1}, frozenset([1]), set(), frozenset()], protocols 2 and 4; bytearray(b'ab'), protocol 5.
#[test]
fn sets_and_bytes() {
    check(
        b"\x80\x02]q\x00(c__builtin__\nset\nq\x01]q\x02K\x01a\x85q\x03Rq\x04c__builtin__\nfrozenset\
          \nq\x05]q\x06K\x01a\x85q\x07Rq\x08h\x01]q\x09\x85q\nRq\x0bh\x05]q\x0c\x85q\x0dRq\x0ee.",
    );
    check(
        b"\x80\x04\x95\x15\x00\x00\x00\x00\x00\x00\x00]\x94(\x8f\x94(K\x01\x90(K\x01\x91\x94\x8f\
          \x94(\x91\x94e.",
    );
    check(
        b"\x80\x05\x95\x0d\x00\x00\x00\x00\x00\x00\x00\x96\x02\x00\x00\x00\x00\x00\x00\x00ab\x94.",
    );
}

/// Objects with items, pairs, state, keyword arguments and a state setter.
#[test]
fn objects() {
    check(b"\x80\x02ccollections\ndeque\nq\x00)Rq\x01(K\x01K\x02e.");
    check(
        b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01X\x01\x00\x00\x00aq\x02K\x01s}q\x03X\x01\
          \x00\x00\x00mq\x04K\x02sb.",
    );
    check(
        b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x01m\x94\x8c\x01K\x94\x93\x94K\x01\x85\
          \x94}\x94\x8c\x01k\x94K\x02s\x92\x94.",
    );
    check(b"]q\x00cm\nT\nq\x01)Rq\x02cm\nsetter\nq\x03h\x02K\x01\x86R0a.");
    check(
        b"\x80\x04\x95%\x00\x00\x00\x00\x00\x00\x00]\x94\x8c\x01m\x94\x8c\x01T\x94\x93\x94)R\x94h\
          \x01\x8c\x06setter\x94\x93\x94h\x04K\x01\x86R0a.",
    );
}

/// [len, OrderedDict, deque, 'collections'], protocols 1 and 4: module names are shared strings.
#[test]
fn globals() {
    check(
        b"]q\x00(c__builtin__\nlen\nq\x01ccollections\nOrderedDict\nq\x02ccollections\ndeque\nq\x03\
          X\x0b\x00\x00\x00collectionsq\x04e.",
    );
    check(
        b"\x80\x04\x95D\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x08builtins\x94\x8c\x03len\x94\x93\
          \x94\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\x94h\x04\x8c\x05deque\x94\x93\x94\
          h\x04e.",
    );
    // [E, E] with copyreg.add_extension('m', 'E', 5): codes have no memo.
    check(b"\x80\x02]q\x00(\x82\x05\x82\x05e.");
}

/// [w, w] with w the persistent object ('storage', '0'): its id is written each time.
#[test]
fn persistent_objects() {
    check(
        b"\x80\x02]q\x00(X\x07\x00\x00\x00storageq\x01X\x01\x00\x00\x000q\x02\x86q\x03Qh\x01h\x02\
          \x86q\x04Qe.",
    );
    check(
        b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x07storage\x94\x8c\x010\x94\x86\
          \x94Qh\x01h\x02\x86\x94Qe.",
    );
}

fn text(graph: &mut Graph, text: impl Into<Box<str>>) -> NodeId {
    graph.push(Node::Str(Text::Utf8(text.into())))
}

fn ints(graph: &mut Graph, count: i64) -> Vec<NodeId> {
    (0..count)
        .map(|value| graph.push(Node::Int(value)))
        .collect()
}

/// `collections.<name>()`, to be filled.
fn collection(graph: &mut Graph, name: &str) -> Object {
    let callable = graph.push(Node::Global {
        module: "collections".into(),
        name: name.into(),
    });
    let args = graph.push(Node::Tuple(Box::default()));
    Object {
        call: Call::Reduce { callable, args },
        items: Vec::new(),
        pairs: Vec::new(),
        state: None,
    }
}

/// Builds a graph and compares length and crc32 of its pickle with those of CPython's.
#[track_caller]
fn digest(protocol: u8, build: impl FnOnce(&mut Graph) -> Node, length: usize, crc: u32) {
    let mut graph = Graph::new(protocol);
    let root = build(&mut graph);
    let root = graph.push(root);
    graph.set_root(root);
    let written = write(&graph, &Limits::default()).unwrap();
    assert_eq!(written.len(), length);
    assert_eq!(crc32fast::hash(&written), crc);
    check(&written);
}

/// (len(b), zlib.crc32(b)) of b = pickle.dumps(list(range(n)), protocol) and its like.
#[test]
fn batches() {
    let list = |count| move |graph: &mut Graph| Node::List(ints(graph, count));
    digest(2, list(1000), 2752, 0xe43c_8d40);
    digest(2, list(1001), 2757, 0x356a_d1e8);
    digest(4, list(2001), 5767, 0xf29c_c4eb);
    // dict.fromkeys(range(n))
    let dict = |count| {
        move |graph: &mut Graph| {
            let keys = ints(graph, count);
            let none = graph.push(Node::None);
            Node::Dict(keys.into_iter().map(|key| (key, none)).collect())
        }
    };
    digest(2, dict(1000), 3754, 0x6beb_1b07);
    digest(2, dict(1001), 3758, 0xa359_2e20);
    digest(4, dict(2000), 7764, 0x4bb3_4bea);
    let set = |count| move |graph: &mut Graph| Node::Set(ints(graph, count));
    digest(4, set(1000), 2762, 0x8b4e_c13e);
    digest(4, set(1001), 2765, 0x7866_7f02);
    digest(
        4,
        |graph| Node::FrozenSet(ints(graph, 1001).into()),
        2762,
        0xc233_c633,
    );
    // OrderedDict.fromkeys(range(n))
    let ordered = |count| {
        move |graph: &mut Graph| {
            let mut object = collection(graph, "OrderedDict");
            let keys = ints(graph, count);
            let none = graph.push(Node::None);
            object.pairs = keys.into_iter().map(|key| (key, none)).collect();
            Node::Object(Box::new(object))
        }
    };
    digest(2, ordered(1000), 3780, 0x5012_d6fe);
    digest(2, ordered(1001), 3785, 0xb1b1_0c1a);
    let deque = |count| {
        move |graph: &mut Graph| {
            let mut object = collection(graph, "deque");
            object.items = ints(graph, count);
            Node::Object(Box::new(object))
        }
    };
    digest(2, deque(1000), 2774, 0x4e3b_3db7);
    digest(2, deque(1001), 2778, 0x4fab_d169);
}

/// a + a with a = [str(i) for i in range(300)]
#[test]
fn memo_keys_beyond_a_byte() {
    let build = |graph: &mut Graph| {
        let mut items: Vec<_> = (0..300).map(|i| text(graph, i.to_string())).collect();
        items.extend(items.clone());
        Node::List(items)
    };
    digest(2, build, 3768, 0xea8a_cea1);
}

#[test]
fn frames() {
    // [str(i) for i in range(20000)]
    let many =
        |graph: &mut Graph| Node::List((0..20_000).map(|i| text(graph, i.to_string())).collect());
    digest(4, many, 148_962, 0x04c2_a8b4);
    // ['a', 'x' * n, 'b']
    let large = |count: usize| {
        move |graph: &mut Graph| {
            let items = ["a".to_owned(), "x".repeat(count), "b".to_owned()];
            Node::List(items.map(|item| text(graph, item)).to_vec())
        }
    };
    digest(4, large(65_535), 65_574, 0x4cdb_4033);
    digest(4, large(65_536), 65_575, 0x0e94_4a8d);
    // b'x' * 65536 and [bytearray(65536), 1]
    digest(
        5,
        |_| Node::Bytes(vec![b'x'; 65_536].into()),
        65_545,
        0x1c78_8ca2,
    );
    let buffer = |graph: &mut Graph| {
        let bytes = graph.push(Node::ByteArray(vec![0; 65_536].into()));
        Node::List(vec![bytes, graph.push(Node::Int(1))])
    };
    digest(5, buffer, 65_564, 0x3786_5aeb);
}

/// 2**2039-1, -2**2039 and 2**2039: `LONG1` holds 255 bytes.
#[test]
fn integers_at_the_bound_of_long1() {
    let big = |fill: u8, top: &'static [u8]| {
        move |_: &mut Graph| Node::BigInt([&[fill; 254][..], top].concat().into())
    };
    digest(2, big(0xff, &[0x7f]), 260, 0xf034_060d);
    digest(2, big(0x00, &[0x80]), 260, 0x2e08_c4f9);
    digest(2, big(0x00, &[0x80, 0x00]), 264, 0x8192_4c39);
}

#[test]
fn protocols_that_cannot_say_it_refuse() {
    let refused = |protocol, node: Node| {
        let mut graph = Graph::new(protocol);
        let root = graph.push(node);
        graph.set_root(root);
        write(&graph, &Limits::default()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(2, Node::Bytes(Box::default())),
        "`bytes` needs pickle protocol 3, found `2`"
    );
    assert_eq!(
        refused(3, Node::Set(Vec::new())),
        "a set needs pickle protocol 4, found `3`"
    );
    assert_eq!(
        refused(4, Node::ByteArray(Box::default())),
        "a bytearray needs pickle protocol 5, found `4`"
    );
    assert_eq!(
        refused(0, Node::None),
        "expected a pickle protocol from 1 to 5 to write, found `0`; set the graph's protocol to \
         another"
    );
    let two_lines = Node::Global {
        module: "a\nb".into(),
        name: "c".into(),
    };
    assert_eq!(
        refused(2, two_lines),
        "expected a name of one line for pickle protocol 2, found the class or function `a\\nb.c`"
    );
}

#[test]
fn a_changed_global_is_written_by_its_new_name() {
    // pickle.dumps(len, 4)
    let bytes = b"\x80\x04\x95\x14\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins\x94\x8c\x03len\x94\
                  \x93\x94.";
    let (mut graph, _) = read(bytes, &Limits::default()).unwrap();
    let root = graph.root();
    *graph.node_mut(root) = Node::Global {
        module: "builtins".into(),
        name: "abs".into(),
    };
    // pickle.dumps(abs, 4)
    let expected = b"\x80\x04\x95\x14\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins\x94\x8c\x03abs\
                     \x94\x93\x94.";
    assert_eq!(write(&graph, &Limits::default()).unwrap(), expected);
}

#[test]
fn an_object_that_cannot_be_made_is_an_error() {
    let mut graph = Graph::new(2);
    let tuple = graph.push(Node::None);
    *graph.node_mut(tuple) = Node::Tuple(Box::new([tuple]));
    graph.set_root(tuple);
    let error = write(&graph, &Limits::no_limits()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected an object that can be made, found a tuple of 1 item that contains itself"
    );
}

#[test]
fn limits_hold_at_their_value_and_not_below() {
    // [[[]]]
    let bytes = b"\x80\x02]q\x00]q\x01]q\x02aa.";
    let (graph, _) = read(bytes, &Limits::default()).unwrap();
    let exact = Limits::default()
        .max_depth(3)
        .max_pickle_bytes(bytes.len() as u64);
    assert_eq!(write(&graph, &exact).unwrap(), bytes);
    for (limits, name) in [
        (exact.max_depth(2), "max_depth"),
        (
            exact.max_pickle_bytes(bytes.len() as u64 - 1),
            "max_pickle_bytes",
        ),
    ] {
        let error = write(&graph, &limits).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::LimitExceeded { limit, .. } if *limit == name),
            "{error}"
        );
    }
}

#[test]
fn depth_is_not_recursion() {
    let bytes = [vec![b'('; 100_000], vec![b'l'; 100_000], vec![b'.']].concat();
    // ((((…l: each `LIST` but the first takes what is above its mark, an inner list.
    let (mut graph, _) = read(&bytes, &Limits::default()).unwrap();
    graph.set_protocol(2);
    write(&graph, &Limits::default()).unwrap_err();
    write(&graph, &Limits::no_limits()).unwrap();
}
