//! Problems of a run that only a warning shows: metadata that were passed over, records that are in
//! no table.

use std::fs;
use std::path::{Path, PathBuf};

use nnx_run::{ErrorKind, NNRun, RunSummary, RunWarning};
use tempfile::TempDir;

use super::support::{copy_of, idp, read, run};

/// The run of 0.4.1 under a name of its own, without the mark that lets `last` commit its history.
fn unmarked() -> (TempDir, PathBuf) {
    let root = copy_of("0.4.1");
    let id = read("0.4.1", "expected.json").get("run_id");
    let folder = root.path().join("runs/x");
    fs::rename(root.path().join("runs").join(id.text()), &folder).unwrap();
    fs::remove_file(folder.join(".history-committed-by-last")).unwrap();
    (root, folder)
}

fn write_epochs(folder: &Path, epochs: &[&str]) {
    let mut text = ",lr,iter_idx,epoch_idx,batch_idx,train_edp.loss\n".to_owned();
    for (row, epoch) in epochs.iter().enumerate() {
        text.push_str(&format!("{row},0.1,{row},{epoch},0,0.{}\n", row + 1));
    }
    fs::write(folder.join("idps.csv"), text).unwrap();
}

fn messages(run: &NNRun) -> Vec<String> {
    run.warnings()
        .map(|warning| warning.message.clone())
        .collect()
}

/// The result of `NNRun.load("x")._epoch_series()["epochs"]` in NNx 0.4.1 for each column of
/// epochs; the library takes any number for an epoch. Each is one of ours, or a warning reports it.
#[test]
fn records_of_no_epoch_are_told() {
    let (root, folder) = unmarked();
    let cases: [(&[&str], &[f64]); 7] = [
        (&["0", "1"], &[0.0, 1.0]),
        (&["-1", "0", "1"], &[-1.0, 0.0, 1.0]),
        (&["0", "0.5", "1"], &[0.0, 0.5, 1.0]),
        (&["", "0", "1", ""], &[f64::NAN, 0.0, 1.0, f64::NAN]),
        (&["nan", "0", "1"], &[f64::NAN, 0.0, 1.0]),
        (&["0", "1", "1e300"], &[0.0, 1.0, 1e300]),
        (&["0", "1", "inf"], &[0.0, 1.0, f64::INFINITY]),
    ];
    for (column, python) in cases {
        write_epochs(&folder, column);
        let run = NNRun::load("x", root.path()).unwrap();
        assert_eq!(run.idps().len(), column.len());
        let ours: Vec<f64> = run
            .epochs()
            .iter()
            .map(|epoch| epoch.epoch as f64)
            .collect();
        let strays = python.iter().filter(|epoch| !ours.contains(epoch)).count();
        assert_eq!(ours.len() + strays, python.len(), "{column:?}");
        let warnings: Vec<&RunWarning> = run.warnings().collect();
        if strays == 0 {
            assert!(warnings.is_empty(), "{column:?}: {warnings:?}");
        } else {
            let [warning] = warnings.as_slice() else {
                panic!("{column:?}: {warnings:?}");
            };
            let count = format!("{strays} of the {} records", column.len());
            assert!(warning.message.starts_with(&count), "{warning}");
            assert_eq!(warning.path, Some(folder.join("idps.csv")));
            assert!(warning.is_of_history());
        }
        let verified = NNRun::verify("x", root.path());
        let is_sound = column.iter().all(|epoch| matches!(*epoch, "0" | "1"));
        assert_eq!(verified.is_ok(), is_sound, "{column:?}");
        if let Err(error) = verified {
            assert!(
                matches!(error.kind(), ErrorKind::Malformed { .. }),
                "{error}"
            );
            assert_eq!(error.path(), Some(folder.join("idps.csv").as_path()));
        }
    }
}

