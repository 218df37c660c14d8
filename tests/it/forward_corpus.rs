//! Every fixture of a built-in net becomes a running model whose outputs are those of the real
//! library.

use std::collections::BTreeMap;

use candle_core::Tensor;
use nnx_checkpoint::{Dtype, NNCheckpoint, StateDictMetadata};
use nnx_net::{ErrorKind, NNModel};
use nnx_params::{Devices, Nets};
use nnx_tests::{Fixture, Json};

use crate::tensors::tensor;

/// The largest absolute difference from the float64 net that is accepted.
fn tolerance(net: Nets) -> f64 {
    match net {
        Nets::Transformer => 1e-5,
        _ => 1e-6,
    }
}

/// The fixtures of built-in nets, each with its net.
fn fixtures() -> impl Iterator<Item = (Fixture, Nets)> {
    Fixture::all().into_iter().filter_map(|fixture| {
        let net = fixture.net()?.parse().expect("a net");
        Some((fixture, net))
    })
}

/// The checkpoints of those fixtures, each with the fixture it comes from.
fn checkpoints() -> impl Iterator<Item = (Fixture, String, NNCheckpoint)> {
    fixtures().flat_map(|(fixture, _)| {
        fixture.files().into_iter().map(move |(form, path)| {
            let at = format!("{} as {form:?}", fixture.label());
            let checkpoint =
                NNCheckpoint::from_file(&path).unwrap_or_else(|error| panic!("{at}: {error}"));
            (fixture.clone(), at, checkpoint)
        })
    })
}

/// Whether this version knows every recorded transform.
fn is_replayed(checkpoint: &NNCheckpoint) -> bool {
    let known = |name| ["lora", "low_rank"].contains(&name);
    checkpoint
        .transforms
        .iter()
        .all(|transform| known(transform.name()))
}

#[test]
fn outputs_are_those_of_the_real_library() {
    let (mut worst, mut judged) = (BTreeMap::<&str, (usize, f64)>::new(), 0);
    for (fixture, net) in fixtures() {
        let Some(forward) = fixture.sidecar.find("forward") else {
            continue;
        };
        judged += 1;
        let inputs: Vec<Tensor> = forward.get("inputs").items().iter().map(tensor).collect();
        let output = forward.get("output");
        let shape: Vec<usize> = output.get("shape").items().iter().map(Json::size).collect();
        let reference = forward.get("output_f64").items();
        for (form, path) in fixture.files() {
            let at = format!("{} as {form:?}", fixture.label());
            let checkpoint = NNCheckpoint::from_file(&path).unwrap();
            let model = NNModel::from_checkpoint(&checkpoint)
                .unwrap_or_else(|error| panic!("{at}: {error}"));
            let found = model
                .forward(&inputs)
                .unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!(found.dims(), shape, "{at}");
            let found: Vec<f32> = found.flatten_all().unwrap().to_vec1().unwrap();
            assert_eq!(found.len(), reference.len(), "{at}");
            let (count, worst) = worst.entry(net.value()).or_default();
            *count += 1;
            for (i, (found, expected)) in found.iter().zip(&reference).enumerate() {
                let difference = (f64::from(*found) - expected.float()).abs();
                assert!(
                    difference <= tolerance(net),
                    "{at}: output {i} is {found}, not {}",
                    expected.float()
                );
                *worst = worst.max(difference);
            }
        }
    }
    let blocks = Fixture::all()
        .iter()
        .filter(|fixture| fixture.sidecar.find("forward").is_some())
        .count();
    assert_eq!(judged, blocks, "of every forward block one was judged");
    assert!(judged >= 30, "only {judged} forward blocks were judged");
    let kinds: Vec<_> = worst.keys().copied().collect();
    let mut all: Vec<_> = Nets::all().iter().map(|net| net.value()).collect();
    all.sort_unstable();
    assert_eq!(kinds, all);
    println!("{judged} forward blocks judged");
    for (net, (count, worst)) in worst {
        println!("{net}: {count} files, the largest difference is {worst:e}");
    }
}

#[test]
fn every_model_gives_its_weights_back() {
    let (mut judged, mut with_modules) = (0, 0);
    for (fixture, at, checkpoint) in checkpoints() {
        if !is_replayed(&checkpoint) || checkpoint.net_state.other_names().count() > 0 {
            continue;
        }
        let model = NNModel::from_checkpoint_on(&checkpoint, Devices::Cpu)
            .unwrap_or_else(|error| panic!("{at}: {error}"));
        let again = model.checkpoint(checkpoint.idp.clone()).unwrap();
        assert_eq!(again.net_params, checkpoint.net_params, "{at}");
        assert_eq!(again.model_params.device(), Devices::Cpu, "{at}");
        assert_eq!(again.net_state.len(), checkpoint.net_state.len(), "{at}");
        // The order is the module's own, which only the pickle forms of a fixture keep.
        let names: Vec<_> = again.net_state.tensors().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            fixture.sidecar.get("pickle_key_order").texts(),
            "{at}"
        );
        for (name, tensor) in again.net_state.tensors() {
            let original = checkpoint.net_state.tensor(name).unwrap();
            assert_eq!(tensor.dtype(), Dtype::Float32, "{at}: {name}");
            if original.dtype() == Dtype::Float32 {
                assert_eq!(
                    tensor.to_bytes().unwrap(),
                    original.to_bytes().unwrap(),
                    "{at}: {name}"
                );
            }
        }
        assert_eq!(again.transforms, checkpoint.transforms, "{at}");
        let StateDictMetadata::Versions(modules) = again.net_state.modules() else {
            panic!("{at}: {:?}", again.net_state.modules())
        };
        let expected = fixture.modules();
        if !expected.is_empty() {
            assert_eq!(*modules, expected, "{at}");
            with_modules += 1;
        }
        judged += 1;
    }
    assert!(
        judged >= 70 && with_modules >= 60,
        "only {judged} files were judged, {with_modules} with a module tree"
    );
    println!("{judged} checkpoint files judged, {with_modules} with a module tree");
}

#[test]
fn what_this_version_cannot_run_is_refused_by_name() {
    let (mut transformed, mut extra) = (0, 0);
    for (_, at, checkpoint) in checkpoints() {
        if let Some(transform) = checkpoint.transforms.first()
            && !is_replayed(&checkpoint)
        {
            let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Unsupported { .. }),
                "{at}: {error}"
            );
            assert!(
                error.to_string().contains(transform.name()),
                "{at}: {error}"
            );
            transformed += 1;
        } else if checkpoint.net_state.other_names().count() > 0 {
            let error = NNModel::from_checkpoint(&checkpoint).unwrap_err();
            let ErrorKind::WrongWeights(mismatch) = error.kind() else {
                panic!("{at}: {error}")
            };
            let others: Vec<_> = checkpoint.net_state.other_names().collect();
            assert_eq!(mismatch.unexpected, others, "{at}");
            extra += 1;
        }
    }
    assert!(
        transformed >= 7 && extra >= 2,
        "{transformed} and {extra} files were judged"
    );
}
