//! Every FEED_FWD fixture becomes a running model whose logits are those of the real library.

use candle_core::{Device, Tensor};
use nnx_checkpoint::{Dtype, Modules, NNCheckpoint};
use nnx_net::{ErrorKind, NNModel};
use nnx_params::Devices;
use nnx_tests::Fixture;

/// The largest absolute difference from the float64 net that is accepted.
const TOLERANCE: f64 = 1e-6;

/// The checkpoints of FEED_FWD fixtures, each with the fixture it comes from.
fn checkpoints() -> impl Iterator<Item = (Fixture, String, NNCheckpoint)> {
    Fixture::feed_forward().into_iter().flat_map(|fixture| {
        fixture.files().into_iter().map(move |(form, path)| {
            let at = format!("{} as {form:?}", fixture.label());
            let checkpoint =
                NNCheckpoint::from_file(&path).unwrap_or_else(|error| panic!("{at}: {error}"));
            (fixture.clone(), at, checkpoint)
        })
    })
}

#[test]
fn logits_are_those_of_the_real_library() {
    let (mut judged, mut worst) = (0, 0_f64);
    for (fixture, at, checkpoint) in checkpoints() {
        let Some(forward) = fixture.forward() else {
            continue;
        };
        if !checkpoint.transforms.is_empty() {
            continue;
        }
        let model =
            NNModel::from_checkpoint(&checkpoint).unwrap_or_else(|error| panic!("{at}: {error}"));
        let input =
            Tensor::from_vec(forward.input, forward.input_shape, &Device::Cpu).expect("an input");
        let logits = model
            .forward(&input)
            .unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(logits.dims(), forward.output_shape, "{at}");
        let logits: Vec<f32> = logits.flatten_all().unwrap().to_vec1().unwrap();
        assert_eq!(logits.len(), forward.output.len(), "{at}");
        for (i, (found, expected)) in logits.iter().zip(&forward.output).enumerate() {
            let difference = (f64::from(*found) - expected).abs();
            assert!(
                difference <= TOLERANCE,
                "{at}: logit {i} is {found}, not {expected}"
            );
            worst = worst.max(difference);
        }
        judged += 1;
    }
    assert!(judged >= 35, "only {judged} files were judged");
    println!("{judged} forward passes judged, the largest difference is {worst:e}");
}

#[test]
fn every_fixture_without_transforms_gives_its_weights_back() {
    let mut judged = 0;
    for (fixture, at, checkpoint) in checkpoints() {
        if !checkpoint.transforms.is_empty() || checkpoint.net_state.other_names().count() > 0 {
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
        if let (Modules::Versions(found), Modules::Versions(expected)) =
            (again.net_state.modules(), checkpoint.net_state.modules())
        {
            assert_eq!(found, expected, "{at}");
        }
        judged += 1;
    }
    assert!(judged >= 70, "only {judged} files were judged");
    println!("{judged} checkpoint files judged");
}

#[test]
fn what_this_version_cannot_run_is_refused_by_name() {
    let (mut transformed, mut extra) = (0, 0);
    for (_, at, checkpoint) in checkpoints() {
        if let Some(transform) = checkpoint.transforms.first() {
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
            let ErrorKind::StateDict(mismatch) = error.kind() else {
                panic!("{at}: {error}")
            };
            let others: Vec<_> = checkpoint.net_state.other_names().collect();
            assert_eq!(mismatch.unexpected, others, "{at}");
            extra += 1;
        }
    }
    assert!(
        transformed >= 8 && extra >= 2,
        "{transformed} and {extra} files were judged"
    );
}
