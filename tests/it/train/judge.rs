//! Comparing a training with its fixture.

use std::path::Path;

use nnx_net::Generator;
use nnx_params::{NNIterationDataPoint, State, Value};
use nnx_run::journal::{Lineage, iter_history};
use nnx_run::{CheckpointStore, Data};
use nnx_tests::Json;

use super::fixture::Fixture;
use super::setup::{Seen, weights};

/// How far a training is from its fixture.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Distance {
    /// The largest difference of a batch's loss, relative to it.
    pub(super) loss: f64,
    /// The largest difference of a final weight.
    pub(super) weight: f64,
    pub(super) updates: usize,
    pub(super) masks: usize,
}

/// The tolerance of floats that do not depend on the arithmetic.
const EXACT: f64 = 1e-12;

pub(super) fn judge(fixture: &Fixture, seen: &Seen, root: &Path) -> Distance {
    let name = &fixture.name;
    let side = &fixture.side;
    let mut distance = Distance::default();
    assert_eq!(seen.trained.run.id(), side.get("run_id").text(), "{name}");
    initial_weights(fixture, seen);
    orders(fixture, seen);
    distance.masks = masks(fixture, seen);
    distance.updates = updates(fixture, seen);
    epochs(fixture, seen);
    let records: Vec<NNIterationDataPoint> =
        iter_history(seen.trained.run.id(), root, Lineage::Excluded)
            .unwrap()
            .map(Result::unwrap)
            .collect();
    let rates: Vec<f64> = records.iter().map(|record| record.lr().as_f64()).collect();
    let expected: Vec<f64> = fixture
        .floats("lr")
        .into_iter()
        .map(Option::unwrap)
        .collect();
    assert_eq!(rates, expected, "{name}: rates");
    let losses = fixture.floats("loss");
    assert_eq!(losses.len(), records.len(), "{name}");
    for (at, (record, expected)) in records.iter().zip(losses).enumerate() {
        let found = record.train_edp().loss().map(|loss| loss.as_f64());
        let (Some(found), Some(expected)) = (found, expected) else {
            assert_eq!(found, expected, "{name}: loss of batch {at}");
            continue;
        };
        let difference = (found - expected).abs();
        distance.loss = distance.loss.max(difference / expected.abs().max(1e-3));
        assert!(
            difference <= loss_bound(fixture, expected),
            "{name}: the loss of batch {at} is {found}, not {expected}"
        );
    }
    distance.weight = final_weights(fixture, seen);
    distance
}

pub(super) fn loss_bound(fixture: &Fixture, expected: f64) -> f64 {
    (1e-5 * expected.abs()).max(10.0 * fixture.closeness("loss"))
}

pub(super) fn weight_bound(fixture: &Fixture) -> f64 {
    (10.0 * fixture.closeness("weight")).max(1e-4)
}

fn initial_weights(fixture: &Fixture, seen: &Seen) {
    for (name, found) in &seen.init {
        let expected = fixture.values(&format!("init.{name}"));
        if fixture.name == "ff_low_rank"
            && name.starts_with("layers.1.")
            && name.ends_with("weight")
        {
            // The signs of factors are LAPACK's; each pair may have the other.
            for (found, expected) in found.iter().zip(&expected) {
                let far = (found.abs() - expected.abs()).abs();
                assert!(far < 1e-6, "{name}: {found} and {expected}");
            }
            continue;
        }
        assert_eq!(found, &expected, "{}: initial {name}", fixture.name);
    }
    assert!(!seen.init.is_empty());
}

fn orders(fixture: &Fixture, seen: &Seen) {
    let Some(orders) = fixture.side.find("orders") else {
        assert!(seen.asked.is_empty());
        return;
    };
    let orders = orders.items();
    let expected = orders.iter().flat_map(Json::items);
    let expected = expected.map(|batch| batch.items().iter().map(Json::size).collect());
    let expected: Vec<Vec<usize>> = expected.collect();
    if fixture.side.find("stop_at_update").is_some() {
        // The epoch that was abandoned asked for one batch more than it trained.
        assert!(seen.asked.len() >= expected.len());
    } else {
        assert_eq!(seen.asked.len(), expected.len(), "{}", fixture.name);
    }
    let asked: Vec<usize> = seen.asked.concat();
    let expected: Vec<usize> = expected.concat();
    let common = asked.len().min(expected.len());
    assert_eq!(
        asked[..common],
        expected[..common],
        "{}: orders",
        fixture.name
    );
}

