//! A file beside its side-car, walked together.

use std::collections::HashMap;

use nnx_checkpoint::pickle::{Graph, Node, NodeId};
use nnx_checkpoint::torch::{Layout, TorchObject};
use nnx_checkpoint::{ErrorKind, Quantizer, Storage, Tensor, TensorClass};
use nnx_tests::{Json, sha256};

/// A file beside its side-car.
pub(super) struct Judge<'a> {
    object: &'a TorchObject,
    /// The side-car's numbers of storages with ours.
    shared: HashMap<usize, usize>,
    /// The storages that tensors viewed, so that an identity stays that of one of them.
    kept: Vec<Storage>,
    file: &'a str,
    /// Tensors that agreed.
    pub(super) tensors: usize,
    /// Bare storages that agreed.
    pub(super) storages: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(object: &'a TorchObject, file: &'a str) -> Self {
        Self {
            object,
            shared: HashMap::new(),
            kept: Vec::new(),
            file,
            tensors: 0,
            storages: 0,
        }
    }

    fn graph(&self) -> &Graph {
        self.object.graph()
    }

    /// Walks the tagged tree and the graph side by side, as far as there are tensors.
    pub(super) fn walk(&mut self, expected: &Json, id: NodeId, place: &str) {
        let tensors = count_tensors(expected);
        if tensors == 0 {
            return;
        }
        let before = self.tensors + self.storages;
        let place = format!("{}: {place}", self.file);
        match expected.get("t").text() {
            "tensor" => self.tensor(expected, id, &place, true),
            "TypedStorage" | "UntypedStorage" => self.storage(expected, id, &place),
            "dict" | "collections.OrderedDict" => self.dict(expected, id, &place),
            "list" | "tuple" => {
                let items = expected.get("v").items();
                let ids = self.graph().sequence(id).expect(&place).to_vec();
                assert_eq!(items.len(), ids.len(), "{place}");
                for (index, (item, id)) in items.iter().zip(ids).enumerate() {
                    self.walk(item, id, &format!("{place}[{index}]"));
                }
            }
            "module" => self.module(expected, id, &place),
            other => panic!("{place}: tensors within a `{other}`"),
        }
        assert_eq!(self.tensors + self.storages, before + tensors, "{place}");
    }

    fn dict(&mut self, expected: &Json, id: NodeId, place: &str) {
        let expected = expected.get("v").items();
        let pairs = self.graph().dict_pairs(id).expect(place).to_vec();
        assert_eq!(expected.len(), pairs.len(), "{place}");
        for (item, (key, value)) in expected.iter().zip(pairs) {
            let [expected_key, expected_value] = &item.items()[..] else {
                panic!("{place}: {item:?}");
            };
            let found = match expected_key.get("t").text() {
                "str" => self.graph().text(key).map(str::to_owned),
                "int" => self.graph().int(key).map(|key| key.to_string()),
                other => panic!("{place}: a key that is a {other}"),
            };
            let key = expected_key.get("v");
            assert_eq!(found.as_deref(), Some(key.text()), "{place}");
            self.walk(expected_value, value, &format!("{place}.{}", key.text()));
        }
    }

    /// A whole module, whose side-car lists what `state_dict()` gives: tensors cut off from their
    /// parameters.
    fn module(&mut self, expected: &Json, id: NodeId, place: &str) {
        for item in expected.get("state_dict").get("v").items() {
            let [name, tensor] = &item.items()[..] else {
                panic!("{place}: {item:?}");
            };
            let name = name.get("v");
            let path: Vec<_> = name.text().split('.').collect();
            let (leaf, modules) = path.split_last().expect(place);
            let attribute = |module, kind, name| {
                let state = self.graph().object(module)?.state?;
                self.graph().get(self.graph().get(state, kind)?, name)
            };
            let module = modules.iter().fold(id, |module, name| {
                attribute(module, "_modules", name).expect(place)
            });
            let found = attribute(module, "_parameters", leaf)
                .or_else(|| attribute(module, "_buffers", leaf))
                .expect(place);
            self.tensor(tensor, found, &format!("{place}.{}", name.text()), false);
        }
    }

    fn tensor(&mut self, expected: &Json, id: NodeId, place: &str, own_class: bool) {
        self.tensors += 1;
        let info = self
            .object
            .tensor_info(id)
            .unwrap_or_else(|error| panic!("{place}: {error}"))
            .unwrap_or_else(|| panic!("{place}: no tensor"));
        assert_eq!(
            format!("torch.{}", info.dtype),
            expected.get("dtype").text(),
            "{place}"
        );
        assert_eq!(info.shape, sizes(&expected.get("shape")), "{place}");
        if own_class {
            let parameter = expected.find("parameter").is_some();
            let grad = expected.get("requires_grad") == truth();
            assert_eq!(info.class == TensorClass::Parameter, parameter, "{place}");
            assert_eq!(info.requires_grad, grad, "{place}");
        }
        let attributes = expected.find("attrs").map(|attrs| {
            let keys = attrs.state().iter().map(|(key, _)| key.to_owned());
            keys.collect::<Vec<_>>()
        });
        let found = info.attributes.map(|state| {
            let dict = match self.graph().node(state) {
                Node::Tuple(parts) => *parts.first().expect(place),
                _ => state,
            };
            let pairs = self.graph().dict_pairs(dict).expect(place).iter();
            pairs
                .map(|&(key, _)| self.graph().text(key).expect(place).to_owned())
                .collect()
        });
        assert_eq!(found, attributes, "{place}");

        let layout = expected.get("layout");
        match &info.layout {
            Layout::Sparse { .. } => {
                assert_eq!(format!("torch.{}", info.layout.name()), layout.text());
                self.unsupported(id, place);
                for &(name, part) in info.layout.parts() {
                    let place = format!("{place}.{name}");
                    self.tensor(&expected.get(name), part, &place, true);
                }
            }
            Layout::Meta { strides, .. } => {
                assert_eq!(expected.get("device").text(), "meta", "{place}");
                assert_eq!(*strides, sizes(&expected.get("stride")), "{place}");
                self.unsupported(id, place);
            }
            Layout::Strided { .. } | Layout::Quantized { .. } => {
                assert_eq!(layout.text(), "torch.strided", "{place}");
                let tensor = self
                    .object
                    .tensor(id)
                    .unwrap_or_else(|error| panic!("{place}: {error}"))
                    .unwrap();
                self.strided(expected, &tensor, place);
            }
            other => panic!("{place}: {other:?}"),
        }
    }

    fn strided(&mut self, expected: &Json, tensor: &Tensor, place: &str) {
        assert_eq!(tensor.strides(), sizes(&expected.get("stride")), "{place}");
        assert_eq!(
            tensor.offset(),
            expected.get("storage_offset").size(),
            "{place}"
        );
        assert_eq!(
            tensor.is_conj(),
            expected.find("conj_bit").is_some(),
            "{place}"
        );
        assert_eq!(
            tensor.is_neg(),
            expected.find("neg_bit").is_some(),
            "{place}"
        );
        if let Some(len) = expected.find("storage_nbytes") {
            assert_eq!(
                tensor.storage().bytes().unwrap().len(),
                len.size(),
                "{place}"
            );
        }
        let bytes = tensor
            .to_bytes()
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(bytes.len(), expected.get("nbytes").size(), "{place}");
        assert_eq!(sha256(&bytes), expected.get("sha256").text(), "{place}");

        let number = expected.get("storage").size();
        let identity = tensor.storage().identity();
        self.kept.push(tensor.storage().clone());
        let known = *self.shared.entry(number).or_insert(identity);
        assert_eq!(known, identity, "{place}: storage {number} is split");
        let numbers = self.shared.values().filter(|&&known| known == identity);
        assert_eq!(numbers.count(), 1, "{place}: storages are joined");

        let quantizer = expected.find("qscheme").map(|scheme| {
            let floats = |key: &str| expected.get(key).items().iter().map(Json::float).collect();
            match scheme.text() {
                "torch.per_tensor_affine" => Quantizer::PerTensor {
                    scale: expected.get("scale").float(),
                    zero_point: expected.get("zero_point").size().try_into().unwrap(),
                },
                "torch.per_channel_affine" => Quantizer::PerChannel {
                    axis: expected.get("axis").size(),
                    scales: floats("scales"),
                    zero_points: sizes(&expected.get("zero_points"))
                        .into_iter()
                        .map(|zero_point| zero_point.try_into().unwrap())
                        .collect(),
                },
                "torch.per_channel_affine_float_qparams" => Quantizer::PerChannelFloat {
                    axis: expected.get("axis").size(),
                    scales: floats("scales"),
                    zero_points: floats("zero_points"),
                },
                other => panic!("{place}: {other}"),
            }
        });
        assert_eq!(tensor.quantizer(), quantizer.as_ref(), "{place}");
    }

    fn storage(&mut self, expected: &Json, id: NodeId, place: &str) {
        self.storages += 1;
        let info = self.object.storage_info(id).expect(place);
        let dtype = info.dtype.map_or("uint8", |dtype| dtype.name());
        let size = info.dtype.map_or(1, |dtype| dtype.size());
        // An untyped storage that was never loaded states neither.
        if let Some(expected) = expected.find("dtype") {
            assert_eq!(format!("torch.{dtype}"), expected.text(), "{place}");
        }
        let bytes = self
            .object
            .storage(id)
            .unwrap()
            .expect(place)
            .bytes()
            .unwrap();
        let count = expected.find("numel");
        let count = count.unwrap_or_else(|| expected.get("nbytes"));
        assert_eq!(bytes.len(), count.size() * size, "{place}");
        assert_eq!(info.range, 0..bytes.len(), "{place}");
        assert_eq!(sha256(bytes), expected.get("sha256").text(), "{place}");
    }

    #[track_caller]
    fn unsupported(&self, id: NodeId, place: &str) {
        let error = self.object.tensor(id).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported { .. }),
            "{place}: {error}"
        );
    }
}

pub(super) fn truth() -> Json {
    Json(nnx_params::Value::Bool(true))
}

fn sizes(json: &Json) -> Vec<usize> {
    json.items().iter().map(Json::size).collect()
}

/// How many tensors and storages a tagged tree holds.
fn count_tensors(tree: &Json) -> usize {
    match &tree.0 {
        nnx_params::Value::Map(state) => {
            let own = match state.get("t") {
                Some(nnx_params::Value::Str(tag)) => tag == "tensor" || tag.ends_with("Storage"),
                _ => false,
            };
            let within = state
                .iter()
                .map(|(_, value)| count_tensors(&Json(value.clone())));
            usize::from(own) + within.sum::<usize>()
        }
        nnx_params::Value::List(items) => items
            .iter()
            .map(|item| count_tensors(&Json(item.clone())))
            .sum(),
        _ => 0,
    }
}
