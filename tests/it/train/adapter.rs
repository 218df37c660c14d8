//! The matrices of LoRA alone, and merged.

use std::path::PathBuf;

use candle_core::Tensor;
use nnx_checkpoint::{CheckpointReader, NNCheckpoint, StateDict, StateValue, load_state_dict};
use nnx_net::NNModel;
use nnx_tests::fixtures_dir;

use crate::ascii_folder::ascii_folder;

fn path(name: &str) -> PathBuf {
    fixtures_dir().join("lora").join(name)
}

fn model() -> NNModel {
    let checkpoint = NNCheckpoint::from_file(path("model.pt")).unwrap();
    NNModel::from_checkpoint(&checkpoint).unwrap()
}

fn state(name: &str) -> StateDict {
    load_state_dict(path(name)).unwrap().into_iter().collect()
}

fn expected(name: &str) -> Tensor {
    let reader = CheckpointReader::open(path("expected.safetensors")).unwrap();
    Tensor::try_from(&reader.tensor(name).unwrap()).unwrap()
}

fn distance(one: &Tensor, other: &Tensor) -> f32 {
    assert_eq!(one.dims(), other.dims());
    let difference = (one - other).unwrap().abs().unwrap();
    difference
        .flatten_all()
        .unwrap()
        .max(0)
        .unwrap()
        .to_scalar()
        .unwrap()
}

#[test]
fn an_adapter_is_written_as_python_writes_it() {
    let folder = ascii_folder();
    let written = folder.path().join("adapter.pt");
    model().save_lora_weights(&written).unwrap();
    assert_eq!(
        std::fs::read(written).unwrap(),
        std::fs::read(path("adapter.pt")).unwrap()
    );
}

#[test]
fn an_adapter_is_loaded_and_nothing_else_is() {
    let mut fresh = model();
    let own = fresh.lora_state_dict().unwrap();
    let names: Vec<String> = own.iter().map(|(name, _)| name.to_owned()).collect();
    let zeros = |name: &str| {
        let var = fresh.net().parameters().get(name).unwrap();
        var.set(&var.zeros_like().unwrap()).unwrap();
    };
    names.iter().for_each(|name| zeros(name));
    zeros("layers.1.weight");
    // A whole model as the source: only its matrices of LoRA are taken.
    let whole = state("model.pt");
    assert_eq!(fresh.load_lora_weights(&whole).unwrap(), 4);
    assert_eq!(fresh.load_lora_weights(&state("adapter.pt")).unwrap(), 4);
    let given = model();
    let weight = |model: &NNModel, name: &str| {
        model
            .net()
            .parameters()
            .get(name)
            .unwrap()
            .as_tensor()
            .clone()
    };
    for name in &names {
        assert_eq!(
            distance(&weight(&fresh, name), &weight(&given, name)),
            0.0,
            "{name}"
        );
    }
    let untouched = weight(&fresh, "layers.1.weight");
    assert_eq!(distance(&untouched, &untouched.zeros_like().unwrap()), 0.0);
}

#[test]
fn a_matrix_of_another_shape_is_refused() {
    let mut model = model();
    let mut state = state("adapter.pt");
    let Some(StateValue::Tensor(other)) = state.get("layers.0.lora_A").cloned() else {
        panic!("no tensor")
    };
    state.insert("layers.2.lora_A", other);
    let error = model.load_lora_weights(&state).unwrap_err();
    assert_eq!(error.name(), "wrong_weights");
}

#[test]
fn merged_weights_are_the_sums_and_compute_the_same() {
    let mut model = model();
    let inputs = expected("inputs");
    let before = model.forward(&inputs).unwrap();
    assert!(distance(&before, &expected("outputs")) < 1e-6);
    assert_eq!(model.merge_lora().unwrap(), 2);
    for name in ["layers.0.weight", "layers.2.weight"] {
        let var = model.net().parameters().get(name).unwrap();
        assert!(distance(var.as_tensor(), &expected(name)) < 1e-6, "{name}");
        assert!(model.is_trainable(name), "{name}");
    }
    assert!(model.transforms().is_empty());
    assert_eq!(model.net().parameters().iter().len(), 6);
    assert!(distance(&model.forward(&inputs).unwrap(), &expected("outputs")) < 1e-6);
    assert_eq!(model.merge_lora().unwrap(), 0);
}

/// LoRA freezes the weight of its layer; merging it gives back what was before.
#[test]
fn what_was_frozen_before_lora_is_frozen_after_its_merge() {
    let lora = model();
    let plain = || {
        let (net, params) = (lora.net_params().clone(), lora.params().clone());
        NNModel::new(net, params, 0).unwrap()
    };
    let frozen = |thaw: &[&str]| {
        let mut model = plain();
        assert_eq!(model.freeze(&["layers.0.*", "layers.1.*"]).unwrap(), 4);
        model.apply_transforms(lora.transforms()).unwrap();
        if !thaw.is_empty() {
            assert_eq!(model.unfreeze(thaw).unwrap(), 1);
        }
        assert_eq!(model.merge_lora().unwrap(), 2);
        let trained = model.trainable().map(|(name, _)| name.to_owned());
        trained.collect::<Vec<_>>()
    };
    assert_eq!(frozen(&[]), ["layers.2.weight", "layers.2.bias"]);
    assert_eq!(
        frozen(&["layers.0.base.weight"]),
        ["layers.0.weight", "layers.2.weight", "layers.2.bias"]
    );
}
