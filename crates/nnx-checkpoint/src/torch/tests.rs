//! Whole files made here: the places in their errors, and their cost.

use bytes::Bytes;

use super::{TorchBuilder, TorchObject};
use crate::pickle::{self, Call, Graph, Node, NodeId, Object, Text};
use crate::zip::ZipWriter;
use crate::{Dtype, Error, ErrorKind, Limits, OpenOptions, Tensor};

/// The magic number of the legacy stream, and its protocol version, as `torch.save` pickles them.
const LEGACY_START: &[u8] =
    b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.";

fn text(graph: &mut Graph, text: &str) -> NodeId {
    graph.push(Node::Str(Text::Utf8(text.into())))
}

fn call(graph: &mut Graph, module: &str, name: &str, args: Vec<NodeId>) -> NodeId {
    let callable = graph.push(Node::Global {
        module: module.into(),
        name: name.into(),
    });
    let args = graph.push(Node::Tuple(args.into()));
    graph.push(Node::Object(Box::new(Object {
        call: Call::Reduce { callable, args },
        items: Vec::new(),
        pairs: Vec::new(),
        state: None,
    })))
}

/// The pickle of a list of one call that takes no such arguments.
fn faulty() -> Vec<u8> {
    let mut graph = Graph::new(2);
    let tensor = call(&mut graph, "torch._utils", "_rebuild_tensor_v2", Vec::new());
    let root = graph.push(Node::List(vec![tensor]));
    graph.set_root(root);
    pickle::write(&graph, &Limits::default()).unwrap()
}

fn zip(program: &[u8]) -> Bytes {
    let mut zip = ZipWriter::new(Vec::new(), "archive");
    zip.record("data.pkl", program).unwrap();
    zip.record("version", b"3\n").unwrap();
    zip.finish().unwrap().into()
}

fn read(file: &Bytes) -> crate::Result<TorchObject> {
    TorchObject::from_bytes(file, &OpenOptions::default().allow_dangerous_globals(true))
}

/// The error of the tensor in the file of [`faulty`], and the offset that the graph has for it.
fn fault(file: &[u8]) -> (TorchObject, Error, u64) {
    let object = read(&Bytes::copy_from_slice(file)).unwrap();
    let graph = object.graph();
    let tensor = graph.sequence(graph.root()).unwrap()[0];
    let within = graph.offset(tensor).unwrap();
    let error = object.tensor(tensor).unwrap_err();
    (object, error, within)
}

#[test]
fn an_offset_counts_from_the_entry_of_a_zip_container() {
    let program = faulty();
    let (object, error, within) = fault(&zip(&program));
    assert_eq!(error.entry(), Some("archive/data.pkl"));
    assert_eq!(error.offset(), Some(within));
    assert_eq!(program[within as usize], b'R');
    let again = object.locate(error);
    assert_eq!(again.offset(), Some(within));
}

#[test]
fn an_offset_counts_from_the_start_of_a_legacy_stream() {
    let mut file = LEGACY_START.to_vec();
    file.extend_from_slice(b"\x80\x02}.");
    file.extend_from_slice(&faulty());
    // No storage keys.
    file.extend_from_slice(b"\x80\x02].");
    let (object, error, within) = fault(&file);
    assert_eq!(error.entry(), None);
    let at = error.offset().unwrap();
    assert_eq!(at, within + LEGACY_START.len() as u64 + 4);
    assert_eq!(file[at as usize], b'R');
    // To ask twice moves it once.
    assert_eq!(object.locate(error).offset(), Some(at));
}

#[test]
fn an_entry_too_large_for_a_pickle_is_not_inflated() {
    let mut builder = TorchBuilder::new();
    let root = builder.none();
    let mut file = Vec::new();
    builder.finish(root).write_to(&mut file, "archive").unwrap();
    let file = Bytes::from(file);
    // `data.pkl` is `\x80\x02N.`.
    let within = |bytes| {
        let options = OpenOptions::default().limits(Limits::default().max_pickle_bytes(bytes));
        TorchObject::from_bytes(&file, &options)
    };
    assert!(within(6).is_ok());
    let error = within(3).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::LimitExceeded {
                limit: "max_pickle_bytes",
                allowed: 3,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.entry().is_some());
}

/// A pickle of many persistent ids that share a key and a location.
fn sharing(key: &str, location: &str, count: usize) -> Bytes {
    let mut graph = Graph::new(2);
    let members = [
        text(&mut graph, "storage"),
        graph.push(Node::Global {
            module: "torch".into(),
            name: "FloatStorage".into(),
        }),
        text(&mut graph, key),
        text(&mut graph, location),
        graph.push(Node::Int(1)),
    ];
    let items = (0..count)
        .map(|_| {
            let pid = graph.push(Node::Tuple(members.into()));
            graph.push(Node::Persistent(pid))
        })
        .collect();
    let root = graph.push(Node::List(items));
    graph.set_root(root);
    zip(&pickle::write(&graph, &Limits::default()).unwrap())
}

#[test]
fn a_key_or_location_that_many_ids_share_is_checked_before_it_is_copied() {
    #[track_caller]
    fn check(key: &str, location: &str, message: &str) {
        let error = read(&sharing(key, location, 1_000))
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
        assert!(error.len() < 1_000, "{} bytes", error.len());
    }
    let long = "k".repeat(1 << 20);
    let shown = format!("{}…", "k".repeat(64));
    check(
        &long,
        "cpu",
        &format!("the key of a storage must have at most 255 bytes, got 1048576: `{shown}`"),
    );
    check(
        "0",
        &long,
        &format!("the location of a storage must have at most 255 bytes, got 1048576: `{shown}`"),
    );
    // Just so long is fine; the error then is that the record is missing.
    check(&long[..255], "cpu", "no record of storage");
}

#[test]
fn a_tensor_of_more_dimensions_than_pytorch_has_is_refused() {
    let storage = Tensor::from_bytes(Dtype::UInt8, &[1], vec![7]).unwrap();
    let saved = |rank: usize| {
        let tensor = Tensor::view(
            storage.storage().clone(),
            Dtype::UInt8,
            0,
            &vec![1; rank],
            &vec![1; rank],
        )
        .unwrap();
        let mut builder = TorchBuilder::new();
        let root = builder.tensor(&tensor).unwrap();
        let mut file = Vec::new();
        builder.finish(root).write_to(&mut file, "archive").unwrap();
        let object = read(&file.into()).unwrap();
        object.tensor_info(object.graph().root())
    };
    assert_eq!(saved(128).unwrap().unwrap().shape.len(), 128);
    let error = saved(129).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }));
    let message = error.to_string();
    assert!(
        message.starts_with("a tensor of 129 dimensions is not read"),
        "{message}"
    );
}
