//! The fixtures of training runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use candle_core::{Device, Tensor};
use nnx_checkpoint::{Limits, StateDict, safetensors::SafeTensors};
use nnx_params::{State, Value};
use nnx_tests::{Json, fixtures_dir, float_from_hex};

/// A training run of the real library.
pub(super) struct Fixture {
    pub(super) name: String,
    pub(super) side: Json,
    tensors: BTreeMap<String, nnx_checkpoint::Tensor>,
}

pub(super) fn folder() -> PathBuf {
    fixtures_dir().join("training")
}

/// The names of all runs, in order.
pub(super) fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("fixture.json").is_file())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 65, "{names:?}");
    names
}

impl Fixture {
    pub(super) fn read(name: &str) -> Self {
        let path = folder().join(name);
        let bytes = std::fs::read(path.join("tensors.safetensors")).unwrap();
        let file = SafeTensors::parse(bytes::Bytes::from(bytes), &Limits::default()).unwrap();
        let (_, tensors) = file.into_parts();
        Self {
            name: name.to_owned(),
            side: Json::read(&path.join("fixture.json")),
            tensors: tensors.into_iter().collect(),
        }
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        folder().join(&self.name).join(file)
    }

    /// A part of the run's configuration.
    pub(super) fn state(&self, part: &str) -> Option<State> {
        match self.side.get("state").find(part)?.0 {
            Value::Map(state) => Some(state),
            other => panic!("{other:?} is no mapping"),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Tensor> {
        let tensor = self.tensors.get(name)?;
        Some(
            Tensor::try_from(tensor)
                .unwrap()
                .to_device(&Device::Cpu)
                .unwrap(),
        )
    }

    pub(super) fn tensor(&self, name: &str) -> Tensor {
        self.find(name)
            .unwrap_or_else(|| panic!("{} has no {name}", self.name))
    }

    /// Every tensor under a prefix, without it.
    pub(super) fn under(&self, prefix: &str) -> StateDict {
        let all = self.tensors.iter();
        all.filter_map(|(name, tensor)| {
            Some((name.strip_prefix(prefix)?.to_owned(), tensor.clone()))
        })
        .collect()
    }

    pub(super) fn values(&self, name: &str) -> Vec<f32> {
        self.tensor(name).flatten_all().unwrap().to_vec1().unwrap()
    }

    /// The floats of a list of exact texts.
    pub(super) fn floats(&self, key: &str) -> Vec<Option<f64>> {
        let items = self.side.get(key).items();
        items
            .iter()
            .map(|item| match &item.0 {
                Value::None => None,
                Value::Str(text) => Some(float_from_hex(text)),
                other => panic!("{other:?} is no float"),
            })
            .collect()
    }

    /// The largest difference that the fixture knows of itself.
    pub(super) fn closeness(&self, of: &str) -> f64 {
        ["threads2", "avx512", "plain", "float64"]
            .iter()
            .map(|variant| self.side.get("closeness").get(variant).get(of).float())
            .fold(0.0, f64::max)
    }
}

/// A float32 in the hexadecimal digits of its bytes.
pub(super) fn floats_of_hex(text: &str) -> Vec<f32> {
    let bytes: Vec<u8> = (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let (fours, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    fours
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}