/// Checks that exactly so many numbers were drawn since the generator was seeded.
pub(super) fn assert_draws(at: &str, generator: &Generator, draws: usize) {
    let mut expected = Generator::new(generator.initial_seed());
    for _ in 0..draws {
        expected.next_u32();
    }
    assert!(
        generator.to_state() == expected.to_state(),
        "{at}: not {draws} numbers were drawn since seed {}",
        generator.initial_seed()
    );
}

/// Draws the masks of the fixture between the states of the generator before and after each forward
/// pass.
fn masks(fixture: &Fixture, seen: &Seen) -> usize {
    let about = fixture.side.get("masks");
    let shapes = about.get("shapes").items();
    let kept = about.get("kept").size();
    let mut sizes = shapes
        .iter()
        .map(|shape| shape.items().iter().map(Json::size).product::<usize>());
    let keep = keep_probabilities(fixture);
    let mut number = 0;
    for (before, after) in &seen.model.passes {
        let mut generator = before.clone();
        while generator.to_state() != after.to_state() {
            let size = sizes.next();
            let size = size.unwrap_or_else(|| panic!("{}: more masks than expected", fixture.name));
            let probability = keep[number % keep.len()];
            let mask: Vec<u8> = (0..size)
                .map(|_| u8::from(generator.bernoulli(probability)))
                .collect();
            if number < kept {
                let expected = fixture
                    .tensor(&format!("mask.{number}"))
                    .flatten_all()
                    .unwrap();
                let expected: Vec<u8> = expected.to_vec1().unwrap();
                assert!(mask == expected, "{}: mask {number}", fixture.name);
            }
            number += 1;
        }
    }
    assert_eq!(number, shapes.len(), "{}: masks", fixture.name);
    number
}

/// The probability with which each mask of a forward pass keeps an element.
fn keep_probabilities(fixture: &Fixture) -> Vec<f64> {
    let net = fixture.state("net").unwrap();
    let number = |key: &str| match net.get(key) {
        Some(Value::Float(number)) => *number,
        Some(Value::Int(number)) => *number as f64,
        _ => 0.0,
    };
    if let Some(transforms) = fixture.side.get("state").find("transforms") {
        let options = transforms.items()[0].get("options");
        if let Some(dropout) = options.find("dropout") {
            return vec![1.0 - dropout.float()];
        }
    }
    if net.get("d_model").is_some() {
        let attention = number("attn_dropout");
        let residual = 1.0 - number("resid_dropout");
        return vec![1.0 - attention, residual, residual];
    }
    if fixture.name == "ff_dropout_extremes" {
        return vec![1.0 - 0.5, 1.0 - 0.9];
    }
    vec![1.0 - number("dropout_prob")]
}

/// Draws, rates and momentum at each update, and the first gradients and weights.
fn updates(fixture: &Fixture, seen: &Seen) -> usize {
    let name = &fixture.name;
    let expected = fixture.side.get("updates").items();
    assert_eq!(
        seen.recorder.updates.len(),
        expected.len(),
        "{name}: updates"
    );
    for (at, (found, expected)) in seen.recorder.updates.iter().zip(&expected).enumerate() {
        let here = format!("{name}: update {at}");
        assert_draws(&here, &found.generator, expected.get("draws").size());
        let groups: Vec<State> = expected
            .get("groups")
            .items()
            .into_iter()
            .map(|group| match group.0 {
                Value::Map(state) => state,
                other => panic!("{other:?} is no group"),
            })
            .collect();
        assert_eq!(found.groups.len(), groups.len(), "{here}");
        for (found, expected) in found.groups.iter().zip(&groups) {
            for (key, expected) in expected.iter() {
                let found = found.get(key).unwrap_or_else(|| panic!("{here}: no {key}"));
                assert_eq!(numbers(found), numbers(expected), "{here}: {key}");
            }
        }
        if let Some(optimizer) = expected.find("optimizer") {
            assert_eq!(found.optimizer, optimizer.text(), "{here}");
        }
        let bound = weight_bound(fixture);
        for (parameter, values) in &seen.recorder.weights[at] {
            if let Some(expected) = fixture.find(&format!("update.{at}.weight.{parameter}"))
                // Its updates are of one optimizer each; the tests of optimizers judge them apart.
                && name != "ff_trainer"
            {
                let expected: Vec<f32> = expected.flatten_all().unwrap().to_vec1().unwrap();
                assert!(
                    difference(values, &expected) <= bound,
                    "{here}: {parameter}"
                );
            }
        }
    }
    expected.len()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Int(number) => vec![*number as f64],
        Value::Float(number) => vec![*number],
        Value::List(items) | Value::Tuple(items) => items.iter().flat_map(numbers).collect(),
        other => panic!("{other:?} is no number"),
    }
}

