//! Every training run of the fixtures, trained again from its seed.

use std::path::Path;

use nnx_params::Value;
use nnx_tests::copy_folder;

use super::fixture::{Fixture, names};
use super::judge::Distance;
use super::setup::{Seen, model, train};
use super::{files, judge};

/// Runs that this version cannot train, each with the error that says so: the nets have no forward pass
/// in bfloat16.
const NOT_TRAINED: [(&str, &str); 1] = [(
    "ff_bfloat16",
    "training in precision `bf16` on device `cpu` is not supported, only `fp32` is; a policy with the \
     fallback `fp32` trains in that",
)];

#[test]
fn a_fresh_model_has_drawn_as_many_numbers_as_the_library_s() {
    // Numbers that are drawn and thrown away count too: a training without a seed goes on from
    // there.
    let names = names();
    for name in &names {
        let fixture = Fixture::read(name);
        let draws = fixture.side.get("draws_before_training").size();
        judge::assert_draws(name, &model(&fixture).model.generator(), draws);
    }
    assert_eq!(names.len(), 65);
}

#[test]
fn every_run_is_trained_again() {
    let (mut judged, mut refused) = (0, Vec::new());
    let mut worst = Distance::default();
    for name in names() {
        let fixture = Fixture::read(&name);
        let root = tempfile::tempdir().unwrap();
        copy_source(&fixture, root.path());
        let seen = match train(&fixture, root.path()) {
            Ok(seen) => seen,
            Err(error) => {
                let known = NOT_TRAINED.iter().find(|(known, _)| *known == name);
                let (_, why) = known.unwrap_or_else(|| panic!("{name}: {error}"));
                assert_eq!(error.name(), "unsupported", "{name}: {error}");
                assert_eq!(error.to_string(), *why, "{name}");
                refused.push(name);
                continue;
            }
        };
        let distance = judge::judge(&fixture, &seen, root.path());
        files::judge(&fixture, &seen, root.path());
        callbacks(&fixture, &seen);
        println!(
            "{name:30} losses within {:.1e}, weights within {:.1e}; {} updates, {} masks",
            distance.loss, distance.weight, distance.updates, distance.masks
        );
        worst.loss = worst.loss.max(distance.loss);
        worst.weight = worst.weight.max(distance.weight);
        worst.updates += distance.updates;
        worst.masks += distance.masks;
        judged += 1;
    }
    println!(
        "{judged} runs trained again, {refused:?} refused; losses within {:.1e} relative, weights within \
         {:.1e}; {} updates and {} masks",
        worst.loss, worst.weight, worst.updates, worst.masks
    );
    let not_trained: Vec<String> = NOT_TRAINED
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(refused, not_trained);
    assert_eq!(judged + refused.len(), 65);
}

/// Puts the source of a resumed run where it is looked for.
fn copy_source(fixture: &Fixture, root: &Path) {
    if let Some(source) = fixture.side.find("source") {
        let folder = source.get("folder").text().to_owned();
        copy_folder(&fixture.path(&folder), &root.join(folder));
    }
}

/// The states of callbacks at the end.
fn callbacks(fixture: &Fixture, seen: &Seen) {
    for callback in fixture.side.get("callbacks").items() {
        if let Some(stopping) = callback.find("EarlyStopping") {
            let found = seen.callbacks.stopping.as_ref().unwrap();
            let state = stopping.get("state");
            let best = state.find("best").map(|best| best.float());
            assert_eq!(found.wait(), state.get("wait").size(), "{}", fixture.name);
            assert_eq!(found.best().is_some(), best.is_some(), "{}", fixture.name);
            if let (Some(found), Some(best)) = (found.best(), best) {
                assert!(
                    (found - best).abs() <= judge::loss_bound(fixture, 1.0),
                    "{}",
                    fixture.name
                );
            }
            let selected = stopping.find("selected").map(|json| json.text().to_owned());
            assert_eq!(
                found.selected().map(str::to_owned),
                selected,
                "{}",
                fixture.name
            );
        }
        if let Some(rates) = callback.find("LRMonitor") {
            let found = seen.callbacks.rates.as_ref().unwrap();
            let history: Vec<f64> = rates
                .get("history")
                .items()
                .iter()
                .map(|one| one.float())
                .collect();
            assert_eq!(found.history(), history, "{}", fixture.name);
            let Value::List(updates) = rates.get("update_history").0 else {
                panic!("{}: no history of updates", fixture.name);
            };
            assert_eq!(
                found.update_history().len(),
                updates.len(),
                "{}",
                fixture.name
            );
        }
    }
}
