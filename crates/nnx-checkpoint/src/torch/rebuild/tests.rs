//! Graphs that no fixture has: those that are refused, and the references of old files.
//!
//! PyTorch's results of sound calls are compared over fixtures that it wrote.

use bytes::Bytes;

use super::{Layout, MAX_NESTING};
use crate::error::Result;
use crate::pickle::{Call, Graph, Node, NodeId, Object, Text};
use crate::torch::TorchObject;
use crate::torch::pickle_location::PickleLocation;
use crate::torch::storage_table::{EntryBytes, StorageTable};
use crate::{Dtype, TensorClass};

mod hooks;

/// A graph in the making.
struct Fixture(Graph);

impl Fixture {
    fn new() -> Self {
        Self(Graph::new(2))
    }

    fn global(&mut self, module: &str, name: &str) -> NodeId {
        self.0.push(Node::Global {
            module: module.into(),
            name: name.into(),
        })
    }

    fn text(&mut self, text: &str) -> NodeId {
        self.0.push(Node::Str(Text::Utf8(text.into())))
    }

    fn int(&mut self, value: i64) -> NodeId {
        self.0.push(Node::Int(value))
    }

    fn bool(&mut self, value: bool) -> NodeId {
        self.0.push(Node::Bool(value))
    }

    fn tuple(&mut self, items: Vec<NodeId>) -> NodeId {
        self.0.push(Node::Tuple(items.into()))
    }

    fn ints(&mut self, values: &[i64]) -> NodeId {
        let items = values.iter().map(|&value| self.int(value)).collect();
        self.tuple(items)
    }

    fn object(&mut self, call: Call) -> NodeId {
        self.0.push(Node::Object(Box::new(Object {
            call,
            items: Vec::new(),
            pairs: Vec::new(),
            state: None,
        })))
    }

    fn call(&mut self, module: &str, name: &str, args: Vec<NodeId>) -> NodeId {
        let callable = self.global(module, name);
        let args = self.tuple(args);
        self.object(Call::Reduce { callable, args })
    }

    fn utils(&mut self, name: &str, args: Vec<NodeId>) -> NodeId {
        self.call("torch._utils", name, args)
    }

    /// `('storage', class, key, 'cpu', count[, view])`.
    fn storage(
        &mut self,
        class: (&str, &str),
        key: &str,
        count: i64,
        view: Option<NodeId>,
    ) -> NodeId {
        let mut members = vec![
            self.text("storage"),
            self.global(class.0, class.1),
            self.text(key),
            self.text("cpu"),
            self.int(count),
        ];
        members.extend(view);
        let pid = self.tuple(members);
        self.0.push(Node::Persistent(pid))
    }

    fn view(&mut self, key: &str, start: i64, count: i64) -> NodeId {
        let members = vec![self.text(key), self.int(start), self.int(count)];
        self.tuple(members)
    }

    /// `_rebuild_tensor_v2` of one dimension.
    fn tensor(&mut self, storage: NodeId, offset: i64, size: i64) -> NodeId {
        let args = vec![
            storage,
            self.int(offset),
            self.ints(&[size]),
            self.ints(&[1]),
            self.bool(false),
            self.ints(&[]),
        ];
        self.utils("_rebuild_tensor_v2", args)
    }

    /// `_rebuild_tensor_v3` of two elements.
    fn tensor_of(&mut self, storage: NodeId, dtype: &str) -> NodeId {
        let args = vec![
            storage,
            self.int(0),
            self.ints(&[2]),
            self.ints(&[1]),
            self.bool(false),
            self.ints(&[]),
            self.global("torch", dtype),
        ];
        self.utils("_rebuild_tensor_v3", args)
    }

    fn vector(&mut self) -> NodeId {
        let storage = self.storage(("torch", "FloatStorage"), "0", 6, None);
        self.tensor(storage, 0, 6)
    }

    fn parameter(&mut self, data: NodeId) -> NodeId {
        let args = vec![data, self.bool(true), self.ints(&[])];
        self.utils("_rebuild_parameter", args)
    }