fn difference(found: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    pairs
        .map(|(a, b)| f64::from((a - b).abs()))
        .fold(0.0, farther)
}

/// The larger of two distances. NaN is no small one.
pub(super) fn farther(most: f64, far: f64) -> f64 {
    if far.is_nan() {
        f64::INFINITY
    } else {
        most.max(far)
    }
}

fn epochs(fixture: &Fixture, seen: &Seen) {
    let name = &fixture.name;
    let expected = fixture.side.get("epochs").items();
    assert_eq!(seen.recorder.epochs.len(), expected.len(), "{name}: epochs");
    if let Some(begin) = &seen.recorder.begin {
        let draws = fixture.side.get("draws_at_train_begin").size();
        assert_draws(&format!("{name}: at the beginning"), begin, draws);
    }
    for (found, expected) in seen.recorder.epochs.iter().zip(&expected) {
        let here = format!("{name}: epoch {}", found.epoch);
        assert_eq!(found.epoch, expected.get("epoch").size() as i64, "{here}");
        assert_draws(&here, &found.generator, expected.get("draws").size());
        assert_eq!(found.updates, expected.get("updates").size(), "{here}");
        let stops = expected.get("should_stop").0 == Value::Bool(true);
        assert_eq!(found.should_stop, stops, "{here}");
        let rates: Vec<f64> = expected
            .get("lr_after")
            .items()
            .iter()
            .map(Json::float)
            .collect();
        assert_eq!(found.rates, rates, "{here}: rates");
        if let Some(rates) = expected.find("update_lrs") {
            let rates: Vec<(i64, f64)> = rates
                .items()
                .iter()
                .map(|pair| (pair.items()[0].size() as i64, pair.items()[1].float()))
                .collect();
            assert_eq!(found.update_rates, rates, "{here}: rates of updates");
        }
        if let Some(scheduler) = expected.find("scheduler") {
            let found = found.scheduler.as_ref().unwrap();
            let Value::Map(scheduler) = scheduler.0 else {
                panic!("{here}: a schedule without a state");
            };
            for (key, expected) in scheduler.iter() {
                let found = found.get(key).unwrap_or_else(|| panic!("{here}: no {key}"));
                let found = found.to_value().unwrap_or(Value::None);
                if !matches!(expected, Value::Str(_)) {
                    close(
                        &format!("{here}: {key}"),
                        &found,
                        expected,
                        loss_bound(fixture, 1.0),
                    );
                }
            }
        }
        for (parameter, values) in &found.weights {
            let key = format!("epoch.{}.{parameter}", found.epoch);
            if let Some(expected) = fixture.find(&key) {
                let expected: Vec<f32> = expected.flatten_all().unwrap().to_vec1().unwrap();
                let far = difference(values, &expected);
                assert!(
                    far <= weight_bound(fixture),
                    "{here}: {parameter} is {far} off"
                );
            }
        }
    }
}

/// Compares two values, numbers within a bound.
pub(super) fn close(at: &str, found: &Value, expected: &Value, bound: f64) {
    match (found, expected) {
        (Value::Map(found), Value::Map(expected)) => {
            assert_eq!(
                found.len(),
                expected.len(),
                "{at}: {found:?} and {expected:?}"
            );
            for (key, expected) in expected.iter() {
                let found = found.get(key).unwrap_or_else(|| panic!("{at}: no {key}"));
                close(&format!("{at}.{key}"), found, expected, bound);
            }
        }
        (
            Value::List(found) | Value::Tuple(found),
            Value::List(expected) | Value::Tuple(expected),
        ) => {
            assert_eq!(found.len(), expected.len(), "{at}");
            for (found, expected) in found.iter().zip(expected) {
                close(at, found, expected, bound);
            }
        }
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            let (found, expected) = (numbers(found)[0], numbers(expected)[0]);
            let is_same = found == expected || found.is_nan() && expected.is_nan();
            assert!(
                is_same || (found - expected).abs() <= bound,
                "{at}: {found} is not {expected}"
            );
        }
        (found, expected) => assert_eq!(found, expected, "{at}"),
    }
}

