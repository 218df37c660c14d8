//! By which metric a run chose its best epoch, against what the real library recorded.

use std::fs;

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{
    Checkpoints, MonitorMode, MonitorRecord, MonitorSpec, MonitorStatus, NNIterationDataPoint,
};
use nnx_run::{BestMetric, NNRun, RunSummary};
use nnx_tests::{Json, copy_folder, fixtures_dir};
use tempfile::TempDir;

use super::support::{checkpoint, idp, link, run};

/// The runs of `expected.json`.
const NAMES: [&str; 3] = ["train_accuracy", "val_nll", "none"];

/// A copy of the runs with the link `best`, and Python's values for them.
fn monitored() -> (TempDir, Json) {
    let fixtures = fixtures_dir().join("nnx-0.4.1/monitored");
    let root = tempfile::tempdir().unwrap();
    copy_folder(&fixtures.join("runs"), &root.path().join("runs"));
    let best = root.path().join("runs/best");
    let id = fs::read_to_string(&best).unwrap();
    fs::remove_file(&best).unwrap();
    link(&id, &best);
    (root, Json::read(&fixtures.join("expected.json")))
}

fn check(found: &BestMetric, expected: &Json, at: &str) {
    assert_eq!(found.epoch, expected.get("epoch_idx").float(), "{at}");
    match expected.find("key") {
        Some(key) => {
            assert_eq!(found.name, key.text(), "{at}");
            assert_eq!(found.value, expected.get("value").float(), "{at}");
            let mode = found.mode.map(MonitorMode::value);
            assert_eq!(mode, Some(expected.get("mode").text()), "{at}");
            assert!(found.is_monitored, "{at}");
        }
        None => {
            assert_eq!(found.name, "val_edp.error", "{at}");
            assert_eq!(found.value, expected.get("best_err").float(), "{at}");
            assert_eq!(found.mode, Some(MonitorMode::Min), "{at}");
            assert!(!found.is_monitored, "{at}");
        }
    }
}

#[test]
fn a_run_with_a_monitor_is_told_by_what_that_saw() {
    let (root, expected) = monitored();
    for name in NAMES {
        let expected = expected.get(name);
        let id = expected.get("run_id");
        let run = NNRun::load(id.text(), root.path()).unwrap();
        let summary = RunSummary::new(&run, id.text(), root.path()).unwrap();
        let checkpoints = expected.get("checkpoints");
        check(&summary.best.unwrap(), &checkpoints.get("best"), name);
        let store = run.store(root.path()).unwrap();
        let last = store.load(&Checkpoints::Last.into()).unwrap().unwrap();
        let last = BestMetric::from_record(&last.idp).unwrap();
        check(&last, &checkpoints.get("last"), name);

        let key = checkpoints.get("best").find("key");
        assert_eq!(
            run.monitor().map(MonitorSpec::key).as_deref(),
            key.as_ref().map(Json::text)
        );
        let epochs = run.epochs();
        let monitor = expected.get("monitor").items();
        assert_eq!(epochs.len(), monitor.len());
        for (epoch, value) in epochs.iter().zip(&monitor) {
            let value = (!value.0.is_none()).then(|| value.float());
            assert_eq!(epoch.monitor, value, "{name}");
        }
        let improved: Vec<bool> = epochs.iter().map(|epoch| epoch.improved).collect();
        let expected = expected.get("improved").items();
        assert_eq!(
            improved,
            expected
                .iter()
                .map(|it| it.0 == true.into())
                .collect::<Vec<_>>()
        );
    }
}

/// However good what it watches is: the pointer stays, and a save moves it away from such a run.
#[test]
fn a_run_with_a_monitor_is_never_elected() {
    let (root, expected) = monitored();
    let root = root.path();
    let unmonitored = expected.get("best_symlink");
    for name in NAMES {
        let id = expected.get(name).get("run_id");
        let run = NNRun::load(id.text(), root).unwrap();
        run.save(root).unwrap();
        let best = NNRun::best_id(root).unwrap();
        assert_eq!(best.as_deref(), Some(unmonitored.text()), "{name}");
    }
    // A pointer that was moved to it by hand is taken from it by its next save.
    let pointer = root.join("runs/best");
    let id = expected.get("val_nll").get("run_id");
    fs::remove_file(&pointer).unwrap();
    link(id.text(), &pointer);
    NNRun::load(id.text(), root).unwrap().save(root).unwrap();
    let best = NNRun::best_id(root).unwrap();
    assert_eq!(best.as_deref(), Some(unmonitored.text()));
}

/// The score of the run that is pointed to is Python's `_best_err`, which asks no monitor.
#[test]
fn a_pointed_run_with_a_monitor_is_beaten_by_its_error_alone() {
    let (root, expected) = monitored();
    let root = root.path();
    let pointed = expected.get("train_accuracy");
    let best_err = pointed.get("checkpoints").get("best").get("best_err");
    let pointer = root.join("runs/best");
    for (salt, error, wins) in [
        ("worse", best_err.float() + 0.001, false),
        ("better", best_err.float() - 0.001, true),
    ] {
        fs::remove_file(&pointer).unwrap();
        link(pointed.get("run_id").text(), &pointer);
        let run = run(salt);
        run.save_history(root).unwrap();
        let mut best: NNCheckpoint = checkpoint(0);
        best.idp = idp(0, error);
        let store = run.store(root).unwrap();
        store.save(&Checkpoints::Best.into(), &best, None).unwrap();
        run.save(root).unwrap();
        let found = NNRun::best_id(root).unwrap().unwrap();
        assert_eq!(found == run.id(), wins, "{salt}");
    }
}

#[test]
fn nothing_stands_in_for_what_a_monitor_did_not_see() {
    let record = |value: Option<f64>, status| -> NNIterationDataPoint {
        let monitor = MonitorSpec::builder("mse").build().unwrap();
        let value = value.map(nnx_params::Number::from);
        let record = MonitorRecord::new(monitor, value, status, false);
        idp(0, 0.5).with_epoch_summary(None, record)
    };
    assert_eq!(
        BestMetric::from_record(&record(None, MonitorStatus::Missing)),
        None
    );
    let infinite = record(Some(f64::INFINITY), MonitorStatus::Nonfinite);
    assert_eq!(BestMetric::from_record(&infinite), None);
    let seen = BestMetric::from_record(&record(Some(2.0), MonitorStatus::Ok)).unwrap();
    assert_eq!((seen.name.as_str(), seen.mode), ("val.mse", None));
}