#[test]
fn a_warning_names_the_first_rows() {
    let (root, folder) = unmarked();
    let mut column = vec!["0"];
    column.extend(["0.5"; 7]);
    write_epochs(&folder, &column);
    let run = NNRun::load("x", root.path()).unwrap();
    let expected = "7 of the 8 records have no whole number as epoch, so tables and charts by epoch \
                    leave them out: row 1 has 0.5, row 2 has 0.5, row 3 has 0.5, row 4 has 0.5, row \
                    5 has 0.5, and 2 more";
    assert_eq!(messages(&run), [expected]);
    // Another history has its own.
    assert!(messages(&run.clone().with_idps([idp(0, 0.5)])).is_empty());
    let records = run.idps().to_vec();
    let again = messages(&super::support::run("a").with_idps(records));
    assert_eq!(again, [expected]);
}

/// Of a marked run Python leaves out a record whose epoch is not-a-number, since it is not at most
/// the committed one.
#[test]
fn records_that_do_not_count_are_told() {
    let (root, folder) = unmarked();
    fs::write(folder.join(".history-committed-by-last"), "1\n").unwrap();
    write_epochs(&folder, &["0", "nan", "0.5", "7", "8", "9"]);
    let run = NNRun::load("x", root.path()).unwrap();
    assert_eq!(run.idps().len(), 3);
    let kinds: Vec<_> = run.warnings().map(|warning| warning.kind).collect();
    assert_eq!(kinds, ["malformed", "uncommitted"]);
    assert!(messages(&run)[0].ends_with("row 1 has nan, row 2 has 0.5"));
    let expected = "2 of the 6 records are left out: the checkpoint `last` says that the history \
                    counts up to epoch 7";
    assert_eq!(messages(&run)[1], expected);
    fs::remove_file(folder.join("checkpoints/last.pt")).unwrap();
    let run = NNRun::load("x", root.path()).unwrap();
    assert!(
        messages(&run)[1].starts_with("4 of the 6 records are left out: there is no checkpoint")
    );
}

/// NNx 0.4.1 loads each of these runs with no word of its metadata (`_read_metadata`).
#[test]
fn metadata_that_were_passed_over_are_told() {
    let (root, folder) = unmarked();
    let path = folder.join("metadata.yaml");
    let whole = fs::read(&path).unwrap();
    for (bytes, reason) in [
        (&b"a: [\n"[..], "expected YAML"),
        (b"- a\n", "expected a mapping"),
        (b"text", "expected a mapping"),
        (b"", "expected a mapping"),
        (b"a: \xff\n", "expected UTF-8"),
        (b"a: !!python/object:os.system {}\n", ""),
    ] {
        fs::write(&path, bytes).unwrap();
        let run = NNRun::load("x", root.path()).unwrap();
        assert!(run.metadata().is_empty());
        let warnings: Vec<&RunWarning> = run.warnings().collect();
        assert_eq!(warnings.len(), 1, "{bytes:?}");
        assert_eq!(warnings[0].path.as_deref(), Some(path.as_path()));
        assert!(!warnings[0].is_of_history());
        assert!(warnings[0].message.contains(reason), "{}", warnings[0]);
        let error = NNRun::read_metadata("x", root.path()).unwrap_err();
        assert_eq!(error.path(), Some(path.as_path()));
        assert_eq!(warnings[0].kind, error.kind().name());
        let summary = RunSummary::new(&run, "x", root.path()).unwrap();
        assert_eq!(summary.warnings.len(), 1);
        assert_eq!(
            run.with_metadata([("a", 1)].into_iter().collect())
                .warnings()
                .count(),
            0
        );
    }
    fs::write(&path, whole).unwrap();
    let run = NNRun::load("x", root.path()).unwrap();
    assert_eq!(run.warnings().count(), 0);
    let metadata = NNRun::read_metadata("x", root.path()).unwrap();
    assert_eq!(metadata.as_ref(), Some(run.metadata()));
    // A run needs none.
    fs::remove_file(&path).unwrap();
    assert_eq!(NNRun::load("x", root.path()).unwrap().warnings().count(), 0);
    assert_eq!(NNRun::read_metadata("x", root.path()).unwrap(), None);
}

#[test]
fn sound_runs_have_no_warnings() {
    for version in ["0.2.3", "0.4.1"] {
        let root = copy_of(version);
        for (_, run) in NNRun::all(root.path()).unwrap() {
            assert_eq!(messages(&run.unwrap()), Vec::<String>::new());
        }
    }
    assert_eq!(run("a").warnings().count(), 0);
}