    /// The graph over storages that hold 0, 1, 2, ….
    fn read(self, big_endian: bool) -> Result<TorchObject> {
        let mut storages = StorageTable::collect(&self.0, &PickleLocation::default(), |id| {
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(id.byte_len).collect();
            Ok(EntryBytes::Range(Bytes::from(bytes).into()))
        })?;
        if big_endian {
            storages.set_big_endian(super::untyped_uses(&self.0));
        }
        Ok(TorchObject::new(
            self.0,
            storages,
            PickleLocation::default(),
        ))
    }

    fn opened(self) -> TorchObject {
        self.read(false).unwrap()
    }
}

const FLOAT: (&str, &str) = ("torch", "FloatStorage");
const UNTYPED: (&str, &str) = ("torch.storage", "UntypedStorage");

/// The message with which a tensor is refused.
#[track_caller]
fn refused(made: Fixture, id: NodeId, message: &str) {
    let error = made.opened().tensor(id).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

/// The message with which a file is refused.
#[track_caller]
fn unreadable(made: Fixture, message: &str) {
    let error = made.read(false).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn a_tensor_over_a_view_shares_the_storage_and_stays_within_the_view() {
    let mut made = Fixture::new();
    let view = made.view("v", 2, 2);
    let storage = made.storage(FLOAT, "0", 6, Some(view));
    let (inside, outside) = (made.tensor(storage, 0, 2), made.tensor(storage, 0, 3));
    let whole = made.vector();
    let object = made.opened();

    let tensor = object.tensor(inside).unwrap().unwrap();
    assert_eq!((tensor.offset(), tensor.shape()), (2, &[2][..]));
    assert_eq!(
        &*tensor.to_bytes().unwrap(),
        &[8, 9, 10, 11, 12, 13, 14, 15]
    );
    let whole = object.tensor(whole).unwrap().unwrap();
    assert!(tensor.storage().is_same(whole.storage()));
    let part = object.storage(storage).unwrap().unwrap();
    assert_eq!(part.bytes().unwrap().len(), 8);
    assert_eq!(object.storage_info(storage).unwrap().range, 8..16);
    let error = object.tensor(outside).unwrap_err().to_string();
    assert!(
        error.contains("reaches byte 12 of a storage of 8"),
        "{error}"
    );
}

#[test]
fn views_lie_within_their_storage_and_agree() {
    for (start, count) in [(5, 2), (7, 0), (-1, 2), (0, i64::MAX)] {
        let mut made = Fixture::new();
        let view = made.view("v", start, count);
        made.storage(FLOAT, "0", 6, Some(view));
        assert!(made.read(false).is_err(), "{start} {count}");
    }

    let mut made = Fixture::new();
    for start in [0, 1] {
        let view = made.view("v", start, 2);
        made.storage(FLOAT, "0", 6, Some(view));
    }
    unreadable(made, "two persistent ids give view `v` different forms");

    let mut made = Fixture::new();
    let view = made.view("1", 0, 2);
    made.storage(FLOAT, "0", 6, Some(view));
    made.storage(FLOAT, "1", 6, None);
    unreadable(made, "`1` is both a storage and the view of one");
}

#[test]
fn storage_classes_are_known_by_module_and_name() {
    for (module, name) in [("torch", "FloatStorage"), ("torch.cuda", "FloatStorage")] {
        let mut made = Fixture::new();
        let storage = made.storage((module, name), "0", 6, None);
        let tensor = made.tensor(storage, 0, 6);
        let info = made.opened().tensor_info(tensor).unwrap().unwrap();
        assert_eq!(info.dtype, Dtype::Float32);
    }
    for (module, name) in [
        ("torch", "FakeStorage"),
        ("evil", "FloatStorage"),
        ("torch.cuda", "UntypedStorage"),
    ] {
        let mut made = Fixture::new();
        made.storage((module, name), "0", 6, None);
        unreadable(
            made,
            &format!("`{module}.{name}` is no storage class known here"),
        );
    }
}

#[test]
fn references_of_two_dtypes_are_one_storage_when_they_agree_on_its_bytes() {
    let mut made = Fixture::new();
    let bytes = made.storage(UNTYPED, "0", 8, None);
    let floats = made.storage(FLOAT, "0", 2, None);
    let (a, b) = (made.tensor_of(bytes, "uint16"), made.tensor(floats, 0, 2));
    let object = made.opened();
    let [a, b] = [a, b].map(|id| object.tensor(id).unwrap().unwrap());
    assert!(a.storage().is_same(b.storage()));

    let mut made = Fixture::new();
    made.storage(UNTYPED, "0", 2, None);
    made.storage(FLOAT, "0", 2, None);
    unreadable(
        made,
        "different forms: 2 bytes on `cpu` and 8 bytes on `cpu`",
    );
}

#[test]
fn big_endian_storages_are_turned_round_by_the_dtype_of_their_tensors() {
    let mut made = Fixture::new();
    let storage = made.storage(UNTYPED, "0", 4, None);
    let tensor = made.tensor_of(storage, "uint16");
    let object = made.read(true).unwrap();
    let tensor = object.tensor(tensor).unwrap().unwrap();
    assert_eq!(&*tensor.to_bytes().unwrap(), &[1, 0, 3, 2]);

    let mut made = Fixture::new();
    let storage = made.storage(UNTYPED, "0", 8, None);
    let (a, _) = (
        made.tensor_of(storage, "uint16"),
        made.tensor_of(storage, "uint32"),
    );
    let error = made.read(true).unwrap().tensor(a).unwrap_err().to_string();
    assert!(error.contains("numbers of different sizes"), "{error}");
}

#[test]
fn calls_within_calls_end() {
    let mut made = Fixture::new();
    let mut id = made.vector();
    for _ in 0..MAX_NESTING {
        id = made.parameter(id);
    }
    let deepest = id;
    let deeper = made.parameter(deepest);
    let object = made.opened();
    let info = object.tensor_info(deepest).unwrap().unwrap();
    assert_eq!(info.class, TensorClass::Parameter);
    let error = object.tensor_info(deeper).unwrap_err().to_string();
    assert!(error.contains("more than 8 others"), "{error}");
}

#[test]
fn calls_that_hold_themselves_end() {
    let mut made = Fixture::new();
    let none = made.0.root();
    let parameter = made.parameter(none);
    let callable = made.global("torch._utils", "_rebuild_parameter");
    let rest = (made.bool(true), made.ints(&[]));
    let args = made.tuple(vec![parameter, rest.0, rest.1]);
    *made.0.node_mut(parameter) = Node::Object(Box::new(Object {
        call: Call::Reduce { callable, args },
        items: Vec::new(),
        pairs: Vec::new(),
        state: None,
    }));
    refused(made, parameter, "more than 8 others");

    let mut made = Fixture::new();
    let none = made.0.root();
    let function = made.global("torch._tensor", "_rebuild_from_type_v2");
    let class = made.global("torch", "Tensor");
    let args = made.tuple(Vec::new());
    *made.0.node_mut(args) = Node::Tuple(Box::new([function, class, args, none]));
    let id = made.object(Call::Reduce {
        callable: function,
        args,
    });
    refused(made, id, "more than 8 others");
}

#[test]
fn a_quantised_tensor_is_no_scale_of_itself() {
    let mut made = Fixture::new();
    let storage = made.storage(("torch", "QInt8Storage"), "0", 2, None);
    let quantizer = made.tuple(Vec::new());
    let args = vec![
        storage,
        made.int(0),
        made.ints(&[2]),
        made.ints(&[1]),
        quantizer,
        made.bool(false),
        made.ints(&[]),
    ];
    let id = made.utils("_rebuild_qtensor", args);
    let scheme = made.global("torch", "per_channel_affine");
    let axis = made.int(0);
    *made.0.node_mut(quantizer) = Node::Tuple(Box::new([scheme, id, id, axis]));
    refused(made, id, "the scales must be numbers");
}

#[test]
fn what_a_pickle_does_to_a_tensor_later_is_not_overlooked() {
    let mut made = Fixture::new();
    let tensor = made.vector();
    let (key, value) = (made.int(0), made.int(7));
    if let Node::Object(object) = made.0.node_mut(tensor) {
        object.pairs.push((key, value));
    }
    refused(made, tensor, "changes after it was made");

    let mut made = Fixture::new();
    let tensor = made.vector();
    let state = made.ints(&[0, 0, 0, 0]);
    if let Node::Object(object) = made.0.node_mut(tensor) {
        object.state = Some(state);
    }
    refused(made, tensor, "changes after it was made");

    let mut made = Fixture::new();
    let data = made.vector();
    let (key, value) = (made.text("data"), made.vector());
    let state = made.0.push(Node::Dict(vec![(key, value)]));
    let args = vec![data, made.bool(true), made.ints(&[]), state];
    let parameter = made.utils("_rebuild_parameter_with_state", args);
    refused(made, parameter, "whose `data` the pickle sets");
}

#[test]
fn tensors_without_elements_of_their_own_are_named() {
    let mut made = Fixture::new();
    let args = vec![
        made.global("my.module", "Wrapped"),
        made.global("torch", "bfloat16"),
        made.ints(&[2, 3]),
        made.ints(&[3, 1]),
        made.int(0),
        made.global("torch", "strided"),
        made.text("cpu"),
        made.bool(true),
    ];
    let id = made.utils("_rebuild_wrapper_subclass", args);
    let object = made.opened();
    let info = object.tensor_info(id).unwrap().unwrap();
    assert_eq!(
        (info.dtype, &info.shape[..]),
        (Dtype::BFloat16, &[2, 3][..])
    );
    assert_eq!(
        (info.class, info.requires_grad),
        (TensorClass::Subclass, true)
    );
    assert!(matches!(info.layout, Layout::Wrapper { .. }));
    let error = object.tensor(id).unwrap_err().to_string();
    assert!(error.contains("attributes of its own"), "{error}");

    for (module, name) in [
        ("torch.nn.parameter", "UninitializedParameter"),
        ("torch._utils", "_rebuild_device_tensor_from_numpy"),
        ("torch._utils", "_rebuild_something_new"),
    ] {
        let mut made = Fixture::new();
        let id = made.call(module, name, Vec::new());
        refused(
            made,
            id,
            &format!("tensors that `{module}.{name}` makes are not read"),
        );
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let mut made = Fixture::new();
    let id = made.utils("_rebuild_tensor_v2", Vec::new());
    refused(
        made,
        id,
        "`torch._utils._rebuild_tensor_v2` does not take 0 arguments",
    );

    let mut made = Fixture::new();
    let number = made.int(3);
    let id = made.tensor(number, 0, 1);
    refused(
        made,
        id,
        "must be a persistent id of one, got the integer `3`",
    );

    let mut made = Fixture::new();
    let storage = made.storage(("torch", "QInt8Storage"), "0", 2, None);
    let id = made.tensor(storage, 0, 2);
    refused(made, id, "a qint8 tensor without scale and zero point");

    let mut made = Fixture::new();
    let number = made.int(3);
    let id = made.parameter(number);
    refused(
        made,
        id,
        "the data of a parameter must be a tensor, got the integer `3`",
    );

    let mut made = Fixture::new();
    let storage = made.storage(FLOAT, "0", 2, None);
    let (key, value) = (made.text("conj"), made.bool(true));
    let metadata = made.0.push(Node::Dict(vec![(key, value)]));
    let args = vec![
        storage,
        made.int(0),
        made.ints(&[2]),
        made.ints(&[1]),
        made.bool(false),
        made.ints(&[]),
        metadata,
    ];
    let id = made.utils("_rebuild_tensor_v2", args);
    refused(made, id, "the conjugate bit is set on a float32 tensor");
}

/// Very many tensors can share one dict of attributes, which is searched for each.
#[test]
fn attributes_are_bounded() {
    let with_attributes = |count: i64| {
        let mut made = Fixture::new();
        let data = made.vector();
        let value = made.int(0);
        let pairs = (0..count).map(|key| (made.int(key), value)).collect();
        let state = made.0.push(Node::Dict(pairs));
        let args = vec![data, made.bool(true), made.ints(&[]), state];
        let parameter = made.utils("_rebuild_parameter_with_state", args);
        (made, parameter)
    };
    let (made, parameter) = with_attributes(1024);
    assert!(made.opened().tensor(parameter).unwrap().is_some());
    let (made, parameter) = with_attributes(1025);
    refused(made, parameter, "with 1025 attributes");
}