fn final_weights(fixture: &Fixture, seen: &Seen) -> f64 {
    let mut far: f64 = 0.0;
    let found = weights(&seen.model.model);
    let expected = fixture.under("final.");
    assert_eq!(found.len(), expected.len(), "{}", fixture.name);
    for (parameter, values) in found {
        let expected = fixture.values(&format!("final.{parameter}"));
        far = far.max(difference(&values, &expected));
    }
    assert!(
        far <= weight_bound(fixture),
        "{}: weights are {far} off",
        fixture.name
    );
    far
}

/// The last training state, without ids and numbers that the arithmetic moves.
pub(super) fn training_state(fixture: &Fixture, store: &CheckpointStore) {
    let name = &fixture.name;
    let last = nnx_params::Checkpoints::Last.into();
    let found = store.load_training_state(&last).unwrap().unwrap();
    let expected = nnx_run::TrainingState::from_file(fixture.path("training_state.pt")).unwrap();
    let keys: Vec<&str> = found.keys().collect();
    assert_eq!(keys, expected.keys().collect::<Vec<_>>(), "{name}");
    for key in keys {
        let at = format!("{name}: training state, {key}");
        match key {
            "checkpoint_id" => {}
            "components" => {
                let (found, expected) = (found.component_entries(), expected.component_entries());
                let (found, expected) = (found.unwrap().unwrap(), expected.unwrap().unwrap());
                let (found, expected) = (Data::Dict(found), Data::Dict(expected));
                close_data(&at, &found, &expected, loss_bound(fixture, 1.0));
            }
            _ => {
                let bound = match key {
                    "optimizer" | "optimizers" => weight_bound(fixture),
                    "scheduler" | "schedulers" => loss_bound(fixture, 1.0),
                    _ => 0.0,
                };
                close_data(
                    &at,
                    found.get(key).unwrap(),
                    expected.get(key).unwrap(),
                    bound,
                );
            }
        }
    }
}

fn close_data(at: &str, found: &Data, expected: &Data, bound: f64) {
    match (found, expected) {
        (Data::Dict(found), Data::Dict(expected)) => {
            let keys = |pairs: &[(Data, Data)]| {
                pairs
                    .iter()
                    .map(|(key, _)| format!("{key:?}"))
                    .collect::<Vec<_>>()
            };
            assert_eq!(keys(found), keys(expected), "{at}");
            for ((key, found), (_, expected)) in found.iter().zip(expected) {
                close_data(&format!("{at}.{key:?}"), found, expected, bound);
            }
        }
        (Data::List(found), Data::List(expected)) | (Data::Tuple(found), Data::Tuple(expected)) => {
            assert_eq!(found.len(), expected.len(), "{at}");
            for (found, expected) in found.iter().zip(expected) {
                close_data(at, found, expected, bound);
            }
        }
        (Data::Tensor(found), Data::Tensor(expected)) => {
            assert_eq!(found.dtype(), expected.dtype(), "{at}");
            assert_eq!(found.shape(), expected.shape(), "{at}");
            let (found, expected) = (found.to_bytes().unwrap(), expected.to_bytes().unwrap());
            if bound == 0.0 {
                assert!(found == expected, "{at}: the bytes differ");
                return;
            }
            let floats = |bytes: &[u8]| -> Vec<f32> {
                let fours = bytes.as_chunks::<4>().0.iter();
                fours.map(|bytes| f32::from_le_bytes(*bytes)).collect()
            };
            let far = difference(&floats(&found), &floats(&expected));
            assert!(far <= bound, "{at}: {far} off");
        }
        (Data::Float(_) | Data::Int(_), Data::Float(_) | Data::Int(_)) => {
            assert_eq!(
                std::mem::discriminant(found),
                std::mem::discriminant(expected),
                "{at}: {found:?} and {expected:?}"
            );
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            let is_same = found == expected || (found - expected).abs() <= bound;
            assert!(is_same, "{at}: {found} is not {expected}");
        }
        _ => assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{at}"),
    }
}

/// The numbers of a record that the arithmetic does not move.
pub(super) fn is_exact_column(column: &str) -> bool {
    let moved = [
        "loss",
        "nll",
        "brier",
        "mse",
        "mae",
        "perplexity",
        "selection.value",
        ".b",
    ];
    !moved.iter().any(|part| column.contains(part))
}

pub(super) fn bound_of(fixture: &Fixture, column: &str, expected: f64) -> f64 {
    if is_exact_column(column) {
        return EXACT;
    }
    // Perplexity is the exponential of a loss, a squared error grows with its root.
    let growth = if column.contains("perplexity") || column.contains("mse") {
        10.0
    } else {
        1.0
    };
    growth * loss_bound(fixture, expected.abs().max(1.0))
}