/// A checkpoint `last` of no epoch commits nothing: Python leaves every record out.
#[test]
fn a_last_checkpoint_of_no_epoch_is_told() {
    let root = tempfile::tempdir().unwrap();
    let run = run("a").with_idps([idp(0, 0.5)]);
    let lease = run.reserve(root.path(), false).unwrap();
    let mut last = super::support::checkpoint(0);
    let train = idp(0, 0.5).train_edp().clone();
    last.idp = nnx_params::NNIterationDataPoint::new(0.01, 0, f64::NAN, 0, train);
    let store = run.store(root.path()).unwrap();
    let tag = nnx_params::Checkpoints::Last.into();
    store.save(&tag, &last, None).unwrap();
    run.save_history(root.path()).unwrap();
    drop(lease);
    let loaded = NNRun::load(run.id(), root.path()).unwrap();
    assert!(loaded.idps().is_empty());
    let expected = "1 of the 1 records is left out: the checkpoint `last` says that the history \
                    counts up to epoch nan";
    assert_eq!(messages(&loaded), [expected]);
    let error = NNRun::verify(run.id(), root.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with(&format!("found nan (`{}`)", folder_of(&run, &root)))
    );
}

fn folder_of(run: &NNRun, root: &TempDir) -> String {
    root.path()
        .join("runs")
        .join(run.id())
        .display()
        .to_string()
}

/// The history is written before the checkpoint `last`, so that a training that was stopped in its
/// first epoch has the one without the other.
#[test]
fn a_first_epoch_that_was_not_finished_is_sound() {
    for (epochs, others, is_sound) in [
        (&[0, 0, 0][..], false, true),
        (&[7][..], false, true),
        // Each of these was written after a checkpoint `last`, which is lost.
        (&[0, 1][..], false, false),
        (&[0][..], true, false),
    ] {
        let root = tempfile::tempdir().unwrap();
        let run = run("a").with_idps(epochs.iter().map(|epoch| idp(*epoch, 0.5)));
        let lease = run.reserve(root.path(), false).unwrap();
        run.save_history(root.path()).unwrap();
        if others {
            let store = run.store(root.path()).unwrap();
            let best = nnx_params::Checkpoints::Best.into();
            let checkpoint = super::support::checkpoint(0);
            store.save(&best, &checkpoint, None).unwrap();
        }
        drop(lease);
        let verified = NNRun::verify(run.id(), root.path());
        assert_eq!(verified.is_ok(), is_sound, "{epochs:?} {verified:?}");
        let loaded = NNRun::load(run.id(), root.path()).unwrap();
        assert_eq!(messages(&loaded).len(), 1, "it is told of either way");
    }
}

/// A pipe in the place of a file would be waited for without end.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_waited_for() {
    for name in [
        "run.yaml",
        "metadata.yaml",
        "idps.csv",
        "checkpoints/last.pt.manifest.json",
        "checkpoints/last.pt.opt.pt",
        "checkpoints/last.pt.lock",
    ] {
        let root = copy_of("0.4.1");
        let id = read("0.4.1", "expected.json").get("run_id");
        let path = root.path().join("runs").join(id.text()).join(name);
        // A lock file need not be there.
        let _ = fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            fs::create_dir(&path).unwrap();
        }
        let store = nnx_run::CheckpointStore::new(id.text(), root.path()).unwrap();
        let last = nnx_params::Checkpoints::Last.into();
        let states = store.training_state_files(&last);
        let is_locked_out = states.is_err();
        let states = states.unwrap_or_default();
        let is_told = match NNRun::load(id.text(), root.path()) {
            Err(_) => true,
            Ok(run) => {
                run.warnings().count() > 0
                    || is_locked_out
                    || store.resume_point(&last).is_err()
                    || states.iter().any(|state| state.error.is_some())
            }
        };
        // Without `run.yaml` there is no run.
        assert!(is_told || name == "run.yaml", "{name}");
    }
}
